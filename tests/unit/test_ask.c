/* SPDX-License-Identifier: Apache-2.0 */
/* The pure parts of --ask: answers, names on a terminal, and the text of the user's file. */
#include "policy/toml_insert.h"
#include "run/ask.h"

#include "test.h"

#include "base/auto.h"

#include <string.h>

TEST(only_an_object_with_an_id_and_a_known_answer_is_an_answer) {
	static const struct {
		const char *line;
		enum ask_reply reply; /* NONE: malformed */
	} rows[] = {
		{"{\"id\":1,\"answer\":\"once\"}", ASK_REPLY_ONCE},
		{" { \"answer\" : \"run\" , \"id\" : 1 } ", ASK_REPLY_RUN},
		{"{\"id\":1,\"answer\":\"always\"}\r", ASK_REPLY_ALWAYS},
		{"{\"id\":1,\"answer\":\"deny\"}", ASK_REPLY_DENY},
		{"", ASK_REPLY_NONE},
		{"{}", ASK_REPLY_NONE},
		{"{\"id\":1}", ASK_REPLY_NONE},
		{"{\"answer\":\"once\"}", ASK_REPLY_NONE},
		{"{\"id\":0,\"answer\":\"once\"}", ASK_REPLY_NONE},
		{"{\"id\":01,\"answer\":\"once\"}", ASK_REPLY_NONE},
		{"{\"id\":-1,\"answer\":\"once\"}", ASK_REPLY_NONE},
		{"{\"id\":\"1\",\"answer\":\"once\"}", ASK_REPLY_NONE},
		{"{\"id\":1,\"answer\":\"Once\"}", ASK_REPLY_NONE},
		{"{\"id\":1,\"answer\":\"once\",}", ASK_REPLY_NONE},
		{"{\"id\":1,\"answer\":\"once\"}x", ASK_REPLY_NONE},
		{"{\"id\":1,\"id\":1,\"answer\":\"once\"}", ASK_REPLY_NONE},
		{"{\"id\":1,\"answer\":\"deny\",\"answer\":\"once\"}", ASK_REPLY_NONE},
		{"{\"id\":1,\"answer\":\"once\"", ASK_REPLY_NONE},
		{"{\"id\":11111111111111111111,\"answer\":\"once\"}", ASK_REPLY_NONE},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct asked_answer got;
		bool valid = ask_line_parse(rows[i].line, strlen(rows[i].line), &got);
		CHECK_INT(valid, rows[i].reply != ASK_REPLY_NONE);
		if (valid) {
			CHECK_INT(got.id, 1);
			CHECK_INT(got.reply, rows[i].reply);
		}
	}
}

TEST(a_name_on_the_terminal_has_no_character_that_controls_it) {
	struct buf out;

	buf_init(&out);
	ask_put_name(&out, "/a\x1b[2J\nb\x7f\xe2\x80\xae\xc2\x9b\xff\\ \xc3\xa9");
	CHECK_STR(out.data, "/a\\u001b[2J\\u000ab\\u007f\\u202e\\u009b\\xff\\x5c \xc3\xa9");
	buf_done(&out);
}

TEST(a_value_is_added_to_the_users_file_and_the_rest_stays) {
	static const struct {
		const char *before, *key, *value;
		bool list;
		const char *after; /* NULL: refused */
	} rows[] = {
		{"", "fs.read", "/a", true, "[fs]\nread = [\"/a\"]\n"},
		{"# x", "fs.read", "/a", true, "# x\n\n[fs]\nread = [\"/a\"]\n"},
		{"[fs]\nwrite = []\n", "fs.read", "/a", true,
		 "[fs]\nread = [\"/a\"]\nwrite = []\n"},
		{"[fs]\nread = [\"/b\"] # c\n", "fs.read", "/a", true,
		 "[fs]\nread = [\"/b\", \"/a\"] # c\n"},
		{"[fs]\nread = [\n \"/b]\", # ]\n]\n", "fs.read", "/a", true,
		 "[fs]\nread = [\n \"/b]\", # ]\n\"/a\"]\n"},
		{"fs.read = []\n", "fs.read", "/a", true, "fs.read = [\"/a\"]\n"},
		{"[fs]\nread = [\"/a\"]\n", "fs.read", "/a", true, "[fs]\nread = [\"/a\"]\n"},
		{"[net]\nallow = ['x']\n[fs]\n", "net.allow", "y:22", true,
		 "[net]\nallow = ['x', \"y:22\"]\n[fs]\n"},
		{"[fs]\n", "mode", "read-only", false, "mode = \"read-only\"\n[fs]\n"},
		{"[fs]\nread = [\"\"\"]\"\"\"]\n", "fs.read", "q\"\\", true,
		 "[fs]\nread = [\"\"\"]\"\"\", \"q\\\"\\\\\"]\n"},
		{"fs = { read = [] }\n", "fs.read", "/a", true, NULL},
		{"mode = \"workspace-write\"\n", "mode", "read-only", false, NULL},
		{"[fs\n", "fs.read", "/a", true, NULL},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct toml_text text = {rows[i].before, strlen(rows[i].before)};
		struct buf out;
		struct err e = {0};
		buf_init(&out);
		int rc = toml_insert(&text, rows[i].key, rows[i].value, rows[i].list, &out, &e);
		CHECK_INT(rc, rows[i].after == NULL ? -1 : 0);
		if (rc == 0) {
			CHECK_STR(out.data, rows[i].after);
		}
		buf_done(&out);
	}
}

TESTS_MAIN
