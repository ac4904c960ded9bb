/* SPDX-License-Identifier: Apache-2.0 */
/* Which values, documents and variables a policy takes, and what it says of the others. */
#include "policy_world.h"

#include "data/providers.h"

/* ---- values ---- */

TEST(every_provider_expands_to_values_that_say_where_they_come_from) {
	WORLD(w);
	for (size_t i = 0; i < providers_count; i++) {
		const struct provider *row = &providers[i];
		CHECK_OK(&w, try(&w, "providers", row->name));
		size_t hosts = 0, variables = 0, files = 0;
		for (; hosts < PROVIDER_ITEMS && row->hosts[hosts] != NULL; hosts++) {
		}
		for (; variables < PROVIDER_ITEMS && row->variables[variables] != NULL;
		     variables++) {
		}
		for (; files < PROVIDER_ITEMS && row->files[files] != NULL; files++) {
		}
		CHECK_INT(w.p.values[KEY_NET_ALLOW].count, hosts);
		CHECK_INT(w.p.values[KEY_ENV_PASS].count, variables);
		CHECK_INT(w.p.values[KEY_ENV_SECRETS].count, variables);
		CHECK_INT(w.p.values[KEY_FS_READ].count, files);
		CHECK_INT(w.p.values[KEY_COMMANDS].count, row->command != NULL);
		CHECK_INT(policy_num(&w.p, KEY_NET_MODE), hosts > 0 ? NET_FILTERED : NET_NONE);
		for (size_t k = 0; k < variables; k++) {
			const struct item *it = &w.p.values[KEY_ENV_SECRETS].items[k];
			CHECK(it->optional && strstr(it->origin.name, row->name) != NULL);
		}
	}
	CHECK(try(&w, "providers", "nobody") != 0);
}

TEST(sizes_are_binary_in_every_spelling) {
	static const struct {
		const char *text;
		int64_t bytes;
	} rows[] = {
		{"2097152", 2097152},     {"2048K", 2097152},    {"2048KB", 2097152},
		{"2048KiB", 2097152},     {"2m", 2097152},       {"4G", (int64_t)4 << 30},
		{"1T", (int64_t)1 << 40}, {"1048576B", 1048576},
	};
	WORLD(w);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CHECK_OK(&w, try(&w, "limits.memory", rows[i].text));
		CHECK_INT(policy_num(&w.p, KEY_LIMITS_MEMORY), rows[i].bytes);
	}
}

TEST(times_are_seconds_unless_they_say_otherwise) {
	static const struct {
		const char *text;
		int64_t ms;
	} rows[] = {{"30", 30000},   {"500ms", 500}, {"30s", 30000},        {"2m", 120000},
		    {"1h", 3600000}, {"1ms", 1},     {"8760h", 31536000000}};
	WORLD(w);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CHECK_OK(&w, try(&w, "limits.timeout", rows[i].text));
		CHECK_INT(policy_num(&w.p, KEY_LIMITS_TIMEOUT), rows[i].ms);
	}
}

TEST(processors_are_counted_in_thousandths) {
	WORLD(w);
	CHECK_OK(&w, try(&w, "limits.cpus", "1.5"));
	CHECK_INT(policy_num(&w.p, KEY_LIMITS_CPUS), 1500);
	CHECK_OK(&w, try(&w, "limits.cpus", "0.01"));
	CHECK_INT(policy_num(&w.p, KEY_LIMITS_CPUS), 10);
	CHECK_OK(&w, try(&w, "limits.cpus", "2"));
	CHECK_INT(policy_num(&w.p, KEY_LIMITS_CPUS), 2000);
	CHECK_OK(&w, try(&w, "limits.cpus", "none"));
	CHECK_INT(policy_num(&w.p, KEY_LIMITS_CPUS), LIMIT_NONE);
}

TEST(numbers_that_are_not_quite_numbers_are_refused_with_the_range) {
	static const struct {
		const char *key, *text;
	} rows[] = {
		{"limits.timeout", ""},        {"limits.timeout", "-5"},
		{"limits.timeout", "+5"},      {"limits.timeout", " 5"},
		{"limits.timeout", "5 "},      {"limits.timeout", "5x"},
		{"limits.timeout", "0"},       {"limits.timeout", "8761h"},
		{"limits.timeout", "1.5"},     {"limits.timeout", "9223372036854775807h"},
		{"limits.timeout", "ms"},      {"limits.timeout", "99999999999999999999"},
		{"limits.timeout", "0x10"},    {"limits.timeout", "nan"},
		{"limits.timeout", "NONE"},    {"limits.memory", "1023K"},
		{"limits.memory", "9999999T"}, {"limits.memory", "1KK"},
		{"limits.memory", "1.5G"},     {"limits.memory", "18446744073709551616"},
		{"limits.processes", "0"},     {"limits.processes", "4194305"},
		{"limits.processes", "12K"},   {"limits.open_files", "none"},
		{"limits.open_files", "15"},   {"limits.tmp_size", "none"},
		{"limits.grace", "none"},      {"limits.grace", "3601"},
		{"limits.cpu_time", "999ms"},  {"limits.cpus", "0.009"},
		{"limits.cpus", "1."},         {"limits.cpus", ".5"},
		{"limits.cpus", "1.0001"},     {"limits.cpus", "1e3"},
		{"limits.cpus", "nan"},        {"limits.cpus", "inf"},
		{"limits.cpus", "9000"},       {"limits.cpus", "9223372036854775807"},
	};
	WORLD(w);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CHECK_FAILS(&w, try(&w, rows[i].key, rows[i].text), ERR_USAGE, rows[i].key,
			    rows[i].text, "from ", " to ");
	}
}

TEST(the_ends_of_each_range_are_inside) {
	WORLD(w);
	for (size_t i = 0; i < KEY_COUNT; i++) {
		char text[32];
		if (keys[i].max == 0) {
			continue;
		}
		CHECK_OK(&w, try(&w, keys[i].name,
				 number_value(&keys[i], keys[i].max, text, sizeof text)));
		CHECK_INT(policy_num(&w.p, (enum key_id)i), keys[i].max);
		CHECK_OK(&w, try(&w, keys[i].name,
				 number_value(&keys[i], keys[i].min, text, sizeof text)));
		CHECK_INT(policy_num(&w.p, (enum key_id)i), keys[i].min);
	}
}

TEST(switches_and_choices_take_their_words_only) {
	WORLD(w);
	CHECK_FAILS(&w, try(&w, "fs.toolchains", "yes"), ERR_USAGE, "true or false");
	CHECK_FAILS(&w, try(&w, "fs.view", "everything"), ERR_USAGE, "minimal, system, host",
		    "--try");
	CHECK_FAILS(&w, try(&w, "mode", "Read-Only"), ERR_USAGE, "read-only, workspace-write");
	CHECK_FAILS(&w, try(&w, "require", "net,nosuch"), ERR_USAGE, "nosuch", "fs.write");
	CHECK_OK(&w, try(&w, "require", "net,pid"));
	CHECK_INT(w.p.values[KEY_REQUIRE].count, 2);
}

TEST(values_of_later_capabilities_are_refused_by_name_with_a_remedy) {
	static const struct {
		const char *key, *text, *why;
	} rows[] = {
		{"scan.net", "redact", "nearest action is block"},
		{"scan.args", "redact", "nearest action is block"},
		{"scan.args", "kill", "nearest action is block"},
		{"scan.files", "warn", "nearest action is redact"},
		{"scan.files", "kill", "no run to end"},
	};
	WORLD(w);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CHECK_FAILS(&w, try(&w, rows[i].key, rows[i].text), ERR_USAGE, rows[i].key,
			    rows[i].text, rows[i].why);
		CHECK(w.e.fix[0] != '\0');
	}
	CHECK_FAILS(&w, try(&w, "fs.read", "/data/[ab]"), ERR_USAGE, "fs.read", "patterns");
	CHECK_FAILS(&w, try(&w, "fs.write", "/tmp/*"), ERR_USAGE, "fs.write", "patterns");
	CHECK_OK(&w, try(&w, "min_level", "none"));
	CHECK_OK(&w, try(&w, "level", "full"));
	CHECK_OK(&w, try(&w, "net.mode", "full"));
}

TEST(a_backslash_makes_a_pattern_character_part_of_the_name) {
	WORLD(w);
	CHECK_OK(&w, try(&w, "fs.deny", "odd\\*\\[\\?\\\\name?"));
	REQUIRE(w.p.values[KEY_FS_DENY].count == 1);
	char *want = arena_printf(&w.a, "%s/odd*[?\\name", w.ws);
	CHECK_STR(w.p.values[KEY_FS_DENY].items[0].str, want);
	CHECK(w.p.values[KEY_FS_DENY].items[0].optional);
	CHECK_FAILS(&w, try(&w, "fs.deny", "a\\b"), ERR_USAGE, "backslash");
	CHECK_FAILS(&w, try(&w, "fs.deny", "a\\"), ERR_USAGE, "backslash");
	CHECK_OK(&w, try(&w, "fs.deny", "\\!odd\\?"));
	CHECK_STR(w.p.values[KEY_FS_DENY].items[0].str, arena_printf(&w.a, "%s/!odd?", w.ws));
	CHECK(!w.p.values[KEY_FS_DENY].items[0].optional);
}

TEST(a_rule_is_a_path_a_pattern_a_set_or_an_exception) {
	static const struct {
		const char *text, *str;
		enum item_kind kind;
		bool except;
	} rows[] = {
		{"**/.env", "**/.env", ITEM_PATTERN, false},
		{"*.pem", "**/*.pem", ITEM_PATTERN, false},
		{"*.pem/", "**/*.pem", ITEM_PATTERN, false},
		{"!.env.example", "**/.env.example", ITEM_PATTERN, true},
		{"/srv/./*//x", "/srv/*/x", ITEM_PATTERN, false},
		{"@sensitive", "sensitive", ITEM_SET, false},
		{"!@git", "git", ITEM_SET, true},
		{"/plain", "/plain", ITEM_PLAIN, false},
	};
	WORLD(w);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CHECK_OK(&w, try(&w, "fs.deny", rows[i].text));
		const struct value *v = &w.p.values[KEY_FS_DENY];
		REQUIRE(v->count == 1);
		CHECK_STR(v->items[0].str, rows[i].str);
		CHECK_INT(v->items[0].kind, rows[i].kind);
		CHECK_INT(v->items[0].except, rows[i].except);
	}
	CHECK_OK(&w, try(&w, "fs.deny", "a/*.c"));
	CHECK_STR(w.p.values[KEY_FS_DENY].items[0].str, arena_printf(&w.a, "%s/a/*.c", w.ws));
}

TEST(a_pattern_that_could_hold_nothing_is_refused) {
	WORLD(w);
	CHECK_FAILS(&w, try(&w, "fs.deny", "a[b"), ERR_USAGE, "fs.deny", "a[b", "class");
	CHECK_FAILS(&w, try(&w, "fs.deny", "**.pem"), ERR_USAGE, "between slashes");
	CHECK_FAILS(&w, try(&w, "fs.deny", "*.{a,b}"), ERR_USAGE, "braces");
	CHECK_FAILS(&w, try(&w, "fs.deny", "../*.c"), ERR_USAGE, "..");
	CHECK_FAILS(&w, try(&w, "fs.deny", "@nosuch"), ERR_USAGE, "nosuch", "@sensitive");
	CHECK_FAILS(&w, try(&w, "fs.deny", "!"), ERR_USAGE, "empty");
}

TEST(paths_become_absolute_and_normal) {
	WORLD(w);
	char *sub = arena_printf(&w.a, "%s/sub", w.ws);
	make_dir(sub);
	CHECK_OK(&w, try(&w, "fs.read", "./x/..//sub/"));
	CHECK_STR(w.p.values[KEY_FS_READ].items[0].str, sub);
	CHECK_OK(&w, try(&w, "fs.read", "~/"));
	CHECK_STR(w.p.values[KEY_FS_READ].items[0].str, w.home);
	CHECK_OK(&w, try(&w, "fs.read", "~"));
	CHECK_STR(w.p.values[KEY_FS_READ].items[0].str, w.home);
	CHECK_OK(&w, try(&w, "fs.read", "~//etc?"));
	CHECK_STR(w.p.values[KEY_FS_READ].items[0].str, arena_printf(&w.a, "%s/etc", w.home));
}

TEST(paths_that_cannot_be_paths_are_refused) {
	WORLD(w);
	char *lengthy = arena_alloc(&w.a, 5000);
	memset(lengthy, 'a', 4999);
	CHECK_FAILS(&w, try(&w, "fs.read", ""), ERR_USAGE, "empty");
	CHECK_FAILS(&w, try(&w, "fs.read", "?"), ERR_USAGE, "empty");
	CHECK_FAILS(&w, try(&w, "chdir", ""), ERR_USAGE, "empty");
	CHECK_FAILS(&w, try(&w, "fs.read", "~root/x"), ERR_USAGE, "only ~/");
	CHECK_FAILS(&w, try(&w, "fs.read", lengthy), ERR_USAGE, "too long");
	CHECK_FAILS(&w, try(&w, "fs.workspace_at", "work"), ERR_USAGE, "absolute");
	w.in.home = NULL;
	CHECK_FAILS(&w, try(&w, "fs.read", "~/x"), ERR_USAGE, "no home");
}

TEST(settings_are_relative_to_the_cwd_and_files_to_the_workspace) {
	WORLD(w);
	char *sub = arena_printf(&w.a, "%s/sub", w.ws);
	make_dir(sub);
	write_file(w.user, "fs.protect = [\"in-file?\"]\n");
	w.in.cwd = sub;
	set(&w, "workspace", "..", "--workspace");
	set(&w, "fs.deny", "in-option?", "--deny");
	CHECK_OK(&w, resolve(&w));
	CHECK_STR(policy_str(&w.p, KEY_WORKSPACE), w.ws);
	const struct value *v = &w.p.values[KEY_FS_PROTECT];
	CHECK_STR(v->items[v->count - 1].str, arena_printf(&w.a, "%s/in-file", w.ws));
	REQUIRE(w.p.values[KEY_FS_DENY].count == 1);
	CHECK_STR(w.p.values[KEY_FS_DENY].items[0].str, arena_printf(&w.a, "%s/in-option", sub));
}

/* ---- documents ---- */

TEST(an_unknown_key_suggests_the_nearest) {
	WORLD(w);
	CHECK_FAILS(&w, try(&w, "limits.timeuot", "3"), ERR_USAGE, "limits.timeuot",
		    "limits.timeout", "--try");
	CHECK_FAILS(&w, try(&w, "timeout", "3"), ERR_USAGE, "\"limits.timeout\"");
	CHECK_FAILS(&w, try(&w, "zzzzzzzz", "3"), ERR_USAGE, "policy schema");
	CHECK(strstr(w.e.fix, "did you mean") == NULL);
	write_file(w.user, "version = 1\n\n[fs]\nveiw = \"host\"\n");
	CHECK_FAILS(&w, resolve(&w), ERR_USAGE, "fs.veiw", "fs.view", "user.toml:4");
	write_file(w.user, "\"fs.view\" = \"host\"\n");
	CHECK_FAILS(&w, resolve(&w), ERR_USAGE, "unknown key");
	write_file(w.user, "[nosuch]\nx = 1\n");
	CHECK_FAILS(&w, resolve(&w), ERR_USAGE, "unknown key \"nosuch\"");
}

TEST(a_wrong_type_names_both_types) {
	static const struct {
		const char *text, *want, *got;
	} rows[] = {
		{"mode = 1", "a string", "a whole number"},
		{"fs = 3", "a table", "a whole number"},
		{"fs.read = \"/x\"", "a list of strings", "a string"},
		{"fs.read = [1]", "a list of strings", "a whole number"},
		{"fs.toolchains = \"true\"", "true or false", "a string"},
		{"limits.processes = \"12\"", "a whole number", "a string"},
		{"limits.timeout = 1.5", "seconds", "a decimal"},
		{"limits.timeout = true", "seconds", "true or false"},
		{"env.set = [\"A=B\"]", "a table of strings", "a list"},
		{"env.set = {A = 1}", "a table of strings", "a whole number"},
		{"limits.memory = 2020-01-01", "a whole number", "a date"},
	};
	WORLD(w);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		write_file(w.user, rows[i].text);
		CHECK_FAILS(&w, resolve(&w), ERR_USAGE, rows[i].want, rows[i].got, "user.toml:1");
	}
}

TEST(all_types_are_read_from_a_document) {
	WORLD(w);
	write_file(w.user, "version = 1\nmin_level = \"full\"\nrequire = [\"net\", \"pid\"]\n"
			   "[fs]\ntoolchains = false\nread = [\"/usr\"]\n"
			   "[env]\npass = [\"EDITOR\"]\nset = {A = \"1=2\", B = \"\"}\n"
			   "path = \"/usr/bin:/bin\"\n"
			   "[limits]\ntimeout = 30\nmemory = \"64M\"\ncpus = 0.5\n"
			   "processes = 7\nfile_size = \"none\"\n");
	CHECK_OK(&w, resolve(&w));
	CHECK_INT(policy_num(&w.p, KEY_MIN_LEVEL), LEVEL_FULL);
	CHECK_INT(w.p.values[KEY_REQUIRE].count, 2);
	CHECK_INT(policy_num(&w.p, KEY_FS_TOOLCHAINS), 0);
	REQUIRE(w.p.values[KEY_ENV_SET].count == 2);
	CHECK_STR(w.p.values[KEY_ENV_SET].items[0].str, "A=1=2");
	CHECK_STR(w.p.values[KEY_ENV_SET].items[1].str, "B=");
	CHECK_INT(policy_num(&w.p, KEY_LIMITS_TIMEOUT), 30000);
	CHECK_INT(policy_num(&w.p, KEY_LIMITS_MEMORY), 64 << 20);
	CHECK_INT(policy_num(&w.p, KEY_LIMITS_CPUS), 500);
	CHECK_INT(policy_num(&w.p, KEY_LIMITS_PROCESSES), 7);
	CHECK_INT(policy_num(&w.p, KEY_LIMITS_FILE_SIZE), LIMIT_NONE);
	CHECK(str_starts(origin_of(&w, KEY_LIMITS_TIMEOUT), w.user));
	CHECK(strstr(origin_of(&w, KEY_LIMITS_TIMEOUT), ":12") != NULL);
}

TEST(decimals_without_a_number_are_refused) {
	static const char *const rows[] = {"nan",    "inf",     "-inf", "-0.5",
					   "0.0001", "1.00005", "1e300"};
	WORLD(w);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		write_file(w.user, arena_printf(&w.a, "limits.cpus = %s\n", rows[i]));
		CHECK_FAILS(&w, resolve(&w), ERR_USAGE, "limits.cpus");
	}
	write_file(w.user, "limits.timeout = -1\n");
	CHECK_FAILS(&w, resolve(&w), ERR_USAGE, "limits.timeout = \"-1\"", "from 1ms");
	write_file(w.user, "limits.timeout = 9223372036854775807\n");
	CHECK_FAILS(&w, resolve(&w), ERR_USAGE, "limits.timeout", "from 1ms");
}

TEST(only_version_one_is_read) {
	WORLD(w);
	write_file(w.user, "version = 2\n");
	CHECK_FAILS(&w, resolve(&w), ERR_USAGE, "version", "user.toml:1");
	write_file(w.user, "version = \"1\"\n");
	CHECK_FAILS(&w, resolve(&w), ERR_USAGE, "version");
}

/* ---- the environment ---- */

TEST(names_that_are_no_names_are_refused) {
	static const char *const bad[] = {"1A", "A-B", "A B", "A.B", "\xC3\xA4"};
	WORLD(w);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		CHECK_FAILS(&w, try(&w, "env.pass", bad[i]), ERR_USAGE, "env.pass", "--try");
		CHECK_FAILS(&w, try(&w, "env.set", arena_printf(&w.a, "%s=1", bad[i])), ERR_USAGE,
			    "env.set", "--try");
	}
	CHECK_FAILS(&w, try(&w, "env.set", "NAME"), ERR_USAGE, "NAME=VALUE");
	CHECK_FAILS(&w, try(&w, "env.set", "=1"), ERR_USAGE, "NAME=VALUE");
	CHECK_FAILS(&w, try(&w, "env.pass", ""), ERR_USAGE, "empty");
	CHECK_FAILS(&w, try(&w, "env.pass", "A,,B"), ERR_USAGE, "empty");
	CHECK_OK(&w, try(&w, "env.pass", "A,_b2"));
	CHECK_INT(w.p.values[KEY_ENV_PASS].count, 2);
}

TEST(reserved_names_are_refused_even_when_dangerous_ones_are_allowed) {
	WORLD(w);
	CHECK_FAILS(&w, try(&w, "env.set", "CORRAL_X=1"), ERR_USAGE, "CORRAL_X", "reserved");
	CHECK_FAILS(&w, try(&w, "env.pass", "CORRAL_X"), ERR_USAGE, "reserved");
	CHECK_FAILS(&w, try(&w, "env.allow_dangerous", "CORRAL_X"), ERR_USAGE, "reserved");
}

TEST(dangerous_names_need_to_be_allowed_by_name) {
	WORLD(w);
	CHECK_FAILS(&w, try(&w, "env.set", "LD_PRELOAD=/x"), ERR_USAGE,
		    "env.set LD_PRELOAD (--try)", "env.allow_dangerous");
	CHECK_FAILS(&w, try(&w, "env.pass", "PYTHONPATH"), ERR_USAGE, "PYTHONPATH",
		    "env.allow_dangerous");
	set(&w, "env.set", "PYTHONPATH=/x", "--env");
	set(&w, "env.allow_dangerous", "PYTHONPATH", "--allow");
	CHECK_OK(&w, resolve(&w));
	CHECK_OK(&w, try(&w, "env.pass", "AWS_PROFILE"));
}

TEST(computed_variables_name_the_key_that_decides_them) {
	WORLD(w);
	CHECK_FAILS(&w, try(&w, "env.set", "PATH=/bin"), ERR_USAGE, "PATH", "env.path");
	CHECK_FAILS(&w, try(&w, "env.set", "HOME=/x"), ERR_USAGE, "HOME", "fs.home");
	CHECK_FAILS(&w, try(&w, "env.set", "TMPDIR=/x"), ERR_USAGE, "TMPDIR", "limits.tmp_size");
	CHECK_FAILS(&w, try(&w, "env.set", "PWD=/x"), ERR_USAGE, "PWD", "chdir");
	CHECK_FAILS(&w, try(&w, "env.pass", "PATH"), ERR_USAGE, "env.path");
}

TEST(a_variable_set_and_passed_names_both_origins) {
	WORLD(w);
	write_file(w.user, "env.pass = [\"EDITOR\"]\n");
	CHECK_FAILS(&w, try(&w, "env.set", "EDITOR=vi"), ERR_USAGE, "env.set EDITOR (--try)",
		    "env.pass EDITOR (", "user.toml:1");
}

TEST(the_search_path_holds_absolute_directories_only) {
	static const char *const bad[] = {"bin", "/bin:", ":/bin", "/bin::/usr/bin", "/bin:.", "."};
	WORLD(w);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		CHECK_FAILS(&w, try(&w, "env.path", bad[i]), ERR_USAGE, "env.path", "absolute");
	}
	CHECK_OK(&w, try(&w, "env.path", "/bin:/usr/bin"));
}

TESTS_MAIN
