/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets from and to secrets.json and .env files. */
#include "test.h"

#include "base/auto.h"
#include "base/str.h"
#include "vault/export.h"
#include "vault/import.h"

#include <sodium.h>

static void put(struct vault *v, const char *name, const char *agent, const char *value) {
	struct err e = {0};
	struct secret s = {.name = name,
			   .agent = agent,
			   .workspace = "",
			   .host = "",
			   .value = (const unsigned char *)value,
			   .len = strlen(value)};
	CHECK(vault_put(v, &s, &e) == 0);
}

struct import_row {
	const char *text, *given; /* "NAME=VALUE|", NULL: refused */
	int line;                 /* of the error */
};

static const struct import_row import_rows[] = {
	{"", "", 0},
	{"# only a comment\n\n", "", 0},
	{"A=1", "A=1|", 0},
	{"A=1\nB=two words # comment\n", "A=1|B=two words|", 0},
	{"export A=1\r\nB=2\r\n", "A=1|B=2|", 0},
	{"A = 'x # y'\nB=\"x\\n\\\"\\\\\\$HOME\"", "A=x # y|B=x\n\"\\$HOME|", 0},
	{"A=$HOME\nB=`id`\nC=#no comment\nD= # comment\n", "A=$HOME|B=`id`|C=#no comment|D=|", 0},
	{"A='over\ntwo lines'\nB=2", "A=over\ntwo lines|B=2|", 0},
	{"\xef\xbb\xbf"
	 "A=1",
	 "A=1|", 0},
	{"exported=1", "exported=1|", 0},
	{"A=1\nB 2\n", NULL, 2},
	{"A=1\n\nB='open\n\n", NULL, 3},
	{"A='x' y\n", NULL, 1},
	{"A=1\nA=2\n", NULL, 2},
	{"LD_PRELOAD=/x.so\n", NULL, 1},
	{"1A=2\n", NULL, 1},
	{"{}", "", 0},
	{" {\"A\": \"1\", \"B\": \"\\u00e9\\n\\ud83d\\ude00\\/\"} \n",
	 "A=1|B=\xc3\xa9\n\xf0\x9f\x98\x80/|", 0},
	{"{\"A\": \"1\",\n \"B\": 2}", NULL, 2},
	{"{\"A\": {\"B\": \"1\"}}", NULL, 1},
	{"{\"A\": \"1\"} x", NULL, 1},
	{"{\"A\": \"1\",}", NULL, 1},
	{"{\"A\": \"1\"", NULL, 1},
	{"{\"A\": \"\\u0000\"}", NULL, 1},
	{"{\"A\": \"\\ud800\"}", NULL, 1},
	{"{\"A\": \"1\",\n\n\"A\": \"2\"}", NULL, 3},
	{"{\"A\": \"\xff\"}", NULL, 1},
};

static void show(const struct import *in, char *out, size_t cap) {
	out[0] = '\0';
	for (size_t i = 0; i < in->n; i++) {
		size_t len = strlen(out);
		(void)snprintf(out + len, cap - len, "%s=%.*s|", in->list[i].name,
			       (int)in->list[i].len, (const char *)in->list[i].value);
	}
}

TEST(files_are_imported_as_written_or_refused_with_their_line) {
	for (size_t i = 0; i < ARRAY_LEN(import_rows); i++) {
		const struct import_row *row = &import_rows[i];
		struct import in = {.file = "f"};
		struct err e = {0};
		char got[256], where[16];
		auto_free char *text = malloc(strlen(row->text) + 1);
		REQUIRE(text != NULL);
		memcpy(text, row->text, strlen(row->text) + 1);
		int rc = import_parse(text, strlen(row->text), &in, &e);
		show(&in, got, sizeof got);
		(void)snprintf(where, sizeof where, "f:%d:", row->line);
		if (row->given == NULL) {
			CHECK(rc != 0);
			CHECK(str_starts(e.what, where));
		} else {
			CHECK_INT(rc, 0);
			CHECK_STR(got, row->given);
		}
		import_done(&in);
	}
}

TEST(an_exported_vault_is_imported_alike) {
	static const char *const values[] = {"",
					     "plain",
					     "it's \"both\" $x `y` \\n",
					     "a\nb",
					     "tab\tcr\r\n",
					     "#x",
					     " lead and trail ",
					     "\xc3\xa9"};
	struct vault v = {.lock = -1};
	struct err e = {0};
	char names[ARRAY_LEN(values)][8];
	if (sodium_init() < 0) {
		abort();
	}
	for (size_t i = 0; i < ARRAY_LEN(values); i++) {
		(void)snprintf(names[i], sizeof names[i], "N%zu", i);
		put(&v, names[i], "", values[i]);
		put(&v, names[i], "bot", "not this");
	}
	for (int json = 0; json < 2; json++) {
		struct import in = {.file = "f"};
		char *text = NULL;
		REQUIRE(export_text(&v, "", json != 0, &text, &e) == 0);
		CHECK_INT(import_parse(text, strlen(text), &in, &e), 0);
		CHECK_INT(in.n, ARRAY_LEN(values));
		for (size_t i = 0; i < in.n; i++) {
			CHECK_INT(in.list[i].len, strlen(values[i]));
			CHECK(memcmp(in.list[i].value, values[i], in.list[i].len) == 0);
		}
		import_done(&in);
		sodium_free(text);
	}
	vault_close(&v);
}

TESTS_MAIN
