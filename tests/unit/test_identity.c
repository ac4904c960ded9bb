/* SPDX-License-Identifier: Apache-2.0 */
#include "base/auto.h"
#include "plan/git/identity.h"
#include "test.h"

static const struct {
	const char *text, *name, *email;
} cases[] = {
	{"[user]\n\tname = Ann Example\n\temail = ann@example.org\n", "Ann Example",
	 "ann@example.org"},
	{"[User]\nNAME=Ann\nEmail=a@b\n", "Ann", "a@b"},
	{"[user] name = Ann # the first\n email = a@b ; mail\n", "Ann", "a@b"},
	{"[user]\nname = \"Ann  \\\"A\\\" B \"  \n", "Ann  \"A\" B ", ""},
	{"[user]\nname = Ann \\\n Example\n", "Ann  Example", ""},
	{"[user]\r\nname = Ann\r\nemail = a@b\r\n", "Ann", "a@b"},
	{"[user]\nname = Ann\n[core]\nname = not\n[user]\nname = Ben\n", "Ben", ""},
	{"[user \"work\"]\nname = not\n", "", ""},
	{"[include]\npath = x\n[user]\nsigningkey = k\nname = \xc3\x84nn\n", "\xc3\x84nn", ""},
	/* what is not taken */
	{"name = nobody\n", "", ""},
	{"[user]\nname = \"open\nemail = a@b\n", "", "a@b"},
	{"[user]\nname = a\\tb\nemail = a\\qb\n", "", ""},
	{"[user]\nname = a\x1b[2Jb\n", "", ""},
	{"[user]\nname\nemail = \n", "", ""},
	{"[user\nname = x\n", "", ""},
	{"", "", ""},
};

TEST(name_and_address_are_read_as_git_reads_them) {
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct identity id = {0};
		identity_read(&id, cases[i].text);
		CHECK_STR(id.name, cases[i].name);
		CHECK_STR(id.email, cases[i].email);
	}
}

TEST(a_later_file_overrides_only_what_it_says) {
	struct identity id = {0};

	identity_read(&id, "[user]\nname = Ann\nemail = a@b\n");
	identity_read(&id, "[user]\nemail = c@d\n");
	CHECK_STR(id.name, "Ann");
	CHECK_STR(id.email, "c@d");
}

TEST(one_that_is_too_long_is_not_cut) {
	struct identity id = {0};
	char text[2 * IDENTITY_MAX] = "[user]\nname = ";

	memset(text + strlen(text), 'a', IDENTITY_MAX);
	identity_read(&id, text);
	CHECK_STR(id.name, "");
}

TEST(what_is_written_reads_the_same_and_includes_the_systems) {
	struct identity id = {.name = "A \"B\" \\ C ", .email = "a@b"}, again = {0};
	struct buf out;

	buf_init(&out);
	identity_write(&id, &out);
	identity_read(&again, out.data);
	CHECK_STR(again.name, id.name);
	CHECK_STR(again.email, id.email);
	CHECK(strstr(out.data, "path = /etc/gitconfig\n") != NULL);
	buf_done(&out);
}

TESTS_MAIN
