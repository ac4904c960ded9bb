/* SPDX-License-Identifier: Apache-2.0 */
/* Where the values of a policy come from, which of them wins, and which do not go together. */
#include "policy_world.h"

#include "data/environment.h"
#include "data/profiles.h"
#include "data/providers.h"

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

TEST(providers_are_sorted_and_their_variables_are_secrets) {
	for (size_t i = 0; i < providers_count; i++) {
		const struct provider *row = &providers[i];
		REQUIRE(provider_names[i] != NULL);
		CHECK_STR(provider_names[i], row->name);
		CHECK(i == 0 || strcmp(providers[i - 1].name, row->name) < 0);
		CHECK(row->variables[0] != NULL || row->command != NULL);
		for (size_t k = 0; k < PROVIDER_ITEMS && row->variables[k] != NULL; k++) {
			const struct env_row *known = environment_row_for(row->variables[k]);
			CHECK(known != NULL && known->class == ENV_SECRET);
		}
		for (size_t k = 0; k < PROVIDER_ITEMS && row->files[k] != NULL; k++) {
			CHECK(row->login == NULL || strcmp(row->files[k], row->login) != 0);
			CHECK(row->files[k][0] != '/');
		}
	}
	CHECK(provider_names[providers_count] == NULL);
	CHECK(provider_by_name("anthropic") != NULL && provider_by_name("nobody") == NULL);
}

TEST(a_name_beats_a_prefix_and_a_prefix_covers_its_names) {
	REQUIRE(environment_row_for("LC_ALL") != NULL && environment_row_for("LD_PRELOAD") != NULL);
	CHECK_INT(environment_row_for("LC_ALL")->class, ENV_PASSED);
	CHECK_INT(environment_row_for("LD_PRELOAD")->class, ENV_DANGEROUS);
	CHECK_INT(environment_row_for("GIT_CONFIG_COUNT")->class, ENV_DANGEROUS);
	CHECK_INT(environment_row_for("BASH_FUNC_x%%")->class, ENV_DANGEROUS);
	CHECK_INT(environment_row_for("AWS_SECRET_ACCESS_KEY")->class, ENV_SECRET);
	CHECK_INT(environment_row_for("CORRAL_ANYTHING")->class, ENV_RESERVED);
	CHECK_INT(environment_row_for("CI")->class, ENV_PASSED);
	CHECK_INT(environment_row_for("CI_JOB_TOKEN")->class, ENV_SECRET);
	CHECK(environment_row_for("GIT_AUTHOR_NAME") == NULL);
	CHECK(environment_row_for("LCX") == NULL);
	CHECK(environment_row_for("") == NULL);
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

TEST(profiles_that_list_commands) {
	WORLD(w);
	CHECK_OK(&w, try(&w, "profile", "minimal"));
	CHECK_INT(policy_num(&w.p, KEY_COMMANDS_DEFAULT), COMMANDS_DENY);
	CHECK_OK(&w, try(&w, "profile", "campaign"));
	CHECK_INT(policy_num(&w.p, KEY_COMMANDS_DEFAULT), COMMANDS_DENY);
	CHECK_INT(policy_num(&w.p, KEY_FS_TOOLS), TOOLS_WORKSPACE);
	CHECK_STR(w.p.values[KEY_COMMANDS].items[0].origin.name, "campaign");
}

TEST(a_value_of_a_profile_can_be_replaced) {
	WORLD(w);
	set(&w, "profile", "campaign", "--profile");
	set(&w, "commands.default", "allow", "--set");
	CHECK_OK(&w, resolve(&w));
	CHECK_INT(policy_num(&w.p, KEY_COMMANDS_DEFAULT), COMMANDS_ALLOW);
}

TEST(an_unknown_profile_lists_the_known_ones) {
	WORLD(w);
	CHECK_FAILS(&w, try(&w, "profile", "nosuch"), ERR_USAGE, "nosuch", "--try", "strict",
		    "data-analysis");
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
	CHECK_FAILS(&w, resolve(&w), ERR_USAGE, "user.toml", "too large");
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

/* ---- the workspace ---- */

TEST(a_home_or_a_system_directory_is_no_workspace_without_insisting) {
	static const char *const bad[] = {"/",     "/usr",  "/usr/bin",   "/etc",
					  "/proc", "/dev",  "/tmp",       "/home",
					  "/var",  "/root", "/sys/kernel"};
	WORLD(w);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct origin o = {.kind = ORIGIN_OPTION, .name = "--workspace"};
		CHECK_FAILS(&w, policy_check_workspace(bad[i], w.home, &o, &w.e), ERR_USAGE,
			    "--workspace DIR", "--any-workspace", bad[i]);
	}
	CHECK_FAILS(&w, try(&w, "workspace", w.home), ERR_USAGE,
		    "cannot be the workspace: it is HOME", "--any-workspace");
	CHECK_FAILS(&w, try(&w, "workspace", w.dir), ERR_USAGE, "a directory above HOME");
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
		CHECK(policy_check_workspace(good[i], "/home/u", &o, &e) == 0);
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
	CHECK_FAILS(&w, try(&w, "workspace", link), ERR_USAGE,
		    "cannot be the workspace: it is HOME");
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
	CHECK_FAILS(&w, try(&w, "fs.deny", "/"), ERR_USAGE, "no command can start");
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
		    "the current directory", "--read");
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

TEST(a_dangerous_variable_of_the_administrator_needs_no_second_permission) {
	WORLD(w);
	write_file(w.admin, "env.set.NODE_PATH = \"/usr/local/node/lib/node_modules\"\n");
	CHECK_OK(&w, resolve(&w));
	write_file(w.user, "env.set.NODE_PATH = \"/tmp/evil\"\n");
	CHECK_FAILS(&w, resolve(&w), ERR_USAGE, "NODE_PATH", "dangerous");
	write_file(w.user, "");
	CHECK_FAILS(&w, try(&w, "env.set", "NODE_PATH=/tmp/evil"), ERR_USAGE, "NODE_PATH");
	write_file(w.admin, "env.pass = [\"NODE_PATH\"]\n"); /* a value of the caller */
	CHECK_FAILS(&w, resolve(&w), ERR_USAGE, "NODE_PATH");
}

TESTS_MAIN
