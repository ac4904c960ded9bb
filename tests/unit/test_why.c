/* SPDX-License-Identifier: Apache-2.0 */
/* The three forms of an answer of `corral why`, and of the record of a denial. */
#include "lib/why.h"

#include "base/auto.h"
#include "test.h"

static char *printed(const struct why_answer *a, enum corral_format format) {
	struct buf out;

	buf_init(&out);
	why_print(a, format, &out);
	return buf_take(&out);
}

static char *options_of(const struct why_grant *g) {
	struct buf out;

	buf_init(&out);
	CHECK(why_put_options(g, &out));
	return buf_take(&out);
}

static const struct why_denial file = {
	.op = "open",
	.object = "/home/u/.npm/_cacache/tmp/1",
	.access = "write",
	.error = "EROFS",
	.rule = "fs.write",
	.origin = "built-in",
	.reason = "/home/u/.npm/_cacache/tmp/1 is read-only in the sandbox",
	.grant = "--write /home/u/.npm/_cacache",
	.count = 3,
};

TEST(a_denial_as_text_has_every_field_on_a_line_of_its_own) {
	struct why_answer a = why_of_denial(&file);
	auto_free char *text = printed(&a, CORRAL_TEXT);

	CHECK_STR(text, "refused: write /home/u/.npm/_cacache/tmp/1 (3 times)\n"
			"  rule:     fs.write\n"
			"  origin:   built-in\n"
			"  errno:    EROFS\n"
			"  reason:   /home/u/.npm/_cacache/tmp/1 is read-only in the sandbox\n"
			"  grant:    --write /home/u/.npm/_cacache");
}

TEST(a_denial_as_json_has_every_key) {
	struct why_answer a = why_of_denial(&file);
	auto_free char *text = printed(&a, CORRAL_JSON);

	CHECK_STR(text,
		  "{\"version\":1,\"op\":\"write\",\"object\":\"/home/u/.npm/_cacache/tmp/1\","
		  "\"resolved\":null,\"allowed\":false,\"verdict\":\"refused\",\"errno\":\"EROFS\","
		  "\"rule\":\"fs.write\",\"origin\":\"built-in\",\"reason\":"
		  "\"/home/u/.npm/_cacache/tmp/1 is read-only in the sandbox\",\"note\":null,"
		  "\"grant\":\"--write /home/u/.npm/_cacache\",\"settings\":[],"
		  "\"forbidden_by\":null,\"advice\":null,\"level\":null,\"count\":3}");
}

TEST(a_denial_as_paragraph_names_the_option_and_forbids_retries) {
	struct why_answer a = why_of_denial(&file);
	auto_free char *text = printed(&a, CORRAL_PROMPT);

	CHECK(strstr(text,
		     "refuses: write /home/u/.npm/_cacache/tmp/1 (rule fs.write, built-in)."));
	CHECK(strstr(text, "with the option --write /home/u/.npm/_cacache;"));
	CHECK(strstr(text, "Do not retry it"));
	CHECK(strchr(text, '\n') == NULL);
}

TEST(a_barrier_takes_the_grant_away) {
	struct why_denial d = file;
	d.barrier = "credential";
	struct why_answer a = why_of_denial(&d);

	CHECK(a.options == NULL);
	for (int form = CORRAL_TEXT; form <= CORRAL_PROMPT; form++) {
		auto_free char *text = printed(&a, (enum corral_format)form);
		CHECK(strstr(text, "--write") == NULL);
		CHECK(strstr(text, "credential") != NULL);
	}
}

TEST(a_record_without_details_is_still_an_answer) {
	struct why_denial d = {.op = "connect", .object = "evil.test:443"};
	struct why_answer a = why_of_denial(&d);
	auto_free char *text = printed(&a, CORRAL_TEXT);
	auto_free char *words = printed(&a, CORRAL_PROMPT);

	CHECK_STR(text, "refused: connect evil.test:443");
	CHECK(strstr(words, "refuses: connect evil.test:443. No grant is available: ") != NULL);
}

TEST(control_characters_are_hidden_in_text_and_paragraph_and_kept_in_json) {
	struct why_denial d = {
		.op = "read", .object = "a\nallowed: b\x1b[1m", .grant = "--read 'a\nb'"};
	struct why_answer a = why_of_denial(&d);
	auto_free char *text = printed(&a, CORRAL_TEXT);
	auto_free char *words = printed(&a, CORRAL_PROMPT);
	auto_free char *json = printed(&a, CORRAL_JSON);

	CHECK(strstr(text, "refused: read a?allowed: b?[1m\n") == text);
	CHECK(strstr(text, "'a") == NULL);
	CHECK(strchr(words, '\n') == NULL && strchr(words, '\x1b') == NULL);
	CHECK(strstr(json, "a\\nallowed: b\\u001b[1m") != NULL);
	CHECK(strstr(json, "--read 'a\\nb'") != NULL);
}

TEST(a_setting_is_printed_as_the_option_of_run_that_sets_it) {
	static const struct {
		struct why_grant grant;
		const char *options;
	} rows[] = {
		{{{{"fs.write", "/srv/a b"}}, 1}, "--write '/srv/a b'"},
		{{{{"fs.protect", "!/w/.envrc"}}, 1}, "--protect '!/w/.envrc'"},
		{{{{"fs.read", "/it's"}}, 1}, "--read '/it'\\''s'"},
		{{{{"net.mode", "filtered"}, {"net.allow", "a.test:443"}}, 2},
		 "--net filtered --allow-host a.test:443"},
		{{{{"commands.NAME", "ls"}}, 1}, "--allow-command ls"},
		{{{{"commands.git.blocked", "!push"}}, 1}, "--set 'commands.git.blocked=!push'"},
		{{{{"fs.tools", "view"}}, 1}, "--set fs.tools=view"},
		{{{{"fs.cow", "true"}}, 1}, "--cow"},
		{{{{"fs.cow", "false"}}, 1}, "--set fs.cow=false"},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		auto_free char *got = options_of(&rows[i].grant);
		CHECK_STR(got, rows[i].options);
	}
}

TESTS_MAIN
