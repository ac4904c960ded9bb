/* SPDX-License-Identifier: Apache-2.0 */
/* Who may loosen what: an untrusted project file, a pinned one, and the floor. */
#include "policy_world.h"

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
	{"fs.tools = \"view\"", "fs.tools = \"workspace\"", NULL, "fs.tools"},
	{"fs.tools = \"workspace\"", "fs.tools = \"workspace\"", "fs.tools = \"view\"", "fs.tools"},
	{"commands.default = \"allow\"", "commands.default = \"deny\"", NULL, "commands.default"},
	{"commands.default = \"deny\"", "commands.default = \"deny\"",
	 "commands.default = \"allow\"", "commands.default"},
	{"fs.cow = true", "fs.cow = true", "fs.cow = false", "fs.cow"},
	{"net.mode = \"full\"", "net.mode = \"none\"", NULL, "net.mode"},
	{"net.mode = \"none\"", "net.mode = \"none\"", "net.mode = \"full\"", "net.mode"},
	{"scan.args = \"warn\"", "scan.args = \"block\"", "scan.args = \"off\"", "scan.args"},
	{"scan.output = \"redact\"", "scan.output = \"kill\"", "scan.output = \"warn\"",
	 "scan.output"},
	{"denials = \"changes\"", "denials = \"all\"", "denials = \"off\"", "denials"},
	{"scan.files = \"redact\"", "scan.files = \"block\"", "scan.files = \"off\"", "scan.files"},
	{"scan.net = \"warn\"", "scan.net = \"block\"", "scan.net = \"off\"", "scan.net"},
	{"", NULL, "backend = \"linux\"", "backend"},
	{"", NULL, "docker.image = \"sha256:1\"", "docker.image"},
	{"min_level = \"standard\"", "min_level = \"full\"", "min_level = \"minimal\"",
	 "min_level"},
	{"", "require = [\"net\"]", NULL, "require"},
	{"", "fs.deny = [\"x?\"]", NULL, "fs.deny"},
	{"", "fs.protect = [\"x?\"]", NULL, "fs.protect"},
	{"", "fs.protect_names = [\"SOUL.md\"]", NULL, "fs.protect_names"},
	{"", "env.set = {A = \"b\"}", NULL, "env.set"},
	{"env.set = {A = \"b\"}", "env.set = {A = \"b\"}", "env.set = {A = \"c\"}", "env.set"},
	{"", NULL, "env.pass = [\"A\"]", "env.pass"},
	{"", NULL, "env.allow_dangerous = [\"PYTHONPATH\"]", "env.allow_dangerous"},
	{"", NULL, "env.path = \"/bin\"", "env.path"},
	{"", NULL, "env.path_prepend = [\"/bin\"]", "env.path_prepend"},
	{"", NULL, "env.prefix = \"ASH\"", "env.prefix"},
	{"", NULL, "env.labels = {SESSION_ID = \"s1\"}", "env.labels"},
	{"", NULL, "uid = 1000", "uid"},
	{"", NULL, "gid = 1000", "gid"},
	{"", NULL, "fs.home = \"workspace\"", "fs.home"},
	{"", NULL, "env.secrets = [\"API_KEY\"]", "env.secrets"},
	{"", NULL, "env.agent = \"bot\"", "env.agent"},
	{"", NULL, "env.tools = [\"lint\"]", "env.tools"},
	{"", NULL, "skill = \"s\"", "skill"},
	{"", NULL, "fs.read = [\"/\"]", "fs.read"},
	{"", NULL, "fs.write = [\"/tmp\"]", "fs.write"},
	{"", NULL, "fs.agent = \"/usr\"", "fs.agent"},
	{"", NULL, "fs.workspace_at = \"/w\"", "fs.workspace_at"},
	{"", NULL, "profile = \"readonly\"", "profile"},
	{"", NULL, "level = \"auto\"", "level"},
	{"", NULL, "allow_degraded = [\"net\"]", "allow_degraded"},
	{"", NULL, "accept_no_sandbox = true", "accept_no_sandbox"},
	{"", NULL, "accept_full_access = 2026-11-17", "accept_full_access"},
	{"", NULL, "nested = true", "nested"},
	{"", NULL, "providers = [\"anthropic\"]", "providers"},
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
	{"", "seccomp.extra_deny = [\"ptrace\"]", NULL, "seccomp.extra_deny"},
	{"", "audit.enabled = true", "audit.enabled = false", "audit.enabled"},
	{"", "ask.timeout = 30", "ask.timeout = 90", "ask.timeout"},
	{"", "audit.required = true", NULL, "audit.required"},
	{"", "lock = \"workspace\"", NULL, "lock"},
	{"lock = \"workspace\"", NULL, "lock = \"none\"", "lock"},
	{"", "lock_wait = 5", NULL, "lock_wait"},
	{"session.timeout = 90", "session.timeout = 60", "session.timeout = \"none\"",
	 "session.timeout"},
	{"session.idle_timeout = 90", "session.idle_timeout = 60", "session.idle_timeout = \"2m\"",
	 "session.idle_timeout"},
	{"session.cpu_total = 90", "session.cpu_total = 60", "session.cpu_total = \"2m\"",
	 "session.cpu_total"},
	{"", NULL, "daemon.start = \"on-demand\"", "daemon.start"},
	{"", NULL, "daemon.idle = 30", "daemon.idle"},
	{"daemon.pool = 2", "daemon.pool = 1", "daemon.pool = 3", "daemon.pool"},
	{"audit.required = true", NULL, "audit.required = false", "audit.required"},
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
			/* A key that no untrusted file may set has no value to compare with. */
			bool never = key_by_name(row->key)->narrow == NARROW_NEVER;
			CHECK(says(&w, never                    ? "may not set"
				       : row->stands[0] == '\0' ? "built-in"
								: "user.toml:1"));
		}
	}
}

TEST(every_key_has_a_narrowing_test) {
	for (size_t i = 0; i < KEY_COUNT; i++) {
		bool limit = str_starts(keys[i].name, "limits.");
		CHECK(!limit || keys[i].narrow == NARROW_LOWER);
		/* test_command.c has commands.NAME; project_keeps_workspace() refuses the first
		 * two. */
		static const char *const elsewhere[] = {"workspace", "any_workspace",
							"commands.NAME", "chdir"};
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

/* How many items of a list stand in a group. */
static size_t count_in(const struct value *v, enum rule_group group) {
	size_t n = 0;
	for (size_t i = 0; i < v->count; i++) {
		n += item_group(&v->items[i]) == group;
	}
	return n;
}

TEST(an_untrusted_file_that_repeats_a_rule_does_not_own_it) {
	WORLD(w);
	write_file(w.user, "[fs]\ndeny = [\"a\", \"*.key\", \"@sensitive\"]\n");
	write_file(w.project, "[fs]\ndeny = [\"a\", \"*.key\", \"@sensitive\", \"!**\"]\n"
			      "protect = [\"@git\", \"@agents\", \"!**\"]\n");
	CHECK_OK(&w, resolve(&w));
	CHECK_INT(count_in(&w.p.values[KEY_FS_DENY], GROUP_OURS), 3);
	CHECK_INT(count_in(&w.p.values[KEY_FS_DENY], GROUP_UNTRUSTED), 4);
	CHECK_INT(count_in(&w.p.values[KEY_FS_PROTECT], GROUP_OURS), 6);
}

TEST(a_floor_that_repeats_a_rule_leaves_it_to_its_owner) {
	WORLD(w);
	write_file(w.admin, "[floor.fs]\ndeny = [\"a\", \"!a\"]\n");
	write_file(w.user, "[fs]\ndeny = [\"a\"]\n");
	CHECK_OK(&w, resolve(&w));
	CHECK_INT(count_in(&w.p.values[KEY_FS_DENY], GROUP_OURS), 1);
	CHECK_INT(count_in(&w.p.values[KEY_FS_DENY], GROUP_FLOOR), 2);
}

TEST(what_is_refused_without_an_untrusted_file_is_refused_with_it) {
	WORLD(w);
	/* By the same value it would count as a later word than the rule that contradicts it. */
	write_file(w.user, "[net]\nmode = \"full\"\ndeny = [\"a.example\"]\n");
	write_file(w.project, "[net]\nmode = \"full\"\n");
	CHECK_FAILS(&w, resolve(&w), ERR_USAGE, "net.mode full", "contradicts", "net.deny");
	write_file(w.user, "");
	write_file(w.project, "commands.default = \"allow\"\n");
	CHECK_FAILS(&w, try(&w, "profile", "minimal"), ERR_REFUSED, "commands.default",
		    "looser than deny");
	CHECK_OK(&w, resolve(&w));
}

TEST(a_rule_that_is_repeated_after_an_exception_holds) {
	WORLD(w);
	write_file(w.user, "[fs]\ndeny = [\"a\", \"!a\"]\n");
	CHECK_OK(&w, try(&w, "fs.deny", "a"));
	const struct value *deny = &w.p.values[KEY_FS_DENY];
	REQUIRE(deny->count == 3);
	CHECK(!deny->items[2].except);
}

TEST(a_list_of_any_key_has_an_upper_bound) {
	WORLD(w);
	struct buf text = {0};
	buf_puts(&text, "fs.protect_names = [");
	for (size_t i = 0; i < LIST_ITEMS_MAX + 1; i++) {
		buf_printf(&text, "\"n%zu\",", i);
	}
	buf_puts(&text, "]\n");
	write_file(w.project, text.data);
	CHECK_FAILS(&w, resolve(&w), ERR_USAGE, "fs.protect_names", PROJECT_FILE, "4096");
	buf_done(&text);
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
	REQUIRE(fd_read_file(w.trust, 10000, &list) == 0);
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
	CHECK_FAILS(&w, resolve(&w), ERR_USAGE, "writable by other users", "chmod 600");
}

/* ---- P4: the floor ---- */

TEST(what_goes_beyond_the_floor_is_refused_with_both_origins) {
	static const struct {
		const char *floor, *key, *fine, *beyond;
	} rows[] = {
		{"limits.processes = 100", "limits.processes", "100", "101"},
		{"limits.processes = 100", "limits.processes", "1", "none"},
		{"session.timeout = \"12h\"", "session.timeout", "8h", "1d"},
		{"session.idle_timeout = \"1h\"", "session.idle_timeout", "30m", "none"},
		{"session.cpu_total = \"1h\"", "session.cpu_total", "60m", "none"},
		{"min_level = \"standard\"", "min_level", "full", "minimal"},
		{"net.mode = \"none\"", "net.mode", "none", "full"},
		{"fs.view = \"system\"", "fs.view", "minimal", "host"},
		{"fs.toolchains = false", "fs.toolchains", "false", "true"},
		{"min_level = \"standard\"", "level", "standard", "none"},
		{"min_level = \"minimal\"", "level", "minimal", "none"},
		{"min_level = \"full\"", "level", "auto", "standard"},
		{"any_workspace = false", "any_workspace", "false", "true"},
		{"accept_no_sandbox = false", "accept_no_sandbox", "false", "true"},
		{"nested = false", "nested", "false", "true"},
		{"net.proxy = false", "net.proxy", "false", "true"},
		{"fs.cow = true", "fs.cow", "true", "false"},
		{"fs.home = \"ephemeral\"", "fs.home", "ephemeral", "persistent"},
		{"mode = \"read-only\"", "mode", "read-only", "workspace-write"},
		{"allow_degraded = []", "require", "net", NULL},
		{"allow_degraded = [\"ipc\"]", "allow_degraded", "ipc", "fs.deny"},
		{"net.sockets = []", "net.mode", "none", NULL},
		{"net.sockets = [\"/run/x\"]", "net.sockets", "/run/x", "/run/y"},
		{"net.sockets = [\"/run/x\"]", "net.sockets", "/run/x:/in", "/run/y:/run/x"},
		{"net.sockets = []", "net.host_ports", "5432", NULL},
		{"net.mode = \"none\"", "net.publish", "3000", NULL},
		{"net.mode = \"none\"", "net.mode", "none", "filtered"},
		{"net.publish = [3000]", "net.publish", "3000", "3001"},
		{"net.publish = [\"3000:4000\"]", "net.publish", "3000:4000", "3000"},
		{"net.host_ports = [5432]", "net.host_ports", "5432", "5433"},
		{"net.allow = [\"a.example\"]", "net.allow", "a.example", "b.example"},
		{"net.allow = [\"*.a.example\"]", "net.allow", "x.a.example", "a.example"},
		{"net.allow = [\"*.a.example\"]", "net.allow", "*.x.a.example", "xa.example"},
		{"net.allow = [\"a.example\"]", "net.allow", "a.example", "a.example:22"},
		{"net.allow = [\"a.example:*\"]", "net.allow", "a.example:22", "*.a.example"},
		{"net.allow = [\"192.0.2.0/24\"]", "net.allow", "192.0.2.7", "192.0.3.1"},
		{"net.allow = [\"192.0.2.0/24\"]", "net.allow", "192.0.2.0/25", "192.0.0.0/16"},
		{"net.allow = [\"@remotes\"]", "net.allow", "@remotes", "@registries"},
		{"net.allow = [\"a.example\"]", "net.mode", "filtered", "restricted"},
		{"env.pass = [\"A\"]", "env.pass", "A", "B"},
		{"env.allow_dangerous = []", "env.pass", "A", NULL},
		{"env.allow_dangerous = [\"PYTHONPATH\"]", "env.allow_dangerous", "PYTHONPATH",
		 "LD_PRELOAD"},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		WORLD(w);
		write_file(w.admin, arena_printf(&w.a, "[floor]\n%s\n", rows[i].floor));
		CHECK_OK(&w, try(&w, rows[i].key, rows[i].fine));
		if (rows[i].beyond != NULL) {
			CHECK_FAILS(&w, try(&w, rows[i].key, rows[i].beyond), ERR_REFUSED,
				    rows[i].key, "--try", "floor", "system.toml:2");
		}
	}
}

TEST(a_floor_without_network_closes_ports_and_sockets_of_the_host) {
	WORLD(w);
	write_file(w.admin, "[floor]\nnet.mode = \"none\"\n");
	CHECK_FAILS(&w, try(&w, "net.host_ports", "5432"), ERR_REFUSED, "5432", "floor");
	CHECK_FAILS(&w, try(&w, "net.sockets", "/run/x"), ERR_REFUSED, "/run/x", "floor");
	write_file(w.admin, "[floor]\nnet.mode = \"none\"\nnet.host_ports = [5432]\n"
			    "net.sockets = [\"/run/x\"]\n");
	CHECK_OK(&w, try(&w, "net.host_ports", "5432"));
	CHECK_OK(&w, try(&w, "net.sockets", "/run/x"));
}

TEST(a_floor_that_equals_a_built_in_value_is_the_floors) {
	WORLD(w);
	write_file(w.admin, "[floor]\nmin_level = \"standard\"\n");
	CHECK_OK(&w, resolve(&w));
	CHECK_INT(w.p.values[KEY_MIN_LEVEL].origin.kind, ORIGIN_FLOOR);
	REQUIRE(policy_floor(&w.p, KEY_MIN_LEVEL) != NULL);
	CHECK_INT(policy_floor(&w.p, KEY_MIN_LEVEL)->num, LEVEL_STANDARD);
	CHECK(policy_floor(&w.p, KEY_MODE) == NULL);
}

TEST(no_grant_lies_in_what_the_floor_denies) {
	WORLD(w);
	char *dir = arena_printf(&w.a, "%s/closed", w.dir),
	     *link = arena_printf(&w.a, "%s/l", w.dir);
	make_dir(dir);
	make_dir(arena_printf(&w.a, "%s/in", dir));
	REQUIRE(symlink(dir, link) == 0);
	write_file(w.admin, arena_printf(&w.a, "[floor]\nfs.deny = [\"%s\"]\n", dir));
	static const char *const granting[] = {"fs.read", "fs.write", "fs.agent", "net.sockets"};
	for (size_t i = 0; i < ARRAY_LEN(granting); i++) {
		CHECK_FAILS(&w, try(&w, granting[i], arena_printf(&w.a, "%s/in", dir)), ERR_REFUSED,
			    granting[i], "floor");
		CHECK_FAILS(&w, try(&w, granting[i], arena_printf(&w.a, "%s/in", link)),
			    ERR_REFUSED, granting[i], "floor");
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
	CHECK_FAILS(&w, try(&w, "fs.read", "/srv/secret?"), ERR_REFUSED, "--try", "floor");
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
	static const char *const without[] = {"profile = \"strict\"",  "level = \"full\"",
					      "env.set = {A = \"b\"}", "env.path = \"/bin\"",
					      "workspace = \"/srv\"",  "chdir = \"/srv\"",
					      "fs.agent = \"/srv\"",   "fs.workspace_at = \"/w\""};
	for (size_t i = 0; i < ARRAY_LEN(without); i++) {
		write_file(w.admin, arena_printf(&w.a, "[floor]\n%s\n", without[i]));
		CHECK_FAILS(&w, resolve(&w), ERR_USAGE, "cannot have a floor");
	}
}

TESTS_MAIN
