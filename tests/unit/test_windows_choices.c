/* SPDX-License-Identifier: Apache-2.0 */
/* corral.exe: its options and the file of --policy. */
#include "every_option.h"
#include "windows_world.h"

#include "base/str.h"

static int read_one(void *arg, const char *const *words, size_t n, struct err *e) {
	struct run_choices c;

	return read_options(arg, &c, e, words, n);
}

TEST(no_option_is_accepted_and_ignored) {
	struct arena a;
	struct buf help;

	arena_init(&a);
	buf_init(&help);
	choices_help(&help);
	check_every_option(&help, read_one, &a);
	buf_done(&help);
	arena_done(&a);
}

TEST(options_set_their_values) {
	struct arena a;
	struct run_choices c;
	struct err e;

	arena_init(&a);
	/* Not in the block of REQUIRE: c.argv points into the list of words. */
	int rc = READ(&a, &c, &e, "--timeout=2m", "-m", "64M", "--require", "net,env", "--json",
		      "-w", "C:\\p", "-r", "C:\\r?", "--set", "limits.cpus=1.5", "--", "x.exe",
		      "-t");
	REQUIRE(rc == 0);
	REQUIRE(choices_default(&a, &c, &e) == 0);
	CHECK_INT(c.values[KEY_LIMITS_TIMEOUT].num, 120000);
	CHECK_INT(c.values[KEY_LIMITS_MEMORY].num, 64 << 20);
	CHECK_INT(c.values[KEY_LIMITS_CPUS].num, 1500);
	CHECK_INT(c.values[KEY_REQUIRE].count, 2);
	CHECK_STR(c.values[KEY_WORKSPACE].str, "C:\\p");
	CHECK_STR(c.values[KEY_FS_READ].items[0].str, "C:\\r");
	CHECK(c.values[KEY_FS_READ].items[0].optional);
	CHECK_INT(c.values[KEY_NET_MODE].num, NET_NONE);
	CHECK(c.json);
	CHECK_INT(c.argc, 2);
	CHECK_STR(c.argv[1], "-t");
	arena_done(&a);
}

TEST(wrong_options_name_themselves) {
	static const char *const lines[][3] = {
		{"--nonsense", NULL},
		{"--timeout", NULL},
		{"--json=1", NULL},
		{"--net", "filtered", NULL},
		{"--home", "persistent", NULL},
		{"--mode", "full-access", NULL},
		{"--read", "C:\\a:/b", NULL},
		{"--read", "C:\\*", NULL},
		{"--set", "nonsense=1", NULL},
		{"--set", "fs.cow=true", NULL},
		{"-c", "dir", NULL},
		{"--timeout", "soon", NULL},
	};
	struct arena a;
	struct run_choices c;
	struct err e;

	arena_init(&a);
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		size_t n = lines[i][1] == NULL ? 1 : 2;
		CHECK_INT(read_options(&a, &c, &e, lines[i], n), -1);
		CHECK_INT(e.kind, ERR_USAGE);
	}
	arena_done(&a);
}

static int read_policy(struct arena *a, struct run_choices *c, struct err *e, const char *text) {
	*c = (struct run_choices){0};
	return choices_read_policy(a, "p.toml", text, strlen(text), c, e);
}

TEST(a_policy_file_sets_the_same_keys) {
	struct arena a;
	struct run_choices c;
	struct err e = {0};

	arena_init(&a);
	REQUIRE(read_policy(&a, &c, &e,
			    "mode = \"read-only\"\n[fs]\nread = ['C:\\data']\n"
			    "[limits]\ntimeout = \"5s\"\n[env]\nset = { A = \"1\" }\n") == 0);
	CHECK_INT(c.values[KEY_MODE].num, MODE_READ_ONLY);
	CHECK_STR(c.values[KEY_FS_READ].items[0].str, "C:\\data");
	CHECK_INT(c.values[KEY_LIMITS_TIMEOUT].num, 5000);
	CHECK_STR(c.values[KEY_ENV_SET].items[0].str, "A=1");
	arena_done(&a);
}

TEST(a_policy_file_with_anything_else_is_refused) {
	static const char *const texts[] = {
		"nonsense = 1\n",         "[fs]\ndeny = ['a']\n", "[net]\nmode = \"filtered\"\n",
		"[fs]\nread = ['rel']\n", "[fs]\nread = 1\n",     "[fs]\ncow = true\n",
		"[commands]\ngit = {}\n", "mode = 1\n",           "not toml",
		"[fs]\nread = [1]\n",     "[nonsense]\n",         "workspace = ['C:\\\\a']\n",
		"profile = \"strict\"\n",
	};
	struct arena a;
	struct run_choices c;
	struct err e = {0};

	arena_init(&a);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		CHECK_INT(read_policy(&a, &c, &e, texts[i]), -1);
		CHECK_INT(e.kind, ERR_USAGE);
	}
	arena_done(&a);
}

TESTS_MAIN
