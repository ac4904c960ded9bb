/* The policy room: values, layers, narrowing, floor, trust, contradictions,
 * the hash, the printed forms and the schema. */
#include "base/arena.h"
#include "base/auto.h"
#include "base/fd.h"
#include "base/str.h"
#include "data/environment.h"
#include "data/profiles.h"
#include "policy/internal.h"
#include "policy_world.h"

#include <fcntl.h>
#include <jansson.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *origin_of(const struct world *w, enum key_id key) {
	static char text[300];
	return origin_text(&w->p.values[key].origin, text, sizeof text);
}

/* ---- the tables ---- */

TEST(every_key_has_a_row_with_name_and_help) {
	for (size_t i = 0; i < KEY_COUNT; i++) {
		CHECK(keys[i].name != NULL);
		REQUIRE(keys[i].name != NULL && keys[i].help != NULL);
		CHECK(key_by_name(keys[i].name) == &keys[i]);
		CHECK(keys[i].type != TYPE_ENUM || keys[i].choices != NULL);
	}
	CHECK(key_by_name("limits") == NULL);
	CHECK(key_by_name("") == NULL);
}

TEST(keys_of_one_table_stand_together) {
	for (size_t i = 0; i < KEY_COUNT; i++) {
		size_t n = strcspn(keys[i].name, ".");
		bool left = false;
		for (size_t j = i + 1; keys[i].name[n] == '.' && j < KEY_COUNT; j++) {
			bool same = strncmp(keys[i].name, keys[j].name, n + 1) == 0;
			CHECK(!(same && left));
			left |= !same;
		}
	}
}

TEST(choices_stand_in_the_order_of_their_enums) {
	CHECK_STR(keys[KEY_MODE].choices[MODE_READ_ONLY], "read-only");
	CHECK_STR(keys[KEY_MODE].choices[MODE_FULL_ACCESS], "full-access");
	CHECK_STR(keys[KEY_LEVEL].choices[LEVEL_NONE], "none");
	CHECK_STR(keys[KEY_LEVEL].choices[LEVEL_AUTO], "auto");
	CHECK_STR(keys[KEY_MIN_LEVEL].choices[LEVEL_FULL], "full");
	CHECK_STR(keys[KEY_FS_VIEW].choices[VIEW_MINIMAL], "minimal");
	CHECK_STR(keys[KEY_FS_VIEW].choices[VIEW_HOST], "host");
	CHECK_STR(keys[KEY_FS_HOME].choices[HOME_PERSISTENT], "persistent");
	CHECK_STR(keys[KEY_NET_MODE].choices[NET_FILTERED], "filtered");
	CHECK_STR(keys[KEY_NET_MODE].choices[NET_FULL], "full");
	CHECK_STR(keys[KEY_COMMANDS_DEFAULT].choices[COMMANDS_DENY], "deny");
}

TEST(environment_rows_are_sorted_unique_and_reasoned) {
	for (size_t i = 0; i < env_rows_count; i++) {
		CHECK(env_rows[i].reason != NULL && env_rows[i].reason[0] != '\0');
		CHECK(i == 0 || strcmp(env_rows[i - 1].pattern, env_rows[i].pattern) < 0);
	}
}

TEST(a_name_beats_a_prefix_and_a_prefix_covers_its_names) {
	REQUIRE(env_row_for("LC_ALL") != NULL && env_row_for("LD_PRELOAD") != NULL);
	CHECK_INT(env_row_for("LC_ALL")->class, ENV_PASSED);
	CHECK_INT(env_row_for("LD_PRELOAD")->class, ENV_DANGEROUS);
	CHECK_INT(env_row_for("GIT_CONFIG_COUNT")->class, ENV_DANGEROUS);
	CHECK_INT(env_row_for("BASH_FUNC_x%%")->class, ENV_DANGEROUS);
	CHECK_INT(env_row_for("AWS_SECRET_ACCESS_KEY")->class, ENV_SECRET);
	CHECK_INT(env_row_for("CORRAL_ANYTHING")->class, ENV_RESERVED);
	CHECK_INT(env_row_for("CI")->class, ENV_PASSED);
	CHECK_INT(env_row_for("CI_JOB_TOKEN")->class, ENV_SECRET);
	CHECK(env_row_for("GIT_AUTHOR_NAME") == NULL);
	CHECK(env_row_for("LCX") == NULL);
	CHECK(env_row_for("") == NULL);
}

TEST(profiles_are_sorted_and_every_row_belongs_to_one) {
	for (size_t i = 1; i < profiles_count; i++) {
		CHECK(strcmp(profiles[i - 1].name, profiles[i].name) < 0);
	}
	for (size_t i = 0; i < profile_rows_count; i++) {
		CHECK(profile_by_name(profile_rows[i].profile) != NULL);
		CHECK(profile_rows[i].reason[0] != '\0');
		CHECK(i == 0 || strcmp(profile_rows[i - 1].profile, profile_rows[i].profile) <= 0);
	}
}

/* A typing error in a profile must not hide behind "not implemented". */
TEST(every_profile_row_is_a_value_or_is_named_as_not_implemented) {
	struct arena a;
	struct err e;
	arena_init(&a);
	struct where w = {.a = &a, .cwd = "/ws", .base = "/ws", .home = "/home/u"};
	for (size_t i = 0; i < profile_rows_count; i++) {
		struct value v = {0};
		const struct profile_row *row = &profile_rows[i];
		if (value_from_text(&w, &keys[row->key], row->value, &v, &e) != 0) {
			CHECK(strstr(e.what, "not implemented in this version") != NULL);
		}
	}
	arena_done(&a);
}

/* ---- defaults and profiles ---- */

TEST(without_any_file_the_built_in_values_stand) {
	WORLD(w);
	CHECK_OK(&w, resolve(&w));
	CHECK_STR(policy_str(&w.p, KEY_PROFILE), "workspace");
	CHECK_STR(policy_str(&w.p, KEY_WORKSPACE), w.ws);
	CHECK_INT(policy_num(&w.p, KEY_MODE), MODE_WORKSPACE_WRITE);
	CHECK_INT(policy_num(&w.p, KEY_LEVEL), LEVEL_AUTO);
	CHECK_INT(policy_num(&w.p, KEY_MIN_LEVEL), LEVEL_STANDARD);
	CHECK_INT(policy_num(&w.p, KEY_FS_VIEW), VIEW_SYSTEM);
	CHECK_INT(policy_num(&w.p, KEY_FS_HOME), HOME_PERSISTENT);
	CHECK_INT(policy_num(&w.p, KEY_FS_TOOLCHAINS), 1);
	CHECK_INT(policy_num(&w.p, KEY_NET_MODE), NET_NONE);
	CHECK_INT(policy_num(&w.p, KEY_COMMANDS_DEFAULT), COMMANDS_ALLOW);
	CHECK_INT(policy_num(&w.p, KEY_LIMITS_TIMEOUT), LIMIT_NONE);
	CHECK_INT(policy_num(&w.p, KEY_LIMITS_OUTPUT), LIMIT_NONE);
	CHECK_INT(policy_num(&w.p, KEY_LIMITS_GRACE), 2000);
	CHECK_INT(policy_num(&w.p, KEY_LIMITS_PROCESSES), 512);
	CHECK_INT(policy_num(&w.p, KEY_LIMITS_OPEN_FILES), 4096);
	CHECK_INT(policy_num(&w.p, KEY_LIMITS_FILE_SIZE), (int64_t)8 << 30);
	CHECK_INT(policy_num(&w.p, KEY_LIMITS_TMP_SIZE), 1 << 30);
	CHECK_INT(policy_num(&w.p, KEY_LIMITS_MEMORY), LIMIT_NONE);
	CHECK_STR(origin_of(&w, KEY_MODE), "built-in");
	CHECK(policy_str(&w.p, KEY_CHDIR) == NULL);
}

TEST(a_tool_call_has_a_timeout_and_bounded_output) {
	WORLD(w);
	w.in.tool_call = true;
	CHECK_OK(&w, resolve(&w));
	CHECK_INT(policy_num(&w.p, KEY_LIMITS_TIMEOUT), 120000);
	CHECK_INT(policy_num(&w.p, KEY_LIMITS_OUTPUT), 1 << 20);
}

TEST(strict_has_the_small_limits_and_names_itself_as_origin) {
	WORLD(w);
	CHECK_OK(&w, try(&w, "profile", "strict"));
	CHECK_INT(policy_num(&w.p, KEY_FS_VIEW), VIEW_MINIMAL);
	CHECK_STR(policy_str(&w.p, KEY_FS_WORKSPACE_AT), "/workspace");
	CHECK_INT(policy_num(&w.p, KEY_LIMITS_PROCESSES), 64);
	CHECK_INT(policy_num(&w.p, KEY_LIMITS_OPEN_FILES), 256);
	CHECK_INT(policy_num(&w.p, KEY_LIMITS_FILE_SIZE), 52428800);
	CHECK_INT(w.p.values[KEY_REQUIRE].count, 4);
	CHECK_STR(origin_of(&w, KEY_FS_VIEW), "profile strict");
	CHECK_STR(origin_of(&w, KEY_PROFILE), "--try");
}

TEST(the_other_profiles_differ_where_they_say) {
	WORLD(w);
	CHECK_OK(&w, try(&w, "profile", "readonly"));
	CHECK_INT(policy_num(&w.p, KEY_MODE), MODE_READ_ONLY);
	CHECK_OK(&w, try(&w, "profile", "host-read"));
	CHECK_INT(policy_num(&w.p, KEY_FS_VIEW), VIEW_HOST);
	CHECK_OK(&w, try(&w, "profile", "data-analysis"));
	CHECK_INT(policy_num(&w.p, KEY_LIMITS_PROCESSES), 1024);
	CHECK_INT(policy_num(&w.p, KEY_LIMITS_TMP_SIZE), (int64_t)4 << 30);
}

TEST(a_profile_that_needs_a_later_capability_is_refused_by_name) {
	WORLD(w);
	CHECK_FAILS(&w, try(&w, "profile", "minimal"), ERR_USAGE, "commands.default",
		    "profile minimal", "not implemented");
	CHECK_FAILS(&w, try(&w, "profile", "campaign"), ERR_USAGE, "commands.default",
		    "profile campaign");
}

TEST(a_later_value_of_a_profile_can_be_replaced) {
	WORLD(w);
	set(&w, "profile", "campaign", "--profile");
	set(&w, "commands.default", "allow", "--set");
	CHECK_OK(&w, resolve(&w));
	CHECK_INT(w.p.values[KEY_FS_DENY].items[0].kind, ITEM_SET);
}

TEST(an_unknown_profile_lists_the_known_ones) {
	WORLD(w);
	CHECK_FAILS(&w, try(&w, "profile", "nosuch"), ERR_USAGE, "nosuch", "--try", "strict",
		    "data-analysis");
}

/* ---- values ---- */

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
				 value_number(&keys[i], keys[i].max, text, sizeof text)));
		CHECK_INT(policy_num(&w.p, (enum key_id)i), keys[i].max);
		CHECK_OK(&w, try(&w, keys[i].name,
				 value_number(&keys[i], keys[i].min, text, sizeof text)));
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
		const char *key, *text;
	} rows[] = {
		{"mode", "full-access"},
		{"commands.default", "deny"},
		{"fs.read", "/data/[ab]"},
		{"fs.write", "/tmp/*"},
	};
	WORLD(w);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CHECK_FAILS(&w, try(&w, rows[i].key, rows[i].text), ERR_USAGE, rows[i].key,
			    rows[i].text, "not implemented in this version");
		CHECK(w.e.fix[0] != '\0');
	}
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
	CHECK_FAILS(&w, try(&w, "fs.read", lengthy), ERR_USAGE, "longer than");
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

/* ---- precedence ---- */

TEST(each_layer_beats_the_one_below) {
	WORLD(w);
	set(&w, "profile", "strict", "--profile");
	CHECK_OK(&w, resolve(&w));
	CHECK_INT(policy_num(&w.p, KEY_LIMITS_PROCESSES), 64);
	write_file(w.admin, "limits.processes = 50\n");
	CHECK_OK(&w, resolve(&w));
	CHECK_INT(policy_num(&w.p, KEY_LIMITS_PROCESSES), 50);
	write_file(w.user, "limits.processes = 40\n");
	CHECK_OK(&w, resolve(&w));
	CHECK_INT(policy_num(&w.p, KEY_LIMITS_PROCESSES), 40);
	write_file(w.project, "limits.processes = 30\n");
	CHECK_OK(&w, resolve(&w));
	CHECK_INT(policy_num(&w.p, KEY_LIMITS_PROCESSES), 30);
	CHECK(str_starts(origin_of(&w, KEY_LIMITS_PROCESSES), w.project));
	write_file(w.extra, "limits.processes = 70\n");
	w.in.extra_file = w.extra;
	CHECK_OK(&w, resolve(&w));
	CHECK_INT(policy_num(&w.p, KEY_LIMITS_PROCESSES), 70);
	set(&w, "limits.processes", "80", "--processes");
	set(&w, "limits.processes", "90", "--processes");
	CHECK_OK(&w, resolve(&w));
	CHECK_INT(policy_num(&w.p, KEY_LIMITS_PROCESSES), 90);
	CHECK_STR(origin_of(&w, KEY_LIMITS_PROCESSES), "--processes");
}

TEST(the_highest_layer_that_names_a_profile_chooses_it) {
	WORLD(w);
	write_file(w.admin, "profile = \"host-read\"\n");
	write_file(w.user, "profile = \"readonly\"\n");
	CHECK_OK(&w, resolve(&w));
	CHECK_STR(policy_str(&w.p, KEY_PROFILE), "readonly");
	CHECK_INT(policy_num(&w.p, KEY_FS_VIEW), VIEW_SYSTEM);
	CHECK_INT(policy_num(&w.p, KEY_MODE), MODE_READ_ONLY);
	CHECK_OK(&w, try(&w, "profile", "workspace"));
	CHECK_INT(policy_num(&w.p, KEY_MODE), MODE_WORKSPACE_WRITE);
}

TEST(a_file_beats_the_profile_that_a_setting_chose) {
	WORLD(w);
	write_file(w.user, "fs.view = \"system\"\n");
	CHECK_OK(&w, try(&w, "profile", "strict"));
	CHECK_INT(policy_num(&w.p, KEY_FS_VIEW), VIEW_SYSTEM);
}

TEST(lists_append_and_a_path_given_twice_keeps_the_later_origin) {
	WORLD(w);
	write_file(w.user, "fs.read = [\"/usr\", \"/bin?\"]\nenv.set = {A = \"1\", B = \"2\"}\n");
	set(&w, "fs.read", "/usr/", "--read");
	set(&w, "fs.read", "/bin?", "--read");
	set(&w, "fs.read", "/lib?", "--read");
	set(&w, "env.set", "A=3", "--env");
	CHECK_OK(&w, resolve(&w));
	const struct value *v = &w.p.values[KEY_FS_READ];
	REQUIRE(v->count == 3);
	CHECK_STR(v->items[0].str, "/usr");
	CHECK_INT(v->items[0].origin.kind, ORIGIN_OPTION);
	CHECK(!v->items[0].optional);
	CHECK(v->items[1].optional);
	REQUIRE(w.p.values[KEY_ENV_SET].count == 2);
	CHECK_STR(w.p.values[KEY_ENV_SET].items[0].str, "A=3");
}

TEST(a_path_that_one_layer_insists_on_stays_required) {
	WORLD(w);
	write_file(w.user, "fs.deny = [\"/nosuch-corral\"]\n");
	CHECK_OK(&w, try(&w, "fs.deny", "/nosuch-corral?"));
	CHECK(!w.p.values[KEY_FS_DENY].items[0].optional);
}

/* ---- files ---- */

TEST(a_file_that_is_there_and_unusable_stops_the_run) {
	WORLD(w);
	make_dir(w.user);
	CHECK_FAILS(&w, resolve(&w), ERR_USAGE, "user.toml", "regular");
	REQUIRE(rmdir(w.user) == 0);
	REQUIRE(mkfifo(w.user, 0600) == 0);
	CHECK_FAILS(&w, resolve(&w), ERR_USAGE, "user.toml", "regular");
	REQUIRE(unlink(w.user) == 0);
	write_file(w.user, "this is = = garbage");
	CHECK_FAILS(&w, resolve(&w), ERR_USAGE, "user.toml");
	auto_free char *large = malloc(POLICY_FILE_MAX + 2);
	memset(large, '#', POLICY_FILE_MAX + 1);
	large[POLICY_FILE_MAX + 1] = '\0';
	write_file(w.user, large);
	CHECK_FAILS(&w, resolve(&w), ERR_USAGE, "user.toml", "larger");
	if (geteuid() != 0) {
		write_file(w.user, "");
		REQUIRE(chmod(w.user, 0) == 0);
		CHECK_FAILS(&w, resolve(&w), ERR_USAGE, "user.toml", "Permission");
	}
}

TEST(an_empty_file_is_a_layer_that_says_nothing) {
	WORLD(w);
	write_file(w.user, "");
	write_file(w.project, "");
	CHECK_OK(&w, resolve(&w));
}

TEST(a_project_file_that_is_a_link_is_refused) {
	WORLD(w);
	write_file(w.extra, "");
	REQUIRE(symlink(w.extra, w.project) == 0);
	CHECK_FAILS(&w, resolve(&w), ERR_USAGE, PROJECT_FILE, "symbolic link");
}

TEST(an_extra_file_must_exist_and_may_be_a_descriptor) {
	WORLD(w);
	int pipes[2];
	w.in.extra_file = "gone.toml";
	CHECK_FAILS(&w, resolve(&w), ERR_USAGE, "gone.toml", "No such file");
	w.in.extra_file = "fd:";
	CHECK_FAILS(&w, resolve(&w), ERR_USAGE, "fd:");
	w.in.extra_file = "fd:99999999999";
	CHECK_FAILS(&w, resolve(&w), ERR_USAGE, "fd:");
	w.in.extra_file = "fd:987";
	CHECK_FAILS(&w, resolve(&w), ERR_USAGE, "Bad file descriptor");
	REQUIRE(pipe(pipes) == 0);
	CHECK(fd_write_all(pipes[1], "{\"mode\":\"read-only\"}", 20) == 0);
	close(pipes[1]);
	w.in.extra_file = arena_printf(&w.a, "fd:%d", pipes[0]);
	CHECK_OK(&w, resolve(&w));
	CHECK_INT(policy_num(&w.p, KEY_MODE), MODE_READ_ONLY);
	close(pipes[0]);
	write_file(arena_printf(&w.a, "%s/rel.toml", w.ws), "mode = \"read-only\"\n");
	w.in.extra_file = "rel.toml";
	CHECK_OK(&w, resolve(&w));
	CHECK_INT(policy_num(&w.p, KEY_MODE), MODE_READ_ONLY);
}

TEST(the_extra_file_can_be_standard_input) {
	WORLD(w);
	int pipes[2], saved = dup(STDIN_FILENO);
	REQUIRE(pipe(pipes) == 0);
	CHECK(fd_write_all(pipes[1], "mode = \"read-only\"\n", 19) == 0);
	close(pipes[1]);
	REQUIRE(dup2(pipes[0], STDIN_FILENO) == STDIN_FILENO);
	close(pipes[0]);
	w.in.extra_file = "-";
	CHECK_OK(&w, resolve(&w));
	CHECK_INT(policy_num(&w.p, KEY_MODE), MODE_READ_ONLY);
	CHECK_STR(origin_of(&w, KEY_MODE), "standard input:1");
	if (saved >= 0) {
		(void)dup2(saved, STDIN_FILENO);
		close(saved);
	}
}

TEST(no_config_reads_no_layer_but_the_floor_still_binds) {
	WORLD(w);
	write_file(w.admin, "limits.processes = 9\n[floor]\nlimits.open_files = 100\n");
	write_file(w.user, "garbage = = =");
	write_file(w.project, "garbage = = =");
	w.in.no_config = true;
	CHECK_OK(&w, resolve(&w));
	CHECK_INT(policy_num(&w.p, KEY_LIMITS_PROCESSES), 512);
	CHECK_INT(policy_num(&w.p, KEY_LIMITS_OPEN_FILES), 100);
}

TEST(one_file_can_be_checked_on_its_own) {
	WORLD(w);
	write_file(w.extra, "fs.read = [\"~/x\", \"y\"]\n[floor]\nlimits.timeout = 5\n");
	CHECK_OK(&w, policy_check_file(&w.a, w.extra, &w.e));
	write_file(w.extra, "nosuch = 1\n");
	CHECK_FAILS(&w, policy_check_file(&w.a, w.extra, &w.e), ERR_USAGE, "nosuch");
	write_file(w.extra, "profile = \"nosuch\"\n");
	CHECK_FAILS(&w, policy_check_file(&w.a, w.extra, &w.e), ERR_USAGE, "nosuch");
	write_file(w.extra, "env.set = {LD_PRELOAD = \"x\"}\n");
	CHECK_FAILS(&w, policy_check_file(&w.a, w.extra, &w.e), ERR_USAGE, "LD_PRELOAD");
	CHECK_FAILS(&w, policy_check_file(&w.a, w.dir, &w.e), ERR_USAGE, "regular");
	CHECK_FAILS(&w, policy_check_file(&w.a, "/nosuch-corral", &w.e), ERR_USAGE, "No such file");
}

/* ---- P3: narrowing ---- */

struct narrow_row {
	const char *stands, *tighter, *looser; /* documents */
	const char *key;
};

static const struct narrow_row narrow_rows[] = {
	{"limits.processes = 100", "limits.processes = 99", "limits.processes = 101",
	 "limits.processes"},
	{"limits.processes = 100", "limits.processes = 100", "limits.processes = \"none\"",
	 "limits.processes"},
	{"limits.timeout = \"none\"", "limits.timeout = \"1h\"", NULL, "limits.timeout"},
	{"mode = \"workspace-write\"", "mode = \"read-only\"", NULL, "mode"},
	{"mode = \"read-only\"", "mode = \"read-only\"", "mode = \"workspace-write\"", "mode"},
	{"fs.view = \"system\"", "fs.view = \"minimal\"", "fs.view = \"host\"", "fs.view"},
	{"fs.home = \"ephemeral\"", "fs.home = \"ephemeral\"", "fs.home = \"persistent\"",
	 "fs.home"},
	{"fs.toolchains = false", "fs.toolchains = false", "fs.toolchains = true", "fs.toolchains"},
	{"fs.cow = false", "fs.cow = true", NULL, "fs.cow"},
	{"fs.cow = true", "fs.cow = true", "fs.cow = false", "fs.cow"},
	{"net.mode = \"full\"", "net.mode = \"none\"", NULL, "net.mode"},
	{"net.mode = \"none\"", "net.mode = \"none\"", "net.mode = \"full\"", "net.mode"},
	{"min_level = \"standard\"", "min_level = \"full\"", "min_level = \"minimal\"",
	 "min_level"},
	{"", "require = [\"net\"]", NULL, "require"},
	{"", "fs.deny = [\"x?\"]", NULL, "fs.deny"},
	{"", "fs.protect = [\"x?\"]", NULL, "fs.protect"},
	{"", "fs.protect_names = [\"SOUL.md\"]", NULL, "fs.protect_names"},
	{"", "env.set = {A = \"b\"}", NULL, "env.set"},
	{"", NULL, "env.pass = [\"A\"]", "env.pass"},
	{"", NULL, "env.allow_dangerous = [\"PYTHONPATH\"]", "env.allow_dangerous"},
	{"", NULL, "env.path = \"/bin\"", "env.path"},
	{"", NULL, "fs.read = [\"/\"]", "fs.read"},
	{"", NULL, "fs.write = [\"/tmp\"]", "fs.write"},
	{"", NULL, "fs.agent = \"/usr\"", "fs.agent"},
	{"", NULL, "fs.workspace_at = \"/w\"", "fs.workspace_at"},
	{"", NULL, "profile = \"readonly\"", "profile"},
	{"", NULL, "level = \"auto\"", "level"},
	{"", NULL, "allow_degraded = [\"net\"]", "allow_degraded"},
	{"", NULL, "accept_no_sandbox = true", "accept_no_sandbox"},
	{"", NULL, "nested = true", "nested"},
	{"net.mode = \"restricted\"", "net.mode = \"filtered\"", "net.mode = \"full\"", "net.mode"},
	{"net.allow = [\"a.example\"]", "net.mode = \"filtered\"", "net.mode = \"restricted\"",
	 "net.mode"},
	{"", "net.deny = [\"a.example\"]", NULL, "net.deny"},
	{"", NULL, "net.allow = [\"a.example\"]", "net.allow"},
	{"", NULL, "net.private = [\"10.0.0.0/8\"]", "net.private"},
	{"", NULL, "net.proxy = true", "net.proxy"},
	{"", NULL, "net.publish = [3000]", "net.publish"},
	{"", NULL, "net.host_ports = [5432]", "net.host_ports"},
	{"", NULL, "net.sockets = [\"/run/x.sock\"]", "net.sockets"},
};

TEST(an_untrusted_project_file_narrows_and_never_loosens) {
	for (size_t i = 0; i < ARRAY_LEN(narrow_rows); i++) {
		const struct narrow_row *row = &narrow_rows[i];
		WORLD(w);
		write_file(w.user, row->stands);
		if (row->tighter != NULL) {
			write_file(w.project, row->tighter);
			CHECK_OK(&w, resolve(&w));
			CHECK_INT(w.p.values[key_by_name(row->key) - keys].origin.kind,
				  ORIGIN_PROJECT);
		}
		if (row->looser != NULL) {
			write_file(w.project, row->looser);
			CHECK_FAILS(&w, resolve(&w), ERR_REFUSED, row->key, PROJECT_FILE ":1",
				    "corral policy trust");
			CHECK(says(&w, row->stands[0] == '\0' ? "built-in" : "user.toml:1"));
		}
	}
}

TEST(every_key_has_a_narrowing_test) {
	for (size_t i = 0; i < KEY_COUNT; i++) {
		bool limit = str_starts(keys[i].name, "limits.");
		CHECK(!limit || keys[i].narrow == NARROW_LOWER);
		/* No choice but the default is implemented, or project_keeps_workspace() refuses
		 * first. */
		static const char *const elsewhere[] = {"workspace", "any_workspace",
							"commands.default", "chdir"};
		bool seen = limit;
		for (size_t n = 0; n < ARRAY_LEN(narrow_rows); n++) {
			seen |= streq(narrow_rows[n].key, keys[i].name);
		}
		for (size_t n = 0; n < ARRAY_LEN(elsewhere); n++) {
			seen |= streq(elsewhere[n], keys[i].name);
		}
		CHECK(seen);
	}
}

TEST(the_command_line_may_loosen_what_a_project_narrowed) {
	WORLD(w);
	write_file(w.project, "limits.processes = 10\n");
	CHECK_OK(&w, try(&w, "limits.processes", "20"));
	CHECK_INT(policy_num(&w.p, KEY_LIMITS_PROCESSES), 20);
}

TEST(a_project_file_never_moves_the_workspace_or_sets_a_floor) {
	WORLD(w);
	write_file(w.project, "workspace = \"/usr\"\n");
	CHECK_FAILS(&w, resolve(&w), ERR_USAGE, "workspace", PROJECT_FILE ":1");
	write_file(w.project, "any_workspace = true\n");
	CHECK_FAILS(&w, resolve(&w), ERR_USAGE, "any_workspace");
	write_file(w.project, "[floor]\nlimits.timeout = 1\n");
	CHECK_FAILS(&w, resolve(&w), ERR_USAGE, "[floor]", PROJECT_FILE);
	REQUIRE(unlink(w.project) == 0);
	write_file(w.user, "[floor]\nlimits.timeout = 1\n");
	CHECK_FAILS(&w, resolve(&w), ERR_USAGE, "[floor]", "user.toml");
}

/* ---- trust ---- */

TEST(a_pinned_project_file_may_loosen_until_it_changes) {
	WORLD(w);
	struct stat st;
	write_file(w.project, "profile = \"host-read\"\nlimits.processes = 4000\n");
	CHECK_FAILS(&w, resolve(&w), ERR_REFUSED, "trust");
	CHECK_OK(&w, policy_trust(w.trust, w.project, &w.e));
	CHECK_OK(&w, resolve(&w));
	CHECK_INT(policy_num(&w.p, KEY_LIMITS_PROCESSES), 4000);
	CHECK_STR(policy_str(&w.p, KEY_PROFILE), "host-read");
	CHECK_INT(policy_num(&w.p, KEY_FS_VIEW), VIEW_HOST);
	REQUIRE(stat(w.trust, &st) == 0);
	CHECK_INT(st.st_mode & 07777, 0600);
	REQUIRE(stat(arena_printf(&w.a, "%s/state", w.dir), &st) == 0);
	CHECK_INT(st.st_mode & 07777, 0700);
	write_file(w.project, "profile = \"host-read\"\nlimits.processes = 4001\n");
	CHECK_FAILS(&w, resolve(&w), ERR_REFUSED, "trust");
	CHECK_OK(&w, policy_trust(w.trust, w.project, &w.e));
	CHECK_OK(&w, resolve(&w));
}

TEST(trust_belongs_to_a_path_and_its_content) {
	WORLD(w);
	char *other = arena_printf(&w.a, "%s/other", w.dir);
	const char *text = "limits.processes = 4000\n";
	make_dir(other);
	write_file(w.project, text);
	write_file(arena_printf(&w.a, "%s/" PROJECT_FILE, other), text);
	CHECK_OK(&w, policy_trust(w.trust, w.project, &w.e));
	CHECK_FAILS(&w, try(&w, "workspace", other), ERR_REFUSED, "trust");
	CHECK_OK(&w, policy_trust(w.trust, arena_printf(&w.a, "%s/" PROJECT_FILE, other), &w.e));
	CHECK_OK(&w, try(&w, "workspace", other));
	CHECK_OK(&w, resolve(&w));
}

TEST(pinning_twice_keeps_one_line_and_leaves_no_other_file) {
	WORLD(w);
	struct buf list = {0};
	write_file(w.project, "limits.processes = 1\n");
	CHECK_OK(&w, policy_trust(w.trust, w.project, &w.e));
	write_file(w.project, "limits.processes = 2\n");
	CHECK_OK(&w, policy_trust(w.trust, w.project, &w.e));
	REQUIRE(file_read(w.trust, 10000, &list) == 0);
	CHECK(strchr(list.data, '\n') == list.data + list.len - 1);
	CHECK(strstr(list.data, w.project) == list.data + 65);
	buf_done(&list);
	size_t entries = 0;
	auto_dir d = opendir(arena_printf(&w.a, "%s/state/corral", w.dir));
	REQUIRE(d != NULL);
	while (readdir(d) != NULL) {
		entries++;
	}
	CHECK_INT(entries, 3);
}

TEST(what_is_not_a_valid_project_file_cannot_be_pinned) {
	WORLD(w);
	write_file(w.project, "nosuch = 1\n");
	CHECK_FAILS(&w, policy_trust(w.trust, w.project, &w.e), ERR_USAGE, "nosuch");
	write_file(w.user, "mode = \"read-only\"\n");
	CHECK_FAILS(&w, policy_trust(w.trust, w.user, &w.e), ERR_USAGE, PROJECT_FILE);
	REQUIRE(unlink(w.project) == 0);
	CHECK_FAILS(&w, policy_trust(w.trust, w.project, &w.e), ERR_USAGE, "No such file");
	REQUIRE(symlink(w.user, w.project) == 0);
	CHECK_FAILS(&w, policy_trust(w.trust, w.project, &w.e), ERR_USAGE, "symbolic link");
	CHECK(access(w.trust, F_OK) != 0);
}

TEST(a_trust_list_that_others_can_write_is_an_error) {
	WORLD(w);
	write_file(w.project, "limits.processes = 4000\n");
	CHECK_OK(&w, policy_trust(w.trust, w.project, &w.e));
	REQUIRE(chmod(w.trust, 0622) == 0);
	CHECK_FAILS(&w, resolve(&w), ERR_USAGE, "others could have written", "chmod 600");
}

/* ---- P4: the floor ---- */

TEST(what_goes_beyond_the_floor_is_refused_with_both_origins) {
	static const struct {
		const char *floor, *key, *fine, *beyond;
	} rows[] = {
		{"limits.processes = 100", "limits.processes", "100", "101"},
		{"limits.processes = 100", "limits.processes", "1", "none"},
		{"min_level = \"standard\"", "min_level", "full", "minimal"},
		{"net.mode = \"none\"", "net.mode", "none", "full"},
		{"fs.view = \"system\"", "fs.view", "minimal", "host"},
		{"fs.toolchains = false", "fs.toolchains", "false", "true"},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		WORLD(w);
		write_file(w.admin, arena_printf(&w.a, "[floor]\n%s\n", rows[i].floor));
		CHECK_OK(&w, try(&w, rows[i].key, rows[i].fine));
		CHECK_FAILS(&w, try(&w, rows[i].key, rows[i].beyond), ERR_REFUSED, rows[i].key,
			    "--try", "floor", "system.toml:2");
	}
}

TEST(a_built_in_value_gives_way_to_the_floor) {
	WORLD(w);
	write_file(w.admin, "[floor]\nlimits.timeout = 60\nmin_level = \"full\"\n");
	CHECK_OK(&w, resolve(&w));
	CHECK_INT(policy_num(&w.p, KEY_LIMITS_TIMEOUT), 60000);
	CHECK_INT(policy_num(&w.p, KEY_MIN_LEVEL), LEVEL_FULL);
	CHECK_INT(w.p.values[KEY_LIMITS_TIMEOUT].origin.kind, ORIGIN_FLOOR);
}

TEST(a_profile_chosen_against_the_floor_is_refused) {
	WORLD(w);
	write_file(w.admin, "[floor]\nfs.view = \"system\"\n");
	CHECK_FAILS(&w, try(&w, "profile", "host-read"), ERR_REFUSED, "profile host-read",
		    "system.toml:2");
}

TEST(the_floor_adds_its_denials_and_requirements) {
	WORLD(w);
	write_file(w.admin, "[floor]\nrequire = [\"net\"]\nfs.deny = [\"/srv/secret?\"]\n"
			    "fs.protect = [\"p?\"]\n");
	CHECK_OK(&w, try(&w, "require", "pid"));
	CHECK_INT(w.p.values[KEY_REQUIRE].count, 2);
	const struct value *kept = &w.p.values[KEY_FS_PROTECT];
	REQUIRE(w.p.values[KEY_FS_DENY].count == 1 && kept->count > 1);
	CHECK_INT(kept->items[kept->count - 1].origin.kind, ORIGIN_FLOOR);
	CHECK_INT(w.p.values[KEY_FS_DENY].items[0].origin.kind, ORIGIN_FLOOR);
	CHECK_FAILS(&w, try(&w, "fs.read", "/srv/secret?"), ERR_USAGE, "--try", "floor",
		    "contradicts");
}

TEST(grants_must_lie_within_the_floors_paths) {
	WORLD(w);
	char *link = arena_printf(&w.a, "%s/link", w.ws);
	write_file(w.admin, arena_printf(&w.a, "[floor]\nfs.write = [\"%s\"]\n", w.ws));
	CHECK_OK(&w, resolve(&w));
	CHECK_OK(&w, try(&w, "fs.write", w.ws));
	CHECK_FAILS(&w, try(&w, "fs.write", w.home), ERR_REFUSED, "--try", "system.toml:2");
	REQUIRE(symlink(w.home, link) == 0);
	CHECK_FAILS(&w, try(&w, "fs.write", link), ERR_REFUSED, "--try");
	CHECK_FAILS(&w, try(&w, "workspace", w.home), ERR_USAGE, "home");
	write_file(w.admin, "[floor]\nfs.write = []\n");
	CHECK_FAILS(&w, resolve(&w), ERR_REFUSED, w.ws);
	CHECK_OK(&w, try(&w, "mode", "read-only"));
	write_file(w.admin, arena_printf(&w.a, "[floor]\nfs.read = [\"%s\"]\n", w.ws));
	CHECK_OK(&w, resolve(&w));
	CHECK_FAILS(&w, try(&w, "fs.read", "/usr"), ERR_REFUSED, "/usr");
	CHECK_FAILS(&w, try(&w, "fs.agent", "/usr"), ERR_REFUSED, "/usr");
	CHECK_FAILS(&w, try(&w, "fs.view", "host"), ERR_REFUSED, "--try");
}

TEST(a_key_without_a_direction_cannot_have_a_floor) {
	WORLD(w);
	write_file(w.admin, "[floor]\nenv.pass = [\"A\"]\n");
	CHECK_FAILS(&w, resolve(&w), ERR_USAGE, "env.pass", "cannot have a floor");
}

/* ---- the workspace ---- */

TEST(a_home_or_a_system_directory_is_no_workspace_without_insisting) {
	static const char *const bad[] = {"/",     "/usr",  "/usr/bin",   "/etc",
					  "/proc", "/dev",  "/tmp",       "/home",
					  "/var",  "/root", "/sys/kernel"};
	WORLD(w);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct origin o = {.kind = ORIGIN_OPTION, .name = "--workspace"};
		CHECK_FAILS(&w, workspace_check(bad[i], w.home, &o, &w.e), ERR_USAGE,
			    "--workspace DIR", "--any-workspace", bad[i]);
	}
	CHECK_FAILS(&w, try(&w, "workspace", w.home), ERR_USAGE, "whole home", "--any-workspace");
	CHECK_FAILS(&w, try(&w, "workspace", w.dir), ERR_USAGE, "above the home");
	set(&w, "workspace", w.home, "--workspace");
	set(&w, "any_workspace", "true", "--any-workspace");
	CHECK_OK(&w, resolve(&w));
	CHECK_STR(policy_str(&w.p, KEY_WORKSPACE), w.home);
}

TEST(ordinary_places_are_workspaces) {
	static const char *const good[] = {
		"/srv/x",     "/tmp/x",          "/usr/src/x", "/usr/local/src/x",
		"/dev/shm/x", "/var/lib/ci/job", "/opt",       "/home/u/p",
		"/root/p",    "/usrlocal",       "/library"};
	struct origin o = {.kind = ORIGIN_BUILTIN};
	struct err e = {0};
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		CHECK(workspace_check(good[i], "/home/u", &o, &e) == 0);
	}
}

TEST(the_workspace_must_be_a_directory_and_is_resolved) {
	WORLD(w);
	char *link = arena_printf(&w.a, "%s/link", w.dir);
	write_file(w.extra, "");
	CHECK_FAILS(&w, try(&w, "workspace", w.extra), ERR_USAGE, "extra.toml", "--workspace DIR");
	CHECK_FAILS(&w, try(&w, "workspace", "gone"), ERR_USAGE, "gone", "--try", "No such file");
	REQUIRE(symlink(w.ws, link) == 0);
	CHECK_OK(&w, try(&w, "workspace", link));
	CHECK_STR(policy_str(&w.p, KEY_WORKSPACE), w.ws);
	REQUIRE(unlink(link) == 0);
	REQUIRE(symlink(w.home, link) == 0);
	CHECK_FAILS(&w, try(&w, "workspace", link), ERR_USAGE, "whole home");
}

/* ---- contradictions ---- */

TEST(a_path_granted_and_denied_names_both_origins) {
	WORLD(w);
	write_file(w.user, "fs.deny = [\"/usr\"]\n");
	CHECK_FAILS(&w, try(&w, "fs.read", "/usr"), ERR_USAGE, "fs.read /usr (--try)",
		    "fs.deny /usr (", "user.toml:1");
	CHECK_FAILS(&w, try(&w, "fs.write", "/usr"), ERR_USAGE, "fs.write /usr (--try)");
	CHECK_FAILS(&w, try(&w, "fs.agent", "/usr"), ERR_USAGE, "fs.agent /usr (--try)");
	CHECK_FAILS(&w, try(&w, "fs.deny", w.ws), ERR_USAGE, "workspace", "--try", "built-in");
	CHECK_FAILS(&w, try(&w, "fs.deny", "/"), ERR_USAGE, "nothing to run");
	CHECK_OK(&w, try(&w, "fs.read", "/usr/bin"));
}

TEST(write_with_read_and_protect_with_write_are_no_contradictions) {
	WORLD(w);
	set(&w, "fs.read", "/usr", "--read");
	set(&w, "fs.write", "/usr", "--write");
	set(&w, "fs.protect", "/usr", "--protect");
	CHECK_OK(&w, resolve(&w));
}

TEST(read_only_with_a_write_grant_names_both_origins) {
	WORLD(w);
	write_file(w.user, "mode = \"read-only\"\n");
	CHECK_FAILS(&w, try(&w, "fs.write", "/usr"), ERR_USAGE, "mode read-only", "user.toml:1",
		    "fs.write /usr (--try)");
}

TEST(a_start_directory_outside_every_grant_is_refused) {
	WORLD(w);
	char *sub = arena_printf(&w.a, "%s/sub", w.ws);
	make_dir(sub);
	CHECK_OK(&w, try(&w, "chdir", "sub"));
	CHECK_STR(policy_str(&w.p, KEY_CHDIR), sub);
	CHECK_FAILS(&w, try(&w, "chdir", "/usr"), ERR_USAGE, "chdir /usr (--try)", "workspace",
		    "built-in", "--read");
	CHECK_FAILS(&w, try(&w, "chdir", "gone"), ERR_USAGE, "gone", "No such file");
	set(&w, "chdir", "/usr", "--chdir");
	set(&w, "fs.read", "/usr", "--read");
	CHECK_OK(&w, resolve(&w));
	w.in.nsettings = 0;
	set(&w, "chdir", "/workspace/sub", "--chdir");
	set(&w, "profile", "strict", "--profile");
	CHECK_OK(&w, resolve(&w));
}

TEST(a_threshold_above_the_level_names_both_origins) {
	WORLD(w);
	write_file(w.user, "min_level = \"standard\"\n");
	set(&w, "level", "minimal", "--level");
	CHECK_FAILS(&w, resolve(&w), ERR_USAGE, "level minimal (--level)", "min_level standard (",
		    "user.toml:1");
	w.in.nsettings = 0;
	set(&w, "level", "standard", "--level");
	CHECK_OK(&w, resolve(&w));
}

TEST(who_names_a_level_has_answered_the_built_in_threshold) {
	WORLD(w);
	set(&w, "level", "minimal", "--level");
	CHECK_OK(&w, resolve(&w));
	CHECK_INT(policy_num(&w.p, KEY_MIN_LEVEL), LEVEL_STANDARD);
}

TEST(the_workspace_cannot_stand_in_the_place_of_the_system) {
	WORLD(w);
	CHECK_FAILS(&w, try(&w, "fs.workspace_at", "/usr/lib"), ERR_USAGE,
		    "fs.workspace_at /usr/lib");
	CHECK_FAILS(&w, try(&w, "fs.workspace_at", "/"), ERR_USAGE, "fs.workspace_at /");
	CHECK_OK(&w, try(&w, "fs.workspace_at", "/work"));
}

TEST(a_missing_path_is_named_with_origin_and_remedy) {
	static const char *const lists[] = {"fs.read", "fs.write"};
	WORLD(w);
	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		CHECK_FAILS(&w, try(&w, lists[i], "/nosuch-corral"), ERR_USAGE, lists[i],
			    "/nosuch-corral", "--try", "\"/nosuch-corral?\"");
		CHECK_OK(&w, try(&w, lists[i], "/nosuch-corral?"));
		REQUIRE(w.p.values[key_by_name(lists[i]) - keys].count == 1);
		CHECK(w.p.values[key_by_name(lists[i]) - keys].items[0].optional);
	}
	CHECK_FAILS(&w, try(&w, "fs.agent", "/nosuch-corral"), ERR_USAGE, "fs.agent", "--try");
}

TEST(a_dangling_link_can_be_denied_but_not_granted) {
	WORLD(w);
	REQUIRE(symlink("/nosuch-corral", arena_printf(&w.a, "%s/link", w.ws)) == 0);
	CHECK_OK(&w, try(&w, "fs.deny", "link"));
	CHECK_FAILS(&w, try(&w, "fs.read", "link"), ERR_USAGE, "No such file");
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

/* ---- P5: the hash ---- */

/* A second value for every key; a key that has none is listed with its reason. */
struct other_value {
	const char *value;
	bool refused; /* nothing but the default is implemented */
};

static const struct other_value others[KEY_COUNT] = {
	[KEY_PROFILE] = {"data-analysis", false},
	[KEY_MODE] = {"read-only", false},
	[KEY_WORKSPACE] = {"sub", false},
	[KEY_ANY_WORKSPACE] = {"true", false},
	[KEY_CHDIR] = {"sub", false},
	[KEY_LEVEL] = {"full", false},
	[KEY_MIN_LEVEL] = {"full", false},
	[KEY_REQUIRE] = {"net", false},
	[KEY_ALLOW_DEGRADED] = {"net", false},
	[KEY_ACCEPT_NO_SANDBOX] = {"true", false},
	[KEY_NESTED] = {"true", false},
	[KEY_FS_VIEW] = {"host", false},
	[KEY_FS_READ] = {"/usr", false},
	[KEY_FS_WRITE] = {"/usr", false},
	[KEY_FS_DENY] = {"/usr", false},
	[KEY_FS_PROTECT] = {"/usr", false},
	[KEY_FS_PROTECT_NAMES] = {"SOUL.md", false},
	[KEY_FS_HOME] = {"ephemeral", false},
	[KEY_FS_TOOLCHAINS] = {"false", false},
	[KEY_FS_WORKSPACE_AT] = {"/work", false},
	[KEY_FS_AGENT] = {"/usr", false},
	[KEY_FS_COW] = {"true", false},
	[KEY_NET_MODE] = {"full", false},
	[KEY_NET_ALLOW] = {"a.example", false},
	[KEY_NET_DENY] = {"a.example", false},
	[KEY_NET_PRIVATE] = {"10.0.0.0/8", false},
	[KEY_NET_PROXY] = {"true", false},
	[KEY_NET_PUBLISH] = {"3000", false},
	[KEY_NET_HOST_PORTS] = {"3000", false},
	[KEY_NET_SOCKETS] = {"/run/x", false},
	[KEY_ENV_PASS] = {"EDITOR", false},
	[KEY_ENV_SET] = {"EDITOR=vi", false},
	[KEY_ENV_ALLOW_DANGEROUS] = {"PYTHONPATH", false},
	[KEY_ENV_PATH] = {"/bin", false},
	[KEY_COMMANDS_DEFAULT] = {"deny", true},
	[KEY_LIMITS_TIMEOUT] = {"7", false},
	[KEY_LIMITS_IDLE_TIMEOUT] = {"7", false},
	[KEY_LIMITS_GRACE] = {"7", false},
	[KEY_LIMITS_OUTPUT] = {"7", false},
	[KEY_LIMITS_PROCESSES] = {"7", false},
	[KEY_LIMITS_OPEN_FILES] = {"77", false},
	[KEY_LIMITS_FILE_SIZE] = {"7", false},
	[KEY_LIMITS_CPU_TIME] = {"7", false},
	[KEY_LIMITS_MEMORY] = {"7M", false},
	[KEY_LIMITS_CPUS] = {"7", false},
	[KEY_LIMITS_TMP_SIZE] = {"7M", false},
};

TEST(every_key_changes_the_hash) {
	WORLD(w);
	char hashes[KEY_COUNT + 1][65];
	size_t count = 0;
	make_dir(arena_printf(&w.a, "%s/sub", w.ws));
	write_file(w.user, "net.mode = \"restricted\"\n"); /* the others of net.* need one */
	CHECK_OK(&w, resolve(&w));
	memcpy(hashes[count++], w.p.sha256, 65);
	for (size_t i = 0; i < KEY_COUNT; i++) {
		REQUIRE(others[i].value != NULL);
		if (others[i].refused) {
			CHECK_FAILS(&w, try(&w, keys[i].name, others[i].value), ERR_USAGE,
				    "not implemented");
			continue;
		}
		CHECK_OK(&w, try(&w, keys[i].name, others[i].value));
		for (size_t n = 0; n < count; n++) {
			CHECK(strcmp(hashes[n], w.p.sha256) != 0);
		}
		memcpy(hashes[count++], w.p.sha256, 65);
	}
	CHECK_INT(strlen(hashes[0]), 64);
	CHECK_INT(strspn(hashes[0], "0123456789abcdef"), 64);
}

TEST(the_hash_depends_on_values_and_not_on_origins_or_order) {
	WORLD(w);
	char first[65];
	set(&w, "fs.read", "/usr", "--read");
	set(&w, "fs.read", "/etc", "--read");
	set(&w, "limits.timeout", "60", "--timeout");
	CHECK_OK(&w, resolve(&w));
	memcpy(first, w.p.sha256, 65);
	w.in.nsettings = 0;
	write_file(w.user, "fs.read = [\"/etc\", \"/usr\"]\nlimits.timeout = \"1m\"\n");
	CHECK_OK(&w, resolve(&w));
	CHECK_STR(w.p.sha256, first);
	write_file(w.user, "fs.read = [\"/etc\", \"/usr?\"]\nlimits.timeout = \"1m\"\n");
	CHECK_OK(&w, resolve(&w));
	CHECK(strcmp(w.p.sha256, first) != 0);
}

/* ---- printing ---- */

TEST(origins_are_named_as_users_know_them) {
	static const struct {
		struct origin o;
		const char *text;
	} rows[] = {
		{{ORIGIN_BUILTIN, 0, NULL}, "built-in"},
		{{ORIGIN_PROFILE, 0, "strict"}, "profile strict"},
		{{ORIGIN_SYSTEM, 12, "/etc/corral/policy.toml"}, "/etc/corral/policy.toml:12"},
		{{ORIGIN_FILE, 0, "p.json"}, "p.json"},
		{{ORIGIN_OPTION, 0, "--write"}, "--write"},
		{{ORIGIN_FLOOR, 3, "/etc/x"}, "floor /etc/x:3"},
		{{ORIGIN_PROJECT, 1, "a\x1b[31m\nb"}, "a?[31m?b:1"},
	};
	char text[100], tiny[5];
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CHECK_STR(origin_text(&rows[i].o, text, sizeof text), rows[i].text);
	}
	CHECK_STR(origin_text(&rows[0].o, tiny, sizeof tiny), "buil");
}

static void set_something_of_each_kind(struct world *w) {
	set(w, "fs.deny", "a\\*b\\\\c?", "--deny");
	set(w, "fs.deny", "**/*.key", "--deny");
	set(w, "fs.deny", "x\\[y/[!a-z]", "--deny");
	set(w, "fs.deny", "@sensitive", "--deny");
	set(w, "fs.protect", "!@editors", "--protect");
	set(w, "fs.protect", "!/srv/x/*.c", "--protect");
	set(w, "fs.read", "/usr", "--read");
	set(w, "env.set", "A=say \"hi\"\n\\x", "--env");
	set(w, "env.set", "B=", "--env");
	set(w, "env.pass", "EDITOR", "--pass-env");
	set(w, "limits.cpus", "1.25", "--cpus");
	set(w, "limits.grace", "0", "--grace");
	set(w, "limits.memory", "3M", "--memory");
	set(w, "limits.processes", "none", "--processes");
	set(w, "limits.timeout", "1500ms", "--timeout");
}

TEST(the_printed_policy_reads_back_as_the_same_policy) {
	WORLD(w);
	struct buf text = {0};
	char first[65];
	set_something_of_each_kind(&w);
	CHECK_OK(&w, resolve(&w));
	memcpy(first, w.p.sha256, 65);
	policy_print(&w.p, false, &text);
	REQUIRE(!buf_failed(&text));
	write_file(w.extra, text.data);
	w.in.nsettings = 0;
	w.in.extra_file = w.extra;
	CHECK_OK(&w, resolve(&w));
	CHECK_STR(w.p.sha256, first);
	buf_done(&text);
}

TEST(the_printed_policy_names_every_origin) {
	WORLD(w);
	struct buf text = {0};
	set_something_of_each_kind(&w);
	CHECK_OK(&w, resolve(&w));
	policy_print(&w.p, false, &text);
	for (char *line = text.data, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
		*end = '\0';
		bool bracket = streq(line, "]") || (end > line && end[-1] == '[');
		CHECK(bracket || strstr(line, "# ") != NULL);
	}
	buf_done(&text);
}

TEST(the_json_form_holds_every_key_with_value_and_origin) {
	WORLD(w);
	struct buf text = {0};
	set_something_of_each_kind(&w);
	CHECK_OK(&w, resolve(&w));
	policy_print(&w.p, true, &text);
	json_error_t je;
	json_t *root = json_loads(text.data, JSON_REJECT_DUPLICATES, &je);
	REQUIRE(root != NULL);
	CHECK_INT(json_integer_value(json_object_get(root, "version")), 1);
	CHECK_STR(json_string_value(json_object_get(root, "sha256")), w.p.sha256);
	json_t *values = json_object_get(root, "values");
	CHECK_INT(json_object_size(values), KEY_COUNT);
	for (size_t i = 0; i < KEY_COUNT; i++) {
		json_t *one = json_object_get(values, keys[i].name);
		CHECK(json_object_get(one, "value") != NULL);
		CHECK(json_object_get(one, "origin") != NULL);
	}
	json_t *memory = json_object_get(values, "limits.memory");
	CHECK_INT(json_integer_value(json_object_get(memory, "value")), 3 << 20);
	CHECK_STR(json_string_value(json_object_get(memory, "origin")), "--memory");
	json_t *timeout = json_object_get(json_object_get(values, "limits.timeout"), "value");
	CHECK_STR(json_string_value(timeout), "1500ms");
	json_decref(root);
	buf_done(&text);
}

/* ---- the schema ---- */

TEST(the_schema_is_json_and_describes_every_key) {
	struct buf text = {0};
	json_error_t je;
	policy_schema(&text);
	REQUIRE(!buf_failed(&text));
	json_t *root = json_loads(text.data, JSON_REJECT_DUPLICATES, &je);
	REQUIRE(root != NULL);
	CHECK(json_is_false(json_object_get(root, "additionalProperties")));
	json_t *top = json_object_get(root, "properties");
	for (size_t i = 0; i < KEY_COUNT; i++) {
		char name[64];
		(void)snprintf(name, sizeof name, "%s", keys[i].name);
		char *dot = strchr(name, '.');
		json_t *table = top;
		if (dot != NULL) {
			*dot = '\0';
			json_t *group = json_object_get(top, name);
			CHECK(json_is_false(json_object_get(group, "additionalProperties")));
			table = json_object_get(group, "properties");
		}
		json_t *one = json_object_get(table, dot == NULL ? name : dot + 1);
		CHECK(json_is_object(one));
		CHECK_STR(json_string_value(json_object_get(one, "description")), keys[i].help);
	}
	CHECK(json_object_get(top, "version") != NULL);
	CHECK(json_object_get(top, "floor") != NULL);
	json_decref(root);
	buf_done(&text);
}

TEST(the_schema_offers_no_value_that_is_refused) {
	struct buf text = {0};
	policy_schema(&text);
	CHECK(strstr(text.data, "\"full-access\"") == NULL);
	CHECK(strstr(text.data, "\"workspace-write\"") != NULL);
	buf_done(&text);
}

TESTS_MAIN
