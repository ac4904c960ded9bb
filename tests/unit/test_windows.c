/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of corral.exe that make no call of Windows: quoting, the journal, grants, the
 * environment, options, what is enforced, and the result. */
#include "test.h"

#include "base/auto.h"
#include "base/str.h"
#include "data/options.h"
#include "windows/choices.h"
#include "windows/enforcement.h"
#include "windows/environment.h"
#include "windows/grants.h"
#include "windows/quote.h"
#include "windows/report.h"
#include "windows/undo_journal.h"
#include "windows/utf16.h"

#include <stdint.h>

/* ---- quoting ---- */

/* A second implementation of what CommandLineToArgvW documents: 2n backslashes before a quote are n
 * and the quote begins or ends; 2n + 1 are n and a quote; others are themselves.  Splits the
 * arguments after the program; returns their number. */
static size_t split(const char *line, char out[][512], size_t max) {
	size_t n = 0;

	line = *line == '"' ? strchr(line + 1, '"') + 1 : line + strcspn(line, " \t");
	while (n < max) {
		size_t len = 0;
		bool quoted = false;
		line += strspn(line, " \t");
		if (*line == '\0') {
			return n;
		}
		while (*line != '\0' && (quoted || (*line != ' ' && *line != '\t'))) {
			size_t slashes = strspn(line, "\\");
			line += slashes;
			bool before_quote = *line == '"';
			for (size_t i = 0; i < (before_quote ? slashes / 2 : slashes); i++) {
				out[n][len++] = '\\';
			}
			if (before_quote && slashes % 2 == 1) {
				out[n][len++] = '"';
				line++;
			} else if (before_quote) {
				quoted = !quoted;
				line++;
			} else if (slashes == 0) {
				out[n][len++] = *line++;
			}
		}
		out[n++][len] = '\0';
	}
	return n;
}

static void check_round_trip(const char *const *argv, size_t n) {
	static char got[16][512];
	struct buf line;
	struct err e = {0};

	buf_init(&line);
	CHECK_INT(quote_line(argv, n, &line, &e), 0);
	CHECK_INT(split(line.data, got, ARRAY_LEN(got)), n - 1);
	for (size_t i = 1; i < n; i++) {
		CHECK_STR(got[i - 1], argv[i]);
	}
	buf_done(&line);
}

TEST(quoting_is_exact_for_awkward_arguments) {
	static const char *const words[] = {
		"C:\\Program Files\\x.exe",
		"",
		" ",
		"a b",
		"a\\",
		"a b\\",
		"a\\\\ b\\",
		"\"",
		"\\\"",
		"a\\\\\"b",
		"--x=\"y z\\\\\"",
		"\\\\s\\d",
		"tab\there",
		"%PATH%",
		"caf\xC3\xA9",
	};
	check_round_trip(words, ARRAY_LEN(words));
}

TEST(quoting_is_exact_for_random_arguments) {
	static const char letters[] = "ab \\\\\\\"\"\t/&^%";
	uint32_t seed = 1;

	for (int turn = 0; turn < 20000; turn++) {
		char words[3][24];
		const char *argv[4] = {"x.exe", words[0], words[1], words[2]};
		for (size_t w = 0; w < 3; w++) {
			seed = seed * 1664525 + 1013904223;
			size_t len = (seed >> 16) % 12;
			for (size_t i = 0; i < len; i++) {
				seed = seed * 1664525 + 1013904223;
				words[w][i] = letters[(seed >> 16) % (sizeof letters - 1)];
			}
			words[w][len] = '\0';
		}
		check_round_trip(argv, ARRAY_LEN(argv));
	}
}

TEST(plain_arguments_are_not_quoted) {
	const char *const argv[] = {"x.exe", "plain", "/c", "a\\b", "two words"};
	struct buf line;
	struct err e = {0};

	buf_init(&line);
	CHECK_INT(quote_line(argv, ARRAY_LEN(argv), &line, &e), 0);
	CHECK_STR(line.data, "\"x.exe\" plain /c a\\b \"two words\"");
	buf_done(&line);
}

TEST(a_program_with_a_quote_or_too_many_arguments_is_refused) {
	static char longest[QUOTE_LINE_MAX + 1];
	const char *const quoted[] = {"x\".exe"}, *const none[] = {""},
			  *const binary[] = {"x", "\xFF"};
	const char *const large[] = {"x.exe", longest};
	struct buf line;
	struct err e = {0};

	memset(longest, 'a', sizeof longest - 1);
	buf_init(&line);
	CHECK_INT(quote_line(quoted, 1, &line, &e), -1);
	CHECK_INT(quote_line(none, 1, &line, &e), -1);
	line.len = 0;
	CHECK_INT(quote_line(binary, 2, &line, &e), -1);
	line.len = 0;
	CHECK_INT(quote_line(large, 2, &line, &e), -1);
	CHECK(strstr(e.what, "32766") != NULL);
	buf_done(&line);
}

TEST(batch_files_and_streams_are_refused_as_programs) {
	static const char *const refused[] = {"x.bat",       "C:\\a\\X.CMD", "x.bat.",
					      "x.cmd . ",    "C:/a.b/x.Bat", "x.exe:y.bat",
					      "x.bat::$DATA"};
	static const char *const accepted[] = {"x.exe",   "x.com",        "bat",
					       "x.batch", "a.bat\\x.exe", "C:\\x.exe"};
	struct err e;

	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		CHECK_INT(quote_check_program(refused[i], &e), -1);
		CHECK_INT(e.kind, ERR_NO_EXEC);
	}
	for (size_t i = 0; i < ARRAY_LEN(accepted); i++) {
		CHECK_INT(quote_check_program(accepted[i], &e), 0);
	}
}

/* ---- UTF-16 ---- */

TEST(text_survives_utf16) {
	static const char *const texts[] = {"", "abc", "caf\xC3\xA9", "\xE2\x82\xAC",
					    "\xF0\x9F\x90\x8E\xEF\xBF\xBD"};
	struct buf back;

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		size_t n = 0;
		auto_free uint16_t *units = utf16_new(texts[i], &n);
		REQUIRE(units != NULL);
		CHECK_INT(utf16_count(units), n);
		buf_init(&back);
		CHECK(utf16_text(units, n, &back));
		CHECK_STR(back.len == 0 ? "" : back.data, texts[i]);
		buf_done(&back);
	}
	CHECK_INT(utf16_length("\xF0\x9F\x90\x8E"), 2);
}

TEST(text_that_is_not_unicode_is_not_converted) {
	static const uint16_t alone[] = {0xD800}, low[] = {0xDC00, 'a'}, twice[] = {0xD800, 0xD800};
	struct buf out;

	CHECK(utf16_new("\xC3", NULL) == NULL);
	CHECK(utf16_new("\xED\xA0\x80", NULL) == NULL); /* a surrogate in UTF-8 */
	buf_init(&out);
	CHECK(!utf16_text(alone, 1, &out));
	CHECK(!utf16_text(low, 2, &out));
	CHECK(!utf16_text(twice, 2, &out));
	buf_done(&out);
}

/* ---- the journal ---- */

static const struct journal_record records[] = {
	{JOURNAL_RUN, {"3r947gp5utja"}},
	{JOURNAL_PROFILE, {"corral.3r947gp5utja"}},
	{JOURNAL_DIRECTORY, {"C:\\Users\\a b\\AppData\\Local\\Corral\\runs\\x"}},
	{JOURNAL_GRANT, {"C:\\100%\t\nodd\x7F", "S-1-15-2-1", "D:AI(A;;FA;;;WD)"}},
};

static void write_all(struct buf *out) {
	buf_init(out);
	for (size_t i = 0; i < ARRAY_LEN(records); i++) {
		undo_journal_write(out, &records[i]);
	}
}

/* The records of a text begin with the first n written ones. */
static void check_records(const struct undo_journal *j, size_t n) {
	CHECK_INT(j->count, n);
	for (size_t i = 0; i < n && i < j->count; i++) {
		CHECK_INT(j->records[i].kind, records[i].kind);
		for (size_t f = 0; f < JOURNAL_FIELDS_MAX && records[i].fields[f] != NULL; f++) {
			CHECK_STR(j->records[i].fields[f], records[i].fields[f]);
		}
	}
}

TEST(a_journal_reads_what_it_wrote) {
	struct arena a;
	struct buf text;
	struct undo_journal j;
	struct err e;

	arena_init(&a);
	write_all(&text);
	CHECK_INT(undo_journal_read(&a, text.data, text.len, &j, &e), 0);
	check_records(&j, ARRAY_LEN(records));
	CHECK(!j.torn);
	CHECK_INT(j.damaged, 0);
	buf_done(&text);
	arena_done(&a);
}

/* X3: at every byte at which a write may have stopped. */
TEST(a_journal_that_ends_anywhere_gives_the_whole_records_before) {
	struct arena a;
	struct buf text;
	struct undo_journal j;
	struct err e;

	arena_init(&a);
	write_all(&text);
	for (size_t len = 0; len < text.len; len++) {
		size_t lines = 0;
		for (size_t i = 0; i < len; i++) {
			lines += text.data[i] == '\n';
		}
		CHECK_INT(undo_journal_read(&a, text.data, len, &j, &e), 0);
		check_records(&j, lines);
		CHECK_INT(j.torn, len > 0 && text.data[len - 1] != '\n');
		CHECK_INT(j.damaged, 0);
	}
	buf_done(&text);
	arena_done(&a);
}

TEST(a_damaged_line_is_counted_and_the_others_are_read) {
	struct arena a;
	struct buf text;
	struct undo_journal j;
	struct err e;

	arena_init(&a);
	write_all(&text);
	for (size_t i = 0; i < text.len; i++) {
		if (text.data[i] == '\n') {
			continue;
		}
		char before = text.data[i];
		text.data[i] = before == 'Q' ? 'R' : 'Q';
		CHECK_INT(undo_journal_read(&a, text.data, text.len, &j, &e), 0);
		CHECK_INT(j.damaged, 1);
		CHECK_INT(j.count, ARRAY_LEN(records) - 1);
		text.data[i] = before;
	}
	buf_done(&text);
	arena_done(&a);
}

TEST(the_entries_of_a_dacl_are_found_behind_its_flags) {
	CHECK_STR(undo_journal_entries("D:PAI(A;;FA;;;WD)(A;;FR;;;BU)"),
		  "(A;;FA;;;WD)(A;;FR;;;BU)");
	CHECK_STR(undo_journal_entries("D:AI"), "");
}

/* ---- grants ---- */

TEST(a_writable_directory_cannot_be_deleted_or_opened_to_others) {
	const struct path_grant g = {.path = "C:\\w", .directory = true, .access = GRANT_WRITE};
	struct grant_entry entries[GRANT_ENTRIES_MAX];

	REQUIRE(grants_entries(&g, entries) == 2);
	CHECK_INT(entries[0].flags, 0);
	CHECK_INT(entries[0].mask & 0x00010000, 0); /* DELETE */
	CHECK(entries[1].mask & 0x00010000);
	CHECK_INT(entries[1].flags, 0xB);
	for (size_t i = 0; i < 2; i++) {
		CHECK_INT(entries[i].mask & 0x000C0000, 0); /* WRITE_DAC, WRITE_OWNER */
		CHECK(entries[i].mask & 0x2);               /* FILE_ADD_FILE */
	}
}

TEST(a_readable_directory_has_no_right_to_write) {
	const struct path_grant dir = {.path = "C:\\r", .directory = true, .access = GRANT_READ};
	const struct path_grant file = {.path = "C:\\f", .access = GRANT_READ};
	struct grant_entry entries[GRANT_ENTRIES_MAX];

	REQUIRE(grants_entries(&dir, entries) == 1);
	/* write data, append, extended attributes, delete a child, attributes, delete, DACL, owner
	 */
	CHECK_INT(entries[0].mask & 0x000D0156, 0);
	CHECK_INT(entries[0].flags, 0x3);
	REQUIRE(grants_entries(&file, entries) == 1);
	CHECK_INT(entries[0].flags, 0);
}

TEST(grants_that_another_includes_are_removed) {
	struct path_grant list[] = {
		{"C:\\w", true, GRANT_WRITE},          {"c:\\W\\sub", true, GRANT_READ},
		{"C:\\w2", true, GRANT_READ},          {"C:\\w2\\out", true, GRANT_WRITE},
		{"C:\\W2", true, GRANT_READ},          {"C:\\f", false, GRANT_READ},
		{"C:\\f\\beneath", false, GRANT_READ},
	};
	size_t n = grants_reduce(list, ARRAY_LEN(list));

	REQUIRE(n == 5);
	CHECK_STR(list[0].path, "C:\\w");
	CHECK_STR(list[1].path, "C:\\w2");
	CHECK_STR(list[2].path, "C:\\w2\\out");
	CHECK_STR(list[3].path, "C:\\f");
	CHECK_STR(list[4].path, "C:\\f\\beneath");
}

TEST(paths_are_compared_by_components) {
	CHECK(grants_within("C:\\ws\\a", "C:\\ws"));
	CHECK(grants_within("C:\\ws", "c:\\WS\\"));
	CHECK(!grants_within("C:\\ws-evil", "C:\\ws"));
	CHECK(grants_within("C:\\a", "C:\\"));
	CHECK(grants_is_absolute("C:\\a"));
	CHECK(grants_is_absolute("\\\\server\\share"));
	CHECK(!grants_is_absolute("C:a"));
	CHECK(!grants_is_absolute("\\a"));
	CHECK(!grants_is_absolute("a\\b"));
	CHECK(!grants_is_absolute("C:\\a\\..\\b"));
	CHECK(grants_is_absolute("C:\\a\\..b"));
}

/* ---- the environment ---- */

static const char *const caller[] = {
	"=C:=C:\\x",
	"Path=C:\\Windows;rel;;C:\\bin",
	"SystemRoot=C:\\Windows",
	"SECRET_TOKEN=x",
	"TEMP=C:\\Users\\me\\Temp",
	"LANG=de",
	"USERPROFILE=C:\\me",
	"PSModulePath=C:\\m",
	"Mine=1",
	NULL,
};

static int make_env(struct arena *a, struct run_choices *c, struct environment *env,
		    struct err *e) {
	const struct environment_inputs in = {
		.caller = caller,
		.pass = &c->values[KEY_ENV_PASS],
		.set = &c->values[KEY_ENV_SET],
		.allow_dangerous = &c->values[KEY_ENV_ALLOW_DANGEROUS],
		.private_dir = "C:\\private",
		.workspace = "C:\\ws",
		.run_id = "id",
		.level = "standard",
	};
	return environment_make(a, &in, env, e);
}

static int read_options(struct arena *a, struct run_choices *c, struct err *e,
			const char *const *words, size_t n) {
	*c = (struct run_choices){0};
	*e = (struct err){0};
	return choices_read(a, words, n, c, e);
}
#define READ(a, c, e, ...)                                                                         \
	read_options(a, c, e, (const char *const[]){__VA_ARGS__},                                  \
		     ARRAY_LEN(((const char *const[]){__VA_ARGS__})))

TEST(the_environment_is_made_from_nothing) {
	struct arena a;
	struct run_choices c;
	struct environment env;
	struct err e;

	arena_init(&a);
	REQUIRE(READ(&a, &c, &e, "--pass-env", "mine", "--env", "A=b") == 0);
	REQUIRE(make_env(&a, &c, &env, &e) == 0);
	CHECK(environment_get(&env, "SECRET_TOKEN") == NULL);
	CHECK(environment_get(&env, "=C:") == NULL);
	CHECK_STR(environment_get(&env, "PATH"), "C:\\Windows;C:\\bin");
	CHECK_STR(environment_get(&env, "systemroot"), "C:\\Windows");
	CHECK_STR(environment_get(&env, "TEMP"), "C:\\private");
	CHECK_STR(environment_get(&env, "USERPROFILE"), "C:\\private");
	CHECK_STR(environment_get(&env, "LANG"), "de");
	CHECK_STR(environment_get(&env, "MINE"), "1");
	CHECK_STR(environment_get(&env, "A"), "b");
	CHECK_STR(environment_get(&env, "CORRAL_WORKSPACE"), "C:\\ws");
	for (size_t i = 1; i < env.count; i++) {
		CHECK(strcasecmp(env.entries[i - 1], env.entries[i]) < 0);
	}
	arena_done(&a);
}

TEST(a_name_has_one_value_in_any_case) {
	struct arena a;
	struct run_choices c;
	struct environment env;
	struct err e;
	size_t n = 0;

	arena_init(&a);
	REQUIRE(READ(&a, &c, &e, "--env", "path=C:\\one", "--env", "PATH=C:\\two") == 0);
	REQUIRE(make_env(&a, &c, &env, &e) == 0);
	for (size_t i = 0; i < env.count; i++) {
		n += strncasecmp(env.entries[i], "path=", 5) == 0;
	}
	CHECK_INT(n, 1);
	CHECK_STR(environment_get(&env, "Path"), "C:\\two");
	arena_done(&a);
}

TEST(dangerous_and_reserved_variables_are_refused) {
	struct arena a;
	struct run_choices c;
	struct environment env;
	struct err e;

	arena_init(&a);
	REQUIRE(READ(&a, &c, &e, "--pass-env", "PSModulePath") == 0);
	CHECK_INT(make_env(&a, &c, &env, &e), -1);
	CHECK(strstr(e.fix, "--allow-dangerous-env") != NULL);
	REQUIRE(READ(&a, &c, &e, "--env", "corral_level=full") == 0);
	CHECK_INT(make_env(&a, &c, &env, &e), -1);
	REQUIRE(READ(&a, &c, &e, "--env", "node_options=--require x") == 0);
	CHECK_INT(make_env(&a, &c, &env, &e), -1);
	REQUIRE(READ(&a, &c, &e, "--env", "NODE_OPTIONS=x", "--allow-dangerous-env",
		     "NODE_OPTIONS") == 0);
	CHECK_INT(make_env(&a, &c, &env, &e), 0);
	REQUIRE(READ(&a, &c, &e, "--pass-env", "MISSING") == 0);
	CHECK_INT(make_env(&a, &c, &env, &e), -1);
	arena_done(&a);
}

TEST(the_block_ends_with_two_nuls) {
	const char *entries[] = {"A=1", "B="};
	const struct environment two = {.entries = entries, .count = 2}, none = {0};
	uint16_t *block;
	size_t units;
	struct err e;

	REQUIRE(environment_block(&two, &block, &units, &e) == 0);
	const uint16_t want[] = {'A', '=', '1', 0, 'B', '=', 0, 0};
	CHECK_INT(units, ARRAY_LEN(want));
	CHECK(memcmp(block, want, sizeof want) == 0);
	free(block);
	REQUIRE(environment_block(&none, &block, &units, &e) == 0);
	CHECK_INT(units, 2);
	free(block);
}

/* ---- options ---- */

/* Every option of `run` is either in --help or an error that names it. */
TEST(no_option_is_accepted_and_ignored) {
	struct arena a;
	struct run_choices c;
	struct err e;
	struct buf help;

	arena_init(&a);
	buf_init(&help);
	choices_help(&help);
	REQUIRE(help.len > 0);
	for (size_t i = 0; i < options_count; i++) {
		const struct option_row *row = &options[i];
		char as[64], listed[80];
		if ((row->verbs & FOR_RUN) == 0 || row->name == NULL) {
			continue;
		}
		(void)snprintf(as, sizeof as, "--%s", row->name);
		(void)snprintf(listed, sizeof listed, "  --%s ", row->name);
		int rc = READ(&a, &c, &e, as, "1", "--", "x");
		if (strstr(help.data, listed) == NULL) {
			CHECK_INT(rc, -1);
			CHECK_INT(e.kind, ERR_USAGE);
			CHECK(str_starts(e.what, as));
		}
	}
	buf_done(&help);
	arena_done(&a);
}

TEST(options_set_their_values) {
	struct arena a;
	struct run_choices c;
	struct err e;

	arena_init(&a);
	REQUIRE(READ(&a, &c, &e, "--timeout=2m", "-m", "64M", "--require", "net,env", "--json",
		     "-w", "C:\\p", "-r", "C:\\r?", "--set", "limits.cpus=1.5", "--", "x.exe",
		     "-t") == 0);
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

/* ---- what is enforced ---- */

static const struct facts windows = {
	.version = "Windows 10.0.19045",
	.appcontainer = true,
	.token = true,
	.integrity = true,
	.job = true,
	.job_memory = true,
	.job_processes = true,
	.job_cpu = true,
	.job_ui = true,
};
static const struct facts wine = {
	.wine = true, .version = "wine", .appcontainer_why = "no", .job = true};

static enum windows_state state_of(const struct windows_enforcement *g, const char *name) {
	for (size_t i = 0; i < g->count; i++) {
		if (streq(g->list[i].name, name)) {
			return g->list[i].state;
		}
	}
	return WINDOWS_ABSENT;
}

/* The exit of enforcement_check() for options. */
static int judge(const struct facts *facts, struct windows_enforcement *g, struct err *e,
		 const char *const *words, size_t n) {
	struct arena a;
	struct run_choices c;
	int rc = -2;

	arena_init(&a);
	if (read_options(&a, &c, e, words, n) == 0 && choices_default(&a, &c, e) == 0) {
		enforcement_make(facts, &c, g);
		rc = enforcement_check(facts, &c, g, e);
	}
	arena_done(&a);
	return rc;
}
#define JUDGE(facts, g, e, ...)                                                                    \
	judge(facts, g, e, (const char *const[]){__VA_ARGS__},                                     \
	      ARRAY_LEN(((const char *const[]){__VA_ARGS__})))

TEST(every_guarantee_has_a_state_and_a_reason) {
	const struct facts *const machines[] = {&windows, &wine};
	struct windows_enforcement g;
	struct err e;

	for (size_t m = 0; m < ARRAY_LEN(machines); m++) {
		(void)JUDGE(machines[m], &g, &e, "--json"); /* the list is filled either way */
		for (size_t i = 0; i < g.count; i++) {
			CHECK_STR(g.list[i].name, keys[KEY_REQUIRE].choices[i]);
			CHECK((g.list[i].state == WINDOWS_ENFORCED) == (g.list[i].why == NULL));
			CHECK((g.list[i].state == WINDOWS_ABSENT) == (g.list[i].by[0] == NULL));
		}
		CHECK(keys[KEY_REQUIRE].choices[g.count] == NULL);
	}
}

TEST(a_machine_with_appcontainers_is_standard) {
	struct windows_enforcement g;
	struct err e;

	CHECK_INT(JUDGE(&windows, &g, &e, "--json"), 0);
	CHECK_STR(g.level, "standard");
	CHECK_STR(g.engine, "appcontainer");
	CHECK_INT(state_of(&g, "net"), WINDOWS_ENFORCED);
	CHECK_INT(state_of(&g, "fs.write"), WINDOWS_WEAKER);
	CHECK_INT(JUDGE(&windows, &g, &e, "--mode", "read-only", "--require", "fs.write,net"), 0);
	CHECK_INT(state_of(&g, "fs.write"), WINDOWS_ENFORCED);
	CHECK_INT(JUDGE(&windows, &g, &e, "--require", "fs.write"), -1);
	CHECK_INT(JUDGE(&windows, &g, &e, "--min-level", "full"), -1);
	CHECK_INT(JUDGE(&windows, &g, &e, "--net", "full"), 0);
	CHECK_INT(state_of(&g, "net"), WINDOWS_ABSENT);
}

TEST(wine_claims_nothing_about_files_and_network) {
	static const char *const absent[] = {"fs.write", "fs.read", "fs.deny", "net", "ipc", "pid"};
	struct windows_enforcement g;
	struct err e;

	CHECK_INT(JUDGE(&wine, &g, &e, "--json"), -1);
	CHECK_INT(e.kind, ERR_SETUP);
	CHECK_INT(JUDGE(&wine, &g, &e, "--level", "none"), -1);
	CHECK_INT(e.kind, ERR_REFUSED);
	CHECK_INT(JUDGE(&wine, &g, &e, "--accept-no-sandbox"), -1);
	CHECK_INT(JUDGE(&wine, &g, &e, "--level", "none", "--accept-no-sandbox"), 0);
	CHECK_STR(g.level, "none");
	for (size_t i = 0; i < ARRAY_LEN(absent); i++) {
		CHECK_INT(state_of(&g, absent[i]), WINDOWS_ABSENT);
	}
	CHECK_INT(JUDGE(&wine, &g, &e, "--level", "none", "--accept-no-sandbox", "--min-level",
			"minimal"),
		  -1);
}

TEST(a_limit_that_is_not_enforced_is_refused_unless_accepted) {
	struct windows_enforcement g;
	struct err e;

	CHECK_INT(JUDGE(&wine, &g, &e, "--level", "none", "--accept-no-sandbox", "--memory", "1G"),
		  -1);
	CHECK(strstr(e.fix, "--allow-degraded limits.memory") != NULL);
	CHECK_INT(JUDGE(&wine, &g, &e, "--level", "none", "--accept-no-sandbox", "--memory", "1G",
			"--allow-degraded", "limits.memory"),
		  0);
	CHECK_INT(state_of(&g, "limits.memory"), WINDOWS_ABSENT);
	CHECK_INT(JUDGE(&windows, &g, &e, "--memory", "1G", "--cpus", "1", "--require",
			"limits.memory,limits.cpu"),
		  0);
}

/* ---- the result ---- */

TEST(the_exit_status_is_that_of_the_command_or_of_corral) {
	const struct windows_report exited = {.reason = REASON_EXITED, .exit_code = 0xC0000005};
	const struct windows_report late = {.reason = REASON_TIMED_OUT};
	const struct err usage = {.kind = ERR_USAGE}, missing = {.kind = ERR_NOT_FOUND},
			 refused = {.kind = ERR_REFUSED}, setup = {.kind = ERR_SETUP};

	CHECK_INT(report_status(&exited), 0xC0000005);
	CHECK_INT(report_status(&late), 124);
	CHECK_INT(report_failure_status(&usage), 2);
	CHECK_INT(report_failure_status(&missing), 127);
	CHECK_INT(report_failure_status(&refused), 126);
	CHECK_INT(report_failure_status(&setup), 125);
}

TEST(a_failure_has_the_same_object_and_an_error) {
	static char empty[] = "";
	const struct windows_report r = {.reason = REASON_SETUP_FAILED,
					 .started_ms = -1,
					 .cpu_ms = -1,
					 .out = empty,
					 .err = empty};
	struct err e = {0};
	struct buf out;

	(void)err_set(&e, ERR_SETUP, "acl", "cannot");
	buf_init(&out);
	REQUIRE(report_json(&r, NULL, NULL, &e, &out) == 0);
	CHECK(strstr(out.data, "\"reason\":\"setup\"") != NULL);
	CHECK(strstr(out.data, "\"guarantees\":[]") != NULL);
	CHECK(strstr(out.data, "\"error\":{\"layer\":\"acl\",\"message\":\"cannot\"") != NULL);
	buf_done(&out);
}

TESTS_MAIN
