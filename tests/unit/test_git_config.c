/* SPDX-License-Identifier: Apache-2.0 */
#include "base/auto.h"
#include "base/str.h"
#include "plan/git/config.h"
#include "test.h"

/* section[.sub].key[=value], one a line; "!" where git would stop. */
static char *dump(const char *text) {
	struct git_config c;
	struct buf out;
	enum git_config_event event;

	buf_init(&out);
	buf_puts(&out, "");
	git_config_init(&c, text, strlen(text));
	while ((event = git_config_next(&c)) != GIT_CONFIG_END) {
		if (event == GIT_CONFIG_BAD) {
			buf_puts(&out, "!\n");
		} else if (event == GIT_CONFIG_ENTRY) {
			buf_printf(&out, "%s%s%s.%s%s%s\n",
				   c.section.data == NULL ? "" : c.section.data,
				   c.has_sub ? "." : "", c.has_sub ? c.sub.data : "", c.key.data,
				   c.has_value ? "=" : "", c.has_value ? c.value.data : "");
		}
	}
	git_config_done(&c);
	return buf_take(&out);
}

/* The answers are git's own: git config --list -z. */
static const struct {
	const char *text, *want;
} cases[] = {
	{"[core]\n\tbare = false\n\tFileMode\n", "core.bare=false\ncore.filemode\n"},
	{"[remote \"or.I\\\"g\"]\nurl=x\n", "remote.or.I\"g.url=x\n"},
	{"[Branch.Main]Merge = y\n", "branch.main.merge=y\n"},
	{"[a] k = 1 # one\n[b]; x\nk = \"a;b\" ; two\n", "a.k=1\nb.k=a;b\n"},
	{"[a]\nk = one \\\n  two\n", "a.k=one   two\n"},
	{"[a]\r\nk = \"x \\t\\\\\" \r\n", "a.k=x \t\\\n"},
	{"\xef\xbb\xbf[a]\nk = v", "a.k=v\n"},
	{"[a]\nk = v\\", "a.k=v\n"},
	{"[a]\nk =\n", "a.k=\n"},
	{"k = v\n", ".k=v\n"},
	/* what git refuses; the next line is read again */
	{"[a\nk = v\n", "!\n.k=v\n"},
	{"[a]\nk = \"v\nl = w\n", "!\na.l=w\n"},
	{"[a]\nk = \\q\n1 = x\n_ = x\nk v\n", "!\n!\n!\n!\n"},
	{"[a \"b]\n[a \"b\" ]\n[]\n", "!\n!\n!\n"},
	{"", ""},
};

TEST(entries_are_read_as_git_reads_them) {
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		auto_free char *got = dump(cases[i].text);
		CHECK_STR(got, cases[i].want);
	}
}

TEST(an_entry_and_its_value_can_be_found_again) {
	static const char text[] = "[a] # c\n\tk-2 = \"v \" w  ; c\n";
	struct git_config c;

	git_config_init(&c, text, strlen(text));
	CHECK_INT(git_config_next(&c), GIT_CONFIG_SECTION);
	CHECK(strncmp(text + c.start, "[a]", c.end - c.start) == 0);
	CHECK_INT(git_config_next(&c), GIT_CONFIG_ENTRY);
	CHECK(strncmp(text + c.start, "k-2 = ", 6) == 0 && text[c.end] == '\n');
	CHECK_INT(c.value_end - c.value_at, strlen("\"v \" w"));
	CHECK(strncmp(text + c.value_at, "\"v \" w", c.value_end - c.value_at) == 0);
	CHECK(git_config_is(&c, "a", "k-2") && !git_config_is(&c, "a", "k"));
	CHECK_INT(git_config_next(&c), GIT_CONFIG_END);
	git_config_done(&c);
}

TEST(what_is_quoted_reads_the_same) {
	static const char value[] = " a\t\"b\"\\ # ; \n\bz ";
	struct buf text;
	struct git_config c;

	buf_init(&text);
	buf_puts(&text, "[a]\nk = ");
	git_config_quote(value, strlen(value), &text);
	git_config_init(&c, text.data, text.len);
	CHECK_INT(git_config_next(&c), GIT_CONFIG_SECTION);
	CHECK_INT(git_config_next(&c), GIT_CONFIG_ENTRY);
	CHECK_STR(c.value.data, value);
	git_config_done(&c);
	buf_done(&text);
}

TESTS_MAIN
