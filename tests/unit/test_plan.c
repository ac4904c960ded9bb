/* Plans for hosts that this machine is not: a table of paths is the file system. */
#include "plan_world.h"

/* ---- tables ---- */

TEST(path_tables_are_sorted_unique_and_give_reasons) {
	for (size_t t = 0; t < path_tables_count; t++) {
		const struct path_table *table = path_tables[t];
		for (size_t i = 0; i < table->count; i++) {
			CHECK(table->rows[i].reason != NULL && table->rows[i].reason[0] != '\0');
			CHECK(i == 0 || strcmp(table->rows[i - 1].path, table->rows[i].path) < 0);
			CHECK(path_table_find(table, table->rows[i].path) == &table->rows[i]);
		}
	}
	for (size_t i = 1; i < toolchains_count; i++) {
		CHECK(toolchains[i].reason != NULL);
		CHECK(toolchains[i].home == NULL ||
		      strcmp(toolchains[i - 1].home, toolchains[i].home) < 0);
		CHECK(toolchains[i].home != NULL || toolchains[i].variable != NULL);
	}
	CHECK(path_table_find(&devices, "/dev/sda") == NULL);
}

/* ---- engine, level, promises ---- */

TEST(landlock_decides_the_level_and_the_promises) {
	for (int abi = 0; abi <= 12; abi++) {
		struct world w;
		world_init(&w);
		w.h.landlock_abi = abi;
		CHECK_INT(build(&w), 0);
		CHECK_INT(w.plan.level, abi >= 4 ? LEVEL_FULL : LEVEL_STANDARD);
		CHECK_INT(w.plan.landlock_abi, abi < 10 ? abi : 10);
		const struct promise *p = w.plan.promises;
		CHECK_INT(p[GUARANTEE_FS_WRITE].state, STATE_ENFORCED);
		CHECK_STR(p[GUARANTEE_FS_WRITE].by[0], "mount");
		CHECK((p[GUARANTEE_FS_WRITE].by[1] != NULL) == (abi > 0));
		/* Sockets that lie in the workspace can be reached, and the report says so. */
		CHECK_INT(p[GUARANTEE_IPC].state, STATE_WEAKER);
		for (size_t i = 0; i < GUARANTEE_COUNT; i++) {
			CHECK((p[i].state == STATE_ENFORCED) == (p[i].why == NULL));
		}

		set_num(&w, KEY_NET_MODE, NET_FULL);
		CHECK_INT(build(&w), 0);
		CHECK((strstr(w.plan.promises[GUARANTEE_IPC].why, "abstract") == NULL) ==
		      (abi >= 6));
		CHECK_INT(w.plan.promises[GUARANTEE_NET].state, STATE_ABSENT);
		CHECK(!w.plan.own_net);

		set_num(&w, KEY_LEVEL, LEVEL_FULL);
		CHECK_INT(build(&w), abi >= 4 ? 0 : -1);
		CHECK(abi >= 4 || w.e.kind == ERR_SETUP);
		set_num(&w, KEY_LEVEL, LEVEL_AUTO);
		set_num(&w, KEY_MIN_LEVEL, LEVEL_FULL);
		CHECK_INT(build(&w), abi >= 4 ? 0 : -1);
		CHECK(abi >= 4 || (w.e.kind == ERR_SETUP && w.e.fix[0] != '\0'));
		world_done(&w);
	}
}

TEST(a_required_guarantee_that_is_not_enforced_refuses) {
	struct world w;
	world_init(&w);
	add_item(&w, KEY_REQUIRE, "pid");
	add_item(&w, KEY_REQUIRE, "fs.deny");
	CHECK_INT(build(&w), 0);
	set_num(&w, KEY_LIMITS_MEMORY, 1 << 20);
	add_item(&w, KEY_REQUIRE, "limits.memory");
	CHECK_INT(build(&w), -1);
	CHECK_INT(w.e.kind, ERR_SETUP);
	CHECK(strstr(w.e.what, "limits.memory") != NULL && strstr(w.e.what, "absent") != NULL);
	CHECK(strstr(w.e.what, "no control group here") != NULL);
	world_done(&w);
}

TEST(values_of_later_versions_are_errors) {
	struct world w;
	world_init(&w);
	set_num(&w, KEY_MODE, MODE_FULL_ACCESS);
	CHECK_INT(build(&w), -1);
	world_done(&w);
}

/* ---- views ---- */

TEST(the_system_view_shows_the_system_and_nothing_of_the_home) {
	struct world w;
	world_init(&w);
	REQUIRE(build(&w) == 0);
	check_shape(&w);
	CHECK(kind_is(&w, "/usr", MOUNT_BIND) && !mount_at(&w, "/usr")->writable);
	CHECK_INT(mount_at(&w, "/usr")->reach, REACH_EXEC);
	CHECK_INT(mount_at(&w, "/etc")->reach, REACH_READ);
	CHECK(kind_is(&w, "/bin", MOUNT_LINK));
	CHECK_STR(mount_at(&w, "/bin")->text, "usr/bin");
	CHECK(kind_is(&w, "/home/ann/work/app", MOUNT_BIND) &&
	      mount_at(&w, "/home/ann/work/app")->writable);
	CHECK(mount_at(&w, "/home/ann/work/app")->create);
	CHECK(kind_is(&w, "/run", MOUNT_PRIVATE) && kind_is(&w, "/tmp", MOUNT_PRIVATE));
	CHECK(kind_is(&w, "/run/user/1000", MOUNT_DIR) && kind_is(&w, "/var/run", MOUNT_LINK));
	CHECK(kind_is(&w, "/run/systemd/resolve/stub-resolv.conf", MOUNT_BIND));
	CHECK(mount_at(&w, "/run/systemd/resolve/stub-resolv.conf")->is_file);
	CHECK(kind_is(&w, "/sys/devices/system", MOUNT_BIND));
	CHECK(seen_at(&w, "/home/bob/secret") == NULL && seen_at(&w, "/sys/kernel") == NULL);
	CHECK_STR(seen_at(&w, "/home/ann/.ssh/id")->target, "/home/ann");
	CHECK(seen_at(&w, "/run/docker.sock")->kind == MOUNT_PRIVATE);
	/* An unprivileged caller cannot read it anyway: no mount is spent on it. */
	CHECK(mount_at(&w, "/etc/shadow") == NULL);
	world_done(&w);
}

TEST(devices_and_proc_are_our_own) {
	struct world w;
	world_init(&w);
	REQUIRE(build(&w) == 0);
	CHECK(kind_is(&w, "/dev/null", MOUNT_DEVICE) && kind_is(&w, "/dev/pts", MOUNT_PTS));
	/* This host has none, which is found out when it is mounted. */
	CHECK(kind_is(&w, "/dev/zero", MOUNT_DEVICE) && mount_at(&w, "/dev/zero")->maybe);
	CHECK_STR(mount_at(&w, "/dev/fd")->text, "/proc/self/fd");
	CHECK(kind_is(&w, "/dev/shm", MOUNT_PRIVATE) && kind_is(&w, "/proc", MOUNT_PROC));
	CHECK(kind_is(&w, "/proc/sys", MOUNT_PIN) && !mount_at(&w, "/proc/sys")->writable);
	CHECK(mount_at(&w, "/proc/irq") == NULL && mount_at(&w, "/proc/kcore") == NULL);
	CHECK(kind_is(&w, "/proc/keys", MOUNT_MASK_FILE) && !mount_at(&w, "/proc/keys")->create);
	CHECK_INT(mount_at(&w, "/proc")->reach, REACH_WRITE);
	world_done(&w);
}

TEST(root_gets_more_masks) {
	struct world w;
	world_init(&w);
	w.h.uid = w.h.gid = 0;
	w.h.privileged = true;
	for (size_t i = 0; i < w.fs.n; i++) {
		w.fs.nodes[i].closed = streq(w.fs.nodes[i].path, "/proc/kcore");
	}
	node(&w, "/etc/odd.secret", 'f', NULL);
	w.fs.nodes[w.fs.n - 1].mode = 0600;
	REQUIRE(build(&w) == 0);
	check_shape(&w);
	CHECK(kind_is(&w, "/etc/shadow", MOUNT_MASK_FILE) &&
	      masked(&w, "/etc/ssh/ssh_host_rsa_key"));
	CHECK(kind_is(&w, "/etc/odd.secret", MOUNT_MASK_FILE));
	CHECK(!masked(&w, "/etc/passwd"));
	CHECK(kind_is(&w, "/proc/kcore", MOUNT_MASK_FILE) && kind_is(&w, "/proc/irq", MOUNT_PIN));
	CHECK_INT(mount_at(&w, "/proc")->reach, REACH_READ);
	world_done(&w);
}

TEST(a_host_without_merged_usr_gets_binds) {
	struct world w;
	world_init(&w);
	w.fs.n -= 2; /* the two links */
	node(&w, "/bin/sh", 'f', NULL);
	node(&w, "/lib64/ld.so", 'f', NULL);
	node(&w, "/opt", 'l', "/data/opt");
	node(&w, "/data/opt/tool", 'f', NULL);
	REQUIRE(build(&w) == 0);
	CHECK(kind_is(&w, "/bin", MOUNT_BIND) && kind_is(&w, "/lib64", MOUNT_BIND));
	CHECK(kind_is(&w, "/opt", MOUNT_LINK) && kind_is(&w, "/data/opt", MOUNT_BIND));
	CHECK(mount_at(&w, "/sbin") == NULL);
	world_done(&w);
}

TEST(the_minimal_view_is_made_up) {
	struct world w;
	world_init(&w);
	node(&w, "/etc/ld.so.cache", 'f', NULL);
	node(&w, "/etc/localtime", 'l', "/usr/share/zoneinfo/UTC");
	set_num(&w, KEY_FS_VIEW, VIEW_MINIMAL);
	set_num(&w, KEY_FS_HOME, HOME_EPHEMERAL);
	set_num(&w, KEY_FS_TOOLCHAINS, 0);
	set_str(&w, KEY_FS_WORKSPACE_AT, "/workspace");
	add_item(&w, KEY_FS_DENY, "/home/ann/work/app/src");
	REQUIRE(build(&w) == 0);
	check_shape(&w);
	CHECK(kind_is(&w, "/etc", MOUNT_DIR) && kind_is(&w, "/etc/passwd", MOUNT_FILE));
	CHECK(strstr(mount_at(&w, "/etc/passwd")->text,
		     "ann:x:1000:1000::/home/corral:/bin/sh\n") != NULL);
	CHECK(kind_is(&w, "/etc/ld.so.cache", MOUNT_BIND) &&
	      kind_is(&w, "/etc/localtime", MOUNT_LINK));
	CHECK_STR(mount_at(&w, "/workspace")->source, "/home/ann/work/app");
	CHECK(kind_is(&w, "/workspace/src", MOUNT_MASK_DIR));
	CHECK(kind_is(&w, "/home/corral", MOUNT_PRIVATE));
	CHECK(seen_at(&w, "/home/ann") == NULL &&
	      mount_at(&w, "/run/systemd/resolve/stub-resolv.conf") == NULL);
	CHECK_STR(env_of(&w, "HOME"), "/home/corral");
	CHECK_STR(w.plan.cwd, "/workspace/src");
	CHECK_STR(env_of(&w, "CORRAL_WORKSPACE"), "/workspace");
	world_done(&w);
}

TEST(the_host_view_hides_credentials_state_and_other_homes) {
	struct world w;
	world_init(&w);
	node(&w, "/srv/data", 'f', NULL);
	node(&w, "/root/x", 'f', NULL);
	set_num(&w, KEY_FS_VIEW, VIEW_HOST);
	REQUIRE(build(&w) == 0);
	check_shape(&w);
	CHECK(kind_is(&w, "/srv", MOUNT_BIND) && !mount_at(&w, "/srv")->writable);
	CHECK(kind_is(&w, "/home", MOUNT_BIND) && !mount_at(&w, "/home")->writable);
	CHECK(masked(&w, "/home/bob/secret") && masked(&w, "/var/log/messages"));
	CHECK(seen_at(&w, "/root/x") == NULL);
	CHECK(masked(&w, "/home/ann/.ssh/id") && masked(&w, "/home/ann/.netrc"));
	CHECK(masked(&w, "/home/ann/.local/state/corral") &&
	      masked(&w, "/home/ann/.config/corral"));
	CHECK(kind_is(&w, "/var/tmp", MOUNT_PRIVATE) && !mount_at(&w, "/var/tmp")->create);
	CHECK(mount_at(&w, "/var/run") == NULL); /* nothing is made in the host's /var */
	CHECK(seen_at(&w, "/run/docker.sock")->kind == MOUNT_PRIVATE);
	CHECK(mount_at(&w, "/home/ann") == NULL && w.plan.home_source == NULL);
	CHECK(mount_at(&w, "/home/ann/work/app")->writable &&
	      !mount_at(&w, "/home/ann/work/app")->create);
	world_done(&w);
}

/* ---- workspace and home ---- */

TEST(the_home_is_kept_per_workspace_or_says_why_not) {
	struct world w;
	world_init(&w);
	REQUIRE(build(&w) == 0);
	const char *first = w.plan.home_source;
	REQUIRE(first != NULL);
	CHECK(str_starts(first, "/home/ann/.local/state/corral/homes/"));
	CHECK(strlen(strrchr(first, '/') + 1) == 16 + 1 + 3 && strstr(first, "-app") != NULL);
	CHECK_STR(mount_at(&w, "/home/ann")->source, first);
	CHECK(mount_at(&w, "/home/ann")->writable && mount_at(&w, "/home/ann")->create);
	REQUIRE(build(&w) == 0);
	CHECK_STR(w.plan.home_source, first);
	set_str(&w, KEY_WORKSPACE, "/home/ann/work");
	REQUIRE(build(&w) == 0);
	CHECK(!streq(w.plan.home_source, first));

	w.h.state_dir = NULL;
	REQUIRE(build(&w) == 0);
	CHECK(w.plan.home_source == NULL && kind_is(&w, "/home/ann", MOUNT_PRIVATE));
	CHECK_INT(mount_at(&w, "/home/ann")->mode, 0700);
	CHECK(has_note(&w, "no state directory"));
	w.h.home = NULL;
	REQUIRE(build(&w) == 0);
	CHECK(kind_is(&w, "/home/corral", MOUNT_PRIVATE));
	world_done(&w);
}

TEST(read_only_mode_writes_nothing_of_the_host) {
	struct world w;
	world_init(&w);
	set_num(&w, KEY_MODE, MODE_READ_ONLY);
	REQUIRE(build(&w) == 0);
	for (size_t i = 0; i < w.plan.nmounts; i++) {
		CHECK(w.plan.mounts[i].kind != MOUNT_BIND || !w.plan.mounts[i].writable);
	}
	CHECK(kind_is(&w, "/home/ann", MOUNT_PRIVATE));
	CHECK_INT(mount_at(&w, "/home/ann/work/app")->reach, REACH_EXEC);
	world_done(&w);
}

TEST(a_workspace_under_tmp_is_made_on_our_own_ground) {
	struct world w;
	world_init(&w);
	node(&w, "/tmp/job/ws", 'd', NULL);
	set_str(&w, KEY_WORKSPACE, "/tmp/job/ws");
	REQUIRE(build(&w) == 0);
	check_shape(&w);
	CHECK(mount_at(&w, "/tmp/job/ws")->create);
	CHECK_STR(w.plan.cwd, "/tmp/job/ws"); /* the caller's directory lies elsewhere */
	CHECK(seen_at(&w, "/tmp/x")->kind == MOUNT_PRIVATE);
	node(&w, "/dev/shm/ws", 'd', NULL);
	set_str(&w, KEY_WORKSPACE, "/dev/shm/ws");
	CHECK_INT(build(&w), 0);
	world_done(&w);
}

TEST(a_workspace_that_is_the_home_hides_credentials_in_it) {
	struct world w;
	world_init(&w);
	node(&w, "/home/ann/.aws", 'l', "dotfiles/aws");
	node(&w, "/home/ann/dotfiles/aws/key", 'f', NULL);
	node(&w, "/home/ann/.cargo/bin/x", 'f', NULL);
	set_str(&w, KEY_WORKSPACE, "/home/ann");
	REQUIRE(build(&w) == 0);
	check_shape(&w);
	CHECK(w.plan.home_source == NULL && mount_at(&w, "/home/ann")->kind == MOUNT_BIND);
	CHECK(masked(&w, "/home/ann/.ssh/id") && masked(&w, "/home/ann/.netrc"));
	CHECK(kind_is(&w, "/home/ann/dotfiles/aws", MOUNT_MASK_DIR)); /* through the link */
	CHECK(kind_is(&w, "/home/ann/dotfiles", MOUNT_PIN) &&
	      mount_at(&w, "/home/ann/dotfiles")->writable);
	CHECK(masked(&w, "/home/ann/.local/state/corral/trust"));
	CHECK(mount_at(&w, "/home/ann/.cargo/bin") == NULL);
	/* An explicit grant re-opens what only our table hides. */
	add_item(&w, KEY_FS_READ, "/home/ann/.ssh");
	REQUIRE(build(&w) == 0);
	CHECK(kind_is(&w, "/home/ann/.ssh", MOUNT_BIND) &&
	      !mount_at(&w, "/home/ann/.ssh")->writable);
	world_done(&w);
}

TEST(a_command_cannot_create_corrals_own_directories) {
	struct world w;
	world_init(&w);
	w.h.state_dir = "/home/ann/.local/state/elsewhere";
	set_str(&w, KEY_WORKSPACE, "/home/ann");
	CHECK_INT(build(&w), -1);
	CHECK_INT(w.e.kind, ERR_REFUSED);
	CHECK(strstr(w.e.fix, "mkdir -p /home/ann/.local/state/elsewhere") != NULL);
	set_str(&w, KEY_WORKSPACE, "/home/ann/.config/corral");
	CHECK_INT(build(&w), -1);
	CHECK_INT(w.e.kind, ERR_USAGE);
	world_done(&w);
}

TEST(the_project_file_is_protected) {
	struct world w;
	world_init(&w);
	node(&w, "/home/ann/work/app/.corral.toml", 'f', NULL);
	REQUIRE(build(&w) == 0);
	CHECK(kind_is(&w, "/home/ann/work/app/.corral.toml", MOUNT_BIND));
	CHECK(!mount_at(&w, "/home/ann/work/app/.corral.toml")->writable);
	world_done(&w);
}

/* ---- grants ---- */

TEST(a_read_only_island_in_the_workspace_pins_its_parents) {
	struct world w;
	world_init(&w);
	node(&w, "/home/ann/work/app/a/b/c/x", 'f', NULL);
	add_item(&w, KEY_FS_READ, "/home/ann/work/app/a/b/c");
	add_item(&w, KEY_FS_WRITE, "/home/ann/work/app/src"); /* says nothing new */
	REQUIRE(build(&w) == 0);
	check_shape(&w);
	CHECK(!mount_at(&w, "/home/ann/work/app/a/b/c")->writable);
	CHECK(kind_is(&w, "/home/ann/work/app/a", MOUNT_PIN) &&
	      kind_is(&w, "/home/ann/work/app/a/b", MOUNT_PIN));
	CHECK(mount_at(&w, "/home/ann/work/app/src") == NULL);
	world_done(&w);
}

TEST(a_grant_through_a_symlink_works_by_both_names) {
	struct world w;
	world_init(&w);
	node(&w, "/home/ann/data", 'l', "/mnt/big/data");
	node(&w, "/mnt/big/data/set", 'f', NULL);
	node(&w, "/home/ann/work/app/link", 'l', "src");
	add_item(&w, KEY_FS_READ, "/home/ann/data");
	add_item(&w, KEY_FS_WRITE, "/home/ann/work/app/link");
	add_item(&w, KEY_FS_READ, "/bin/sh");
	REQUIRE(build(&w) == 0);
	check_shape(&w);
	CHECK_STR(mount_at(&w, "/home/ann/data")->source, "/mnt/big/data");
	CHECK_STR(mount_at(&w, "/mnt/big/data")->source, "/mnt/big/data");
	/* The workspace shows the host's own link; nothing is mounted over it. */
	CHECK(mount_at(&w, "/home/ann/work/app/link") == NULL);
	CHECK(kind_is(&w, "/bin", MOUNT_LINK));
	world_done(&w);
}

/* A right on a directory of our root is for the new file alone. */
TEST(a_single_file_is_followed_where_that_opens_nothing_else) {
	struct world w;
	world_init(&w);
	node(&w, "/srv/one/file", 'f', NULL);
	node(&w, "/srv/two/file", 'f', NULL);
	node(&w, "/srv/two/tool", 'f', NULL);
	node(&w, "/home/ann/.rc", 'f', NULL);
	node(&w, "/top", 'f', NULL);
	add_item(&w, KEY_FS_READ, "/srv/one/file");
	add_item(&w, KEY_FS_WRITE, "/srv/two/file");
	add_item(&w, KEY_FS_READ, "/srv/two/tool");
	add_item(&w, KEY_FS_READ, "/home/ann/.rc");
	add_item(&w, KEY_FS_READ, "/home/ann/work/app/src/main.c");
	add_item(&w, KEY_FS_READ, "/top");
	REQUIRE(build(&w) == 0);
	CHECK(mount_at(&w, "/srv/one/file")->follow && mount_at(&w, "/srv/one/file")->door);
	CHECK(mount_at(&w, "/home/ann/.rc")->follow && !mount_at(&w, "/home/ann/.rc")->door);
	CHECK(mount_at(&w, "/home/ann/work/app/src/main.c")->follow);
	/* The right to write would be the neighbour's too; the one to read it has. */
	CHECK(mount_at(&w, "/srv/two/file")->follow == NULL &&
	      !mount_at(&w, "/srv/two/file")->door);
	CHECK(mount_at(&w, "/srv/two/tool")->follow);
	/* The root holds everything. */
	CHECK(mount_at(&w, "/top")->follow == NULL && has_note(&w, "/top is shown as the file"));
	/* What the plan shows by itself is the same case. */
	CHECK(mount_at(&w, "/run/systemd/resolve/stub-resolv.conf")->follow);
	CHECK(mount_at(&w, "/usr")->follow == NULL);

	w.h.landlock_abi = 0;
	REQUIRE(build(&w) == 0);
	CHECK(mount_at(&w, "/top")->follow && !mount_at(&w, "/top")->door);
	world_done(&w);
}

TEST(a_mask_is_followed_by_the_hosts_path) {
	struct world w;
	world_init(&w);
	node(&w, "/home/ann/work/app/secret", 'f', NULL);
	add_item(&w, KEY_FS_DENY, "/home/ann/work/app/secret");
	set_str(&w, KEY_FS_WORKSPACE_AT, "/workspace");
	REQUIRE(build(&w) == 0);
	const struct mount *m = mount_at(&w, "/workspace/secret");
	REQUIRE(m != NULL);
	CHECK_INT(m->kind, MOUNT_MASK_FILE);
	CHECK_STR(m->follow, "/home/ann/work/app/secret");
	CHECK(m->ino != 0);
	/* Those of the fresh procfs are nobody else's to take away. */
	CHECK(mount_at(&w, "/proc/keys") != NULL && mount_at(&w, "/proc/keys")->follow == NULL);
	world_done(&w);
}

TEST(a_single_file_is_not_followed_without_namespaces_and_that_is_said) {
	struct world w;
	world_init(&w);
	w.h.userns = false;
	w.h.userns_why = "they are off";
	w.h.notify = true;
	w.h.run_dir = "/tmp/corral-run";
	node(&w, "/srv/one/file", 'f', NULL);
	add_item(&w, KEY_FS_READ, "/srv/one/file");
	set_num(&w, KEY_LEVEL, LEVEL_STANDARD);
	REQUIRE(build(&w) == 0);
	CHECK(mount_at(&w, "/srv/one/file")->follow == NULL);
	CHECK(has_note(&w, "/srv/one/file is shown as the file"));
	world_done(&w);
}

/* An earlier command may have made the link (SU29). */
TEST(a_link_in_a_writable_tree_does_not_redirect_a_grant) {
	static const struct {
		enum key_id key;
		const char *path;
	} rows[] = {
		{KEY_FS_READ, "/home/ann/work/app/link"},
		{KEY_FS_WRITE, "/home/ann/work/app/link/set"},
		{KEY_FS_AGENT, "/home/ann/work/app/link"},
		{KEY_FS_READ, "/srv/out/link"},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world w;
		world_init(&w);
		node(&w, "/mnt/big/data/set", 'd', NULL);
		node(&w, "/home/ann/work/app/link", 'l', "/mnt/big/data");
		node(&w, "/srv/out/link", 'l', "/mnt/big/data");
		add_item(&w, KEY_FS_WRITE, "/srv/out");
		if (rows[i].key == KEY_FS_AGENT) {
			set_str(&w, KEY_FS_AGENT, rows[i].path);
		} else {
			add_item(&w, rows[i].key, rows[i].path);
		}
		CHECK_INT(build(&w), -1);
		CHECK(strstr(w.e.what, "a link in a tree that commands can write") != NULL);
		world_done(&w);
	}
}

TEST(wrong_grants_are_errors_that_name_path_and_reason) {
	static const struct {
		const char *path, *reason;
	} rows[] = {
		{"/", "whole file system"},
		{"/proc", "its own"},
		{"/proc/sys", "its own"},
		{"/dev", "its own devices"},
		{"/dev/null", "its own devices"},
		{"/sys", "controls the kernel"},
		{"/run", "sockets"},
		{"/run/docker.sock", "socket"},
		{"/home/ann/.config/corral", "Corral itself"},
		{"/nothing", "does not exist"},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world w;
		world_init(&w);
		add_item(&w, i % 2 == 0 ? KEY_FS_READ : KEY_FS_WRITE, rows[i].path);
		CHECK_INT(build(&w), -1);
		CHECK_INT(w.e.kind, ERR_USAGE);
		CHECK(strstr(w.e.what, rows[i].path) != NULL &&
		      strstr(w.e.what, rows[i].reason) != NULL);
		CHECK(strstr(w.e.what, "--rule") != NULL);
		world_done(&w);
	}
}

TEST(optional_paths_that_are_missing_are_noted) {
	struct world w;
	world_init(&w);
	add_item(&w, KEY_FS_READ, "/nothing/a")->optional = true;
	REQUIRE(build(&w) == 0);
	CHECK(has_note(&w, "skipped, does not exist: /nothing/a (--rule)"));
	world_done(&w);
}

TEST(a_rule_for_a_missing_path_holds_when_it_appears) {
	struct world w;
	world_init(&w);
	add_item(&w, KEY_FS_DENY, "/home/ann/work/app/later");
	add_item(&w, KEY_FS_PROTECT, "/home/ann/work/app/src/new/file")->optional = true;
	REQUIRE(build(&w) == 0);
	CHECK(has_note(&w, "does not exist yet: fs.deny /home/ann/work/app/later (--rule)"));
	CHECK_INT(plan_sight(&w.plan, "/home/ann/work/app/later"), SIGHT_DENIED);
	CHECK_INT(plan_sight(&w.plan, "/home/ann/work/app/later/x"), SIGHT_DENIED);
	CHECK_INT(plan_sight(&w.plan, "/home/ann/work/app/later2"), SIGHT_WRITE);
	CHECK_INT(plan_sight(&w.plan, "/home/ann/work/app/src/new/file"), SIGHT_READ);
	CHECK_INT(plan_sight(&w.plan, "/home/ann/work/app/src/new"), SIGHT_WRITE);
	CHECK(w.plan.broker);
	world_done(&w);
}

TEST(a_rule_for_a_link_that_leads_nowhere_holds_where_it_ends) {
	static const struct {
		const char *rule;
		bool ends; /* at app/src/none */
	} rows[] = {{"/home/ann/work/app/one", true},
		    {"/home/ann/work/app/two", true},
		    {"/home/ann/work/app/dots", true},
		    {"/home/ann/work/app/far", true},
		    {"/home/ann/work/app/ring", false}};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world w;
		world_init(&w);
		node(&w, "/home/ann/work/app/src/x", 'f', NULL);
		node(&w, "/home/ann/work/app/one", 'l', "src/none");
		node(&w, "/home/ann/work/app/two", 'l', "one");
		node(&w, "/home/ann/work/app/dots", 'l', "src/../src//none/");
		node(&w, "/home/ann/work/app/far", 'l', "/home/ann/work/app/src/none");
		node(&w, "/home/ann/work/app/ring", 'l', "ring");
		add_item(&w, i % 2 == 0 ? KEY_FS_DENY : KEY_FS_PROTECT, rows[i].rule);
		REQUIRE(build(&w) == 0);
		enum sight kept = i % 2 == 0 ? SIGHT_DENIED : SIGHT_READ;
		CHECK_INT(plan_sight(&w.plan, rows[i].rule), kept);
		CHECK_INT(plan_sight(&w.plan, "/home/ann/work/app/src/none"),
			  rows[i].ends ? kept : SIGHT_WRITE);
		CHECK_INT(plan_sight(&w.plan, "/home/ann/work/app/src/other"), SIGHT_WRITE);
		world_done(&w);
	}
}

TEST(what_no_run_can_do_without_cannot_be_hidden) {
	static const struct {
		enum key_id key;
		const char *path, *reason;
	} rows[] = {
		{KEY_FS_DENY, "/proc", "no run can do without it"},
		{KEY_FS_PROTECT, "/proc", "no run can do without it"},
		{KEY_FS_DENY, "/home/ann/work/app/link", "no run can do without it"},
		{KEY_FS_DENY, "/proc/17", "a process of the host"},
		{KEY_FS_PROTECT, "/proc/17/fd", "a process of the host"},
		{KEY_FS_DENY, "/dev", "no run can do without it"},
		{KEY_FS_DENY, "/dev/null", "no run can do without it"},
		{KEY_FS_DENY, "/dev/tty", NULL},
		{KEY_FS_DENY, "/proc/keys", NULL},
		{KEY_FS_PROTECT, "/dev/null", NULL},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world w;
		world_init(&w);
		node(&w, "/proc/17/fd", 'd', NULL);
		node(&w, "/home/ann/work/app/link", 'l', "/proc");
		add_item(&w, rows[i].key, rows[i].path);
		CHECK_INT(build(&w), rows[i].reason == NULL ? 0 : -1);
		CHECK(rows[i].reason == NULL ||
		      (strstr(w.e.what, rows[i].reason) != NULL && w.e.kind == ERR_USAGE));
		world_done(&w);
	}
}

TEST(the_agent_directory_is_read_only_at_agent) {
	struct world w;
	world_init(&w);
	node(&w, "/srv/agent/tools", 'd', NULL);
	set_str(&w, KEY_FS_AGENT, "/srv/agent");
	REQUIRE(build(&w) == 0);
	CHECK_STR(mount_at(&w, "/agent")->source, "/srv/agent");
	CHECK(!mount_at(&w, "/agent")->writable && mount_at(&w, "/agent")->create);
	world_done(&w);
}

/* ---- deny and protect ---- */

TEST(a_deny_hides_wherever_the_file_is_shown) {
	struct world w;
	world_init(&w);
	node(&w, "/home/ann/work/app/.env", 'f', NULL);
	node(&w, "/home/ann/work/app/deep/er/key", 'f', NULL);
	node(&w, "/mnt/set/raw/x", 'f', NULL);
	node(&w, "/home/ann/set", 'l', "/mnt/set");
	add_item(&w, KEY_FS_READ, "/home/ann/set");
	add_item(&w, KEY_FS_DENY, "/home/ann/work/app/.env");
	add_item(&w, KEY_FS_DENY, "/home/ann/work/app/deep/er/key");
	add_item(&w, KEY_FS_DENY, "/home/ann/set/raw");
	add_item(&w, KEY_FS_DENY, "/usr/lib");
	add_item(&w, KEY_FS_DENY, "/home/bob");
	REQUIRE(build(&w) == 0);
	check_shape(&w);
	CHECK(kind_is(&w, "/home/ann/work/app/.env", MOUNT_MASK_FILE));
	CHECK(kind_is(&w, "/home/ann/work/app/deep", MOUNT_PIN) &&
	      kind_is(&w, "/home/ann/work/app/deep/er", MOUNT_PIN));
	CHECK(masked(&w, "/mnt/set/raw/x") && masked(&w, "/home/ann/set/raw/x"));
	CHECK(kind_is(&w, "/usr/lib", MOUNT_MASK_DIR));
	CHECK(has_note(&w, "already outside the view: /home/bob"));
	world_done(&w);
}

TEST(a_deny_beneath_a_private_window_has_nothing_to_hide) {
	struct world w;
	world_init(&w);
	set_num(&w, KEY_FS_VIEW, VIEW_HOST);
	add_item(&w, KEY_FS_DENY, "/var/tmp/x");
	REQUIRE(build(&w) == 0);
	check_shape(&w);
	CHECK(mount_at(&w, "/var/tmp/x") == NULL);
	CHECK(has_note(&w, "already outside the view: /var/tmp/x"));
	world_done(&w);
}

TEST(a_more_specific_grant_reopens_a_deny) {
	struct world w;
	world_init(&w);
	node(&w, "/home/ann/work/app/a/b/c/d", 'f', NULL);
	add_item(&w, KEY_FS_DENY, "/home/ann/work/app/a");
	add_item(&w, KEY_FS_READ, "/home/ann/work/app/a/b");
	add_item(&w, KEY_FS_DENY, "/home/ann/work/app/a/b/c");
	REQUIRE(build(&w) == 0);
	check_shape(&w);
	CHECK(kind_is(&w, "/home/ann/work/app/a", MOUNT_MASK_DIR));
	CHECK(kind_is(&w, "/home/ann/work/app/a/b", MOUNT_BIND) &&
	      mount_at(&w, "/home/ann/work/app/a/b")->create);
	CHECK(kind_is(&w, "/home/ann/work/app/a/b/c", MOUNT_MASK_DIR));
	world_done(&w);
}

TEST(a_deny_of_the_workspace_is_a_contradiction) {
	static const char *const paths[] = {"/home/ann/work/app", "/home/ann/work", "/home"};
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		struct world w;
		world_init(&w);
		add_item(&w, KEY_FS_DENY, paths[i]);
		CHECK_INT(build(&w), -1);
		CHECK_INT(w.e.kind, ERR_USAGE);
		CHECK(strstr(w.e.what, "--rule") != NULL && strstr(w.e.what, "--test") != NULL);
		world_done(&w);
	}
}

TEST(a_deny_behind_a_closed_directory_hides_the_directory) {
	struct world w;
	world_init(&w);
	node(&w, "/home/ann/work/app/shut", 'd', NULL);
	w.fs.nodes[w.fs.n - 1].closed = true;
	add_item(&w, KEY_FS_DENY, "/home/ann/work/app/shut/secret")->optional = true;
	REQUIRE(build(&w) == 0);
	CHECK(kind_is(&w, "/home/ann/work/app/shut", MOUNT_MASK_DIR));
	world_done(&w);
}

TEST(a_deny_takes_toolchains_and_system_trees_with_it) {
	struct world w;
	world_init(&w);
	node(&w, "/home/ann/.cargo/bin/cargo", 'f', NULL);
	node(&w, "/sys/devices/system/node/x", 'f', NULL);
	add_item(&w, KEY_FS_DENY, "/home/ann/.cargo");
	add_item(&w, KEY_FS_DENY, "/sys/devices");
	REQUIRE(build(&w) == 0);
	CHECK(mount_at(&w, "/home/ann/.cargo/bin") == NULL);
	CHECK(seen_at(&w, "/sys/devices/system") == NULL);
	world_done(&w);
}

TEST(a_denied_file_with_another_name_is_refused_until_both_are_named) {
	struct world w;
	world_init(&w);
	node(&w, "/home/ann/work/app/key", 'f', "linked");
	node(&w, "/home/ann/work/app/other", 'f', "linked");
	add_item(&w, KEY_FS_DENY, "/home/ann/work/app/key");
	CHECK_INT(build(&w), -1);
	CHECK_INT(w.e.kind, ERR_REFUSED);
	CHECK(strstr(w.e.what, "2 names") != NULL);
	add_item(&w, KEY_FS_DENY, "/home/ann/work/app/other");
	CHECK_INT(build(&w), 0);
	world_done(&w);
}

TEST(a_limit_that_was_asked_for_and_does_not_hold_is_a_warning) {
	struct world w;
	world_init(&w);
	w.h.cgroup.why = "no groups here";
	REQUIRE(build(&w) == 0);
	CHECK_INT(w.plan.nwarnings, 0);
	set_num(&w, KEY_LIMITS_MEMORY, 1 << 20);
	REQUIRE(build(&w) == 0);
	REQUIRE(w.plan.nwarnings == 1);
	CHECK_STR(w.plan.warnings[0],
		  "limits.memory (--test) is not enforced here: no groups here");
	w.h.cgroup = (struct host_cgroup){.kind = CGROUP_V2, .memory = true};
	REQUIRE(build(&w) == 0);
	CHECK_INT(w.plan.nwarnings, 0);
	world_done(&w);
}

TEST(protect_is_read_only_even_over_a_more_specific_write) {
	struct world w;
	world_init(&w);
	node(&w, "/home/ann/work/app/.git/hooks/x", 'f', NULL);
	node(&w, "/home/ann/work/app/.git/objects/y", 'f', NULL);
	node(&w, "/home/ann/work/app/.envrc", 'l', "conf/envrc");
	node(&w, "/home/ann/work/app/conf/envrc", 'f', NULL);
	add_item(&w, KEY_FS_PROTECT, "/home/ann/work/app/.git");
	add_item(&w, KEY_FS_WRITE, "/home/ann/work/app/.git/objects");
	add_item(&w, KEY_FS_PROTECT, "/home/ann/work/app/.envrc");
	REQUIRE(build(&w) == 0);
	check_shape(&w);
	CHECK(!seen_at(&w, "/home/ann/work/app/.git/hooks/x")->writable);
	CHECK(!seen_at(&w, "/home/ann/work/app/.git/objects/y")->writable);
	CHECK(kind_is(&w, "/home/ann/work/app/conf/envrc", MOUNT_BIND));
	CHECK(kind_is(&w, "/home/ann/work/app/conf", MOUNT_PIN));
	CHECK(has_note(&w, "the link itself can be replaced"));
	world_done(&w);
}

/* ---- toolchains ---- */

TEST(toolchains_are_shown_without_their_credentials) {
	struct world w;
	world_init(&w);
	node(&w, "/home/ann/.cargo/bin/cargo", 'f', NULL);
	node(&w, "/home/ann/.cargo/credentials.toml", 'f', NULL);
	node(&w, "/home/ann/.nvm/versions/node", 'd', NULL);
	node(&w, "/home/ann/.nvm/.npmrc", 'f', NULL);
	node(&w, "/home/ann/.pyenv", 'l', "/data/pyenv");
	node(&w, "/data/pyenv/shims/python", 'f', NULL);
	variable(&w, "PATH=/home/ann/.cargo/bin:/usr/bin:/bin");
	REQUIRE(build(&w) == 0);
	check_shape(&w);
	CHECK(kind_is(&w, "/home/ann/.cargo/bin", MOUNT_BIND) &&
	      mount_at(&w, "/home/ann/.cargo/bin")->create);
	CHECK_INT(mount_at(&w, "/home/ann/.cargo/bin")->reach, REACH_EXEC);
	CHECK(mount_at(&w, "/home/ann/.cargo") == NULL);
	CHECK_STR(seen_at(&w, "/home/ann/.cargo/credentials.toml")->target, "/home/ann");
	CHECK(kind_is(&w, "/home/ann/.nvm", MOUNT_BIND) &&
	      kind_is(&w, "/home/ann/.nvm/.npmrc", MOUNT_MASK_FILE));
	CHECK(kind_is(&w, "/data/pyenv", MOUNT_BIND) &&
	      kind_is(&w, "/home/ann/.pyenv", MOUNT_BIND));
	set_num(&w, KEY_FS_TOOLCHAINS, 0);
	REQUIRE(build(&w) == 0);
	CHECK(mount_at(&w, "/home/ann/.nvm") == NULL);
	world_done(&w);
}

TEST(variables_move_toolchains_but_not_onto_secrets) {
	struct world w;
	world_init(&w);
	node(&w, "/data/rust/toolchains", 'd', NULL);
	node(&w, "/data/go/bin/go", 'f', NULL);
	node(&w, "/data/go/src/private", 'f', NULL);
	node(&w, "/usr/lib/jvm/java/bin/java", 'f', NULL);
	variable(&w, "RUSTUP_HOME=/data/rust");
	variable(&w, "GOPATH=/data/go");
	variable(&w, "JAVA_HOME=/usr/lib/jvm/java");
	variable(&w, "NVM_DIR=/home/ann/.ssh");
	variable(&w, "PYENV_ROOT=/home");
	variable(&w, "VOLTA_HOME=relative");
	REQUIRE(build(&w) == 0);
	CHECK(kind_is(&w, "/data/rust", MOUNT_BIND) && kind_is(&w, "/data/go/bin", MOUNT_BIND));
	CHECK(seen_at(&w, "/data/go/src/private") == NULL);
	CHECK(mount_at(&w, "/usr/lib/jvm/java") == NULL && mount_at(&w, "/home/ann/.ssh") == NULL);
	CHECK_STR(env_of(&w, "RUSTUP_HOME"), "/data/rust");
	CHECK_STR(env_of(&w, "JAVA_HOME"), "/usr/lib/jvm/java");
	CHECK(env_of(&w, "NVM_DIR") == NULL && env_of(&w, "PYENV_ROOT") == NULL &&
	      env_of(&w, "VOLTA_HOME") == NULL);
	world_done(&w);
}

TEST(directories_of_path_are_shown_with_what_they_need) {
	struct world w;
	world_init(&w);
	node(&w, "/home/ann/tool/bin/x", 'f', NULL);
	node(&w, "/home/ann/tool/lib/y", 'f', NULL);
	node(&w, "/home/ann/tool/token", 'f', NULL);
	node(&w, "/home/ann/bin/z", 'f', NULL);
	node(&w, "/home/ann/.local/bin/p", 'f', NULL);
	node(&w, "/home/ann/.ssh/bin/q", 'f', NULL);
	node(&w, "/home/ann/work/bin/r", 'f', NULL);
	node(&w, "/home/ann/scripts/s", 'f', NULL);
	variable(&w, "PATH=/home/ann/tool/bin:/home/ann/bin:/home/ann/.local/bin:/home/ann:/home/"
		     "ann/.ssh/bin:"
		     "/home/ann/work/bin:/home/ann/scripts:bin::/usr/bin");
	REQUIRE(build(&w) == 0);
	check_shape(&w);
	CHECK(kind_is(&w, "/home/ann/tool", MOUNT_BIND) &&
	      mount_at(&w, "/home/ann/tool/bin") == NULL);
	CHECK(kind_is(&w, "/home/ann/tool/token", MOUNT_MASK_FILE));
	CHECK(kind_is(&w, "/home/ann/bin", MOUNT_BIND) &&
	      kind_is(&w, "/home/ann/.local/bin", MOUNT_BIND));
	CHECK(kind_is(&w, "/home/ann/scripts", MOUNT_BIND));
	CHECK(mount_at(&w, "/home/ann/.ssh/bin") == NULL && mount_at(&w, "/home/ann/.ssh") == NULL);
	/* Its parent holds the workspace: only the directory itself. */
	CHECK(kind_is(&w, "/home/ann/work/bin", MOUNT_BIND) &&
	      mount_at(&w, "/home/ann/work") == NULL);
	CHECK(str_starts(env_of(&w, "PATH"), "/home/ann/tool/bin:/home/ann/bin:"));
	CHECK(strstr(env_of(&w, "PATH"), "::") == NULL &&
	      strstr(env_of(&w, "PATH"), ":bin:") == NULL);
	world_done(&w);
}

/* ---- environment ---- */

TEST(a_program_that_is_a_link_is_shown_and_nothing_beside_it) {
	struct world w;
	world_init(&w);
	variable(&w, "PATH=/home/ann/.local/bin:/usr/bin");
	node(&w, "/home/ann/.local/bin/own", 'f', NULL);
	node(&w, "/home/ann/.local/bin/tool", 'l', "../../dotfiles/bin/tool");
	node(&w, "/home/ann/.local/bin/notes", 'l', "/home/ann/dotfiles/notes");
	node(&w, "/home/ann/.local/bin/key", 'l', "/home/ann/.ssh/key");
	node(&w, "/home/ann/dotfiles/bin/tool", 'f', NULL);
	w.fs.nodes[w.fs.n - 1].mode = 0755;
	node(&w, "/home/ann/.ssh/key", 'f', NULL);
	w.fs.nodes[w.fs.n - 1].mode = 0700;
	node(&w, "/home/ann/dotfiles/notes", 'f', NULL);
	REQUIRE(build(&w) == 0);
	CHECK(kind_is(&w, "/home/ann/dotfiles/bin/tool", MOUNT_BIND));
	CHECK(mount_at(&w, "/home/ann/dotfiles/notes") == NULL); /* no program */
	CHECK(mount_at(&w, "/home/ann/.ssh/key") == NULL);
	/* In a tree that commands write, one of them may have made the link. */
	add_item(&w, KEY_FS_WRITE, "/home/ann/.local/bin");
	REQUIRE(build(&w) == 0);
	CHECK(mount_at(&w, "/home/ann/dotfiles/bin/tool") == NULL);
	world_done(&w);
}

TEST(the_environment_starts_from_nothing) {
	struct world w;
	world_init(&w);
	variable(&w, "PATH=.:/usr/bin:");
	variable(&w, "LANG=C.UTF-8");
	variable(&w, "LANG=second");
	variable(&w, "FOO=secret");
	variable(&w, "LD_PRELOAD=/evil.so");
	variable(&w, "no equals sign");
	variable(&w, "=empty");
	variable(&w, "XDG_RUNTIME_DIR=/run/user/77");
	variable(&w, "SHELL=/home/ann/evil");
	variable(&w, "GITHUB_TOKEN=t");
	variable(&w, "HOME=/elsewhere");
	add_item(&w, KEY_ENV_PASS, "GITHUB_TOKEN");
	add_item(&w, KEY_ENV_PASS, "NOT_THERE");
	add_item(&w, KEY_ENV_SET, "MODE=a=b");
	REQUIRE(build(&w) == 0);
	CHECK_STR(env_of(&w, "PATH"), "/usr/bin");
	CHECK_STR(env_of(&w, "LANG"), "C.UTF-8");
	CHECK_STR(env_of(&w, "HOME"), "/home/ann");
	CHECK_STR(env_of(&w, "TMPDIR"), "/tmp");
	CHECK_STR(env_of(&w, "USER"), "ann");
	CHECK_STR(env_of(&w, "SHELL"), "/bin/sh");
	CHECK_STR(env_of(&w, "PWD"), "/home/ann/work/app/src");
	CHECK_STR(env_of(&w, "XDG_RUNTIME_DIR"), "/run/user/1000");
	CHECK_STR(env_of(&w, "MODE"), "a=b");
	CHECK_STR(env_of(&w, "GITHUB_TOKEN"), "t");
	CHECK_STR(env_of(&w, "CORRAL_LEVEL"), "full");
	CHECK(env_of(&w, "FOO") == NULL && env_of(&w, "LD_PRELOAD") == NULL);
	CHECK(has_note(&w, "GITHUB_TOKEN is passed"));
	CHECK_STR(env_of(&w, "PIP_RETRIES"), "0");
	CHECK_INT(w.plan.nenv, 16);
	CHECK(w.plan.env[w.plan.nenv] == NULL);
	for (size_t i = 1; i < w.plan.nenv; i++) {
		CHECK(strcmp(w.plan.env[i - 1], w.plan.env[i]) < 0);
	}
	set_str(&w, KEY_ENV_PATH, "/bin");
	REQUIRE(build(&w) == 0);
	CHECK_STR(env_of(&w, "PATH"), "/bin");
	world_done(&w);
}

/* ---- properties ---- */

static uint64_t seed;

static unsigned roll(unsigned n) {
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)(seed % n);
}

/* Directories of a small tree, inside the workspace and beside it. */
static const char *random_dir(struct world *w) {
	static const char *const names[] = {"a", "b", "ab"};
	const char *path = roll(3) == 0 ? "/data" : "/ws";
	for (unsigned depth = 1 + roll(3); depth > 0; depth--) {
		path = arena_printf(&w->a, "%s/%s", path, names[roll(3)]);
	}
	return path;
}

static void add_tree(struct world *w) {
	static const char *const names[] = {"a", "b", "ab"};
	for (size_t i = 0; i < 54; i++) {
		node(w,
		     arena_printf(&w->a, "%s/%s/%s/%s", i < 27 ? "/ws" : "/data", names[i % 3],
				  names[i / 3 % 3], names[i / 9 % 3]),
		     'd', NULL);
	}
	set_str(w, KEY_WORKSPACE, "/ws");
}

static void add_random_rules(struct world *w) {
	static const enum key_id ids[] = {KEY_FS_READ, KEY_FS_WRITE, KEY_FS_DENY, KEY_FS_DENY,
					  KEY_FS_PROTECT};
	for (unsigned n = 1 + roll(7); n > 0; n--) {
		add_item(w, ids[roll(ARRAY_LEN(ids))], random_dir(w));
	}
}

enum visibility { HIDDEN, READABLE, WRITABLE };

/* The longest path among one list that holds this one; -1: none. */
static int longest(const struct world *w, enum key_id id, const char *path) {
	int best = -1;
	for (size_t i = 0; i < w->p.values[id].count; i++) {
		const char *rule = w->p.values[id].items[i].str;
		if (path_within(path, rule) && (int)strlen(rule) > best) {
			best = (int)strlen(rule);
		}
	}
	return best;
}

/* What the documentation says: the most specific rule decides, deny wins a
 * tie, then write; protect takes writing away wherever it reaches. */
static enum visibility documented(const struct world *w, const char *path) {
	int deny = longest(w, KEY_FS_DENY, path), read = longest(w, KEY_FS_READ, path);
	int write = longest(w, KEY_FS_WRITE, path);
	if (path_within(path, "/ws") && write < (int)strlen("/ws")) {
		write = (int)strlen("/ws");
	}
	int grant = read > write ? read : write;
	if (grant < 0 || deny >= grant) {
		return HIDDEN;
	}
	return write >= read && longest(w, KEY_FS_PROTECT, path) < 0 ? WRITABLE : READABLE;
}

static enum visibility planned(const struct world *w, const char *path) {
	const struct mount *m = seen_at(w, path);
	if (m == NULL || m->kind != MOUNT_BIND) {
		return HIDDEN;
	}
	return m->writable ? WRITABLE : READABLE;
}

TEST(random_rules_give_what_is_documented_for_every_path) {
	seed = 20240607;
	for (int round = 0; round < 400 && !test_failed; round++) {
		struct world w;
		world_init(&w);
		add_tree(&w);
		add_random_rules(&w);
		REQUIRE(build(&w) == 0);
		check_shape(&w);
		for (size_t i = 0; i < w.fs.n; i++) {
			char path[PATH_MAX];
			(void)snprintf(path, sizeof path, "%s", w.fs.nodes[i].path);
			if (!path_within(path, "/ws") && !path_within(path, "/data")) {
				continue;
			}
			for (char *end = path + strlen(path); end != path;
			     end = strrchr(path, '/')) {
				*end = '\0';
				if (planned(&w, path) != documented(&w, path)) {
					char *text = explained(&w, false);
					printf("# round %d, %s: planned %d, documented %d\n%s\n",
					       round, path, planned(&w, path), documented(&w, path),
					       text);
					free(text);
					test_failed = true;
					world_done(&w);
					return;
				}
			}
		}
		world_done(&w);
	}
}

static void shuffle(struct value *v) {
	for (size_t i = v->count; i > 1; i--) {
		size_t k = roll((unsigned)i);
		struct item kept = v->items[i - 1];
		v->items[i - 1] = v->items[k];
		v->items[k] = kept;
	}
}

TEST(the_order_of_rules_does_not_change_the_plan) {
	static const enum key_id ids[] = {KEY_FS_READ, KEY_FS_WRITE, KEY_FS_DENY, KEY_FS_PROTECT};
	seed = 77;
	for (int round = 0; round < 200 && !test_failed; round++) {
		struct world w;
		world_init(&w);
		add_tree(&w);
		node(&w, "/mnt/l", 'l', "/data/a");
		add_random_rules(&w);
		add_item(&w, KEY_FS_READ, "/mnt/l")->origin.line = 3;
		add_item(&w, KEY_FS_READ, "/data/a")->origin.line = 2;
		REQUIRE(build(&w) == 0);
		char *first = explained(&w, true);
		for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
			shuffle(&w.p.values[ids[i]]);
		}
		REQUIRE(build(&w) == 0);
		char *second = explained(&w, true);
		CHECK_STR(second, first);
		free(first);
		free(second);
		world_done(&w);
	}
}

/* ---- explain ---- */

TEST(explain_prints_the_whole_plan_of_a_small_host) {
	static const char wanted[] =
		"level      full\n"
		"engine     namespaces\n"
		"workspace  /srv/job at /workspace\n"
		"directory  /workspace\n"
		"network    none (loopback inside works)\n"
		"home       /home/corral (private, empty at every run)\n"
		"\n"
		"guarantees\n"
		"  fs.write          enforced  mount, landlock\n"
		"  fs.read           enforced  mount, landlock\n"
		"  fs.deny           enforced  mount, broker\n"
		"  net               enforced  netns, seccomp\n"
		"  net.names         absent    no name is allowed: net.mode is none\n"
		"  ipc               weaker    ipcns, mount, netns, landlock: a socket of the host "
		"that lies in the workspace or in a granted directory can be connected to\n"
		"  pid               enforced  pidns, procfs\n"
		"  env               enforced  environment\n";
	static const char files[] =
		"\nfiles\n"
		"  dir     /dev   # devices\n"
		"  link    /dev/fd -> /proc/self/fd   # skeleton\n"
		"  rw      /dev/full   # device\n"
		"  rw      /dev/mqueue   # message queues\n"
		"  rw      /dev/null   # device\n"
		"  link    /dev/ptmx -> pts/ptmx   # skeleton\n"
		"  rw      /dev/pts   # device\n"
		"  link    /dev/random -> urandom   # skeleton\n"
		"  rw      /dev/shm   # private\n"
		"  link    /dev/stderr -> /proc/self/fd/2   # skeleton\n"
		"  link    /dev/stdin -> /proc/self/fd/0   # skeleton\n"
		"  link    /dev/stdout -> /proc/self/fd/1   # skeleton\n"
		"  rw      /dev/tty   # device\n"
		"  rw      /dev/urandom   # device\n"
		"  rw      /dev/zero   # device\n"
		"  dir     /etc   # skeleton\n"
		"  file    /etc/group   # made up\n"
		"  file    /etc/hostname   # made up\n"
		"  file    /etc/hosts   # made up\n"
		"  file    /etc/nsswitch.conf   # made up\n"
		"  file    /etc/passwd   # made up\n"
		"  rw      /home/corral   # private home\n"
		"  rw      /proc   # processes inside\n"
		"  hidden  /proc/key-users   # kernel\n"
		"  hidden  /proc/keys   # kernel\n"
		"  ro      /proc/pressure   # kernel settings\n"
		"  ro      /proc/sys   # kernel settings\n"
		"  rw      /run   # private\n"
		"  dir     /run/user/1000   # skeleton\n"
		"  rw      /tmp   # private\n"
		"  ro      /usr   # system\n"
		"  link    /var/run -> /run   # skeleton\n"
		"  rw      /var/tmp   # private\n"
		"  rw      /workspace = /srv/job   # workspace, --test\n"
		"  pin     /workspace/a   # holds a restricted path\n"
		"  hidden  /workspace/a/key   # fs.deny, --rule\n"
		"\nrules\n"
		"  deny    /srv/job/a/key   # --rule\n"
		"\nenvironment\n"
		"  CARGO_NET_RETRY CORRAL_LEVEL CORRAL_WORKSPACE HOME LOGNAME PATH "
		"PIP_RETRIES PWD SHELL TMPDIR USER XDG_RUNTIME_DIR npm_config_fetch_retries\n";
	struct world w;
	world_init(&w);
	w.fs.n = 0;
	node(&w, "/usr/bin/sh", 'f', NULL);
	node(&w, "/dev/null", 'o', NULL);
	node(&w, "/srv/job/a/key", 'f', NULL);
	set_num(&w, KEY_FS_VIEW, VIEW_MINIMAL);
	set_num(&w, KEY_FS_HOME, HOME_EPHEMERAL);
	set_str(&w, KEY_WORKSPACE, "/srv/job");
	set_str(&w, KEY_FS_WORKSPACE_AT, "/workspace");
	add_item(&w, KEY_FS_DENY, "/srv/job/a/key");
	REQUIRE(build(&w) == 0);
	char *text = explained(&w, false);
	CHECK(str_starts(text, wanted));
	CHECK(strstr(text, files) != NULL);
	if (test_failed) {
		printf("%s\n", text);
	}
	free(text);
	world_done(&w);
}

TEST(explain_names_what_an_old_host_lacks) {
	struct world w;
	world_init(&w);
	w.h.landlock_abi = 0;
	set_num(&w, KEY_NET_MODE, NET_FULL);
	REQUIRE(build(&w) == 0);
	char *text = explained(&w, false);
	CHECK(str_starts(text, "level      standard\n"));
	CHECK(strstr(text, "\n  fs.write          enforced  mount\n") != NULL);
	CHECK(strstr(text, "\n  net               absent    net.mode is full\n") != NULL);
	CHECK(strstr(text, "\n  ipc               weaker    ipcns, mount: abstract sockets") !=
	      NULL);
	CHECK(strstr(text, "(private, kept between runs)") != NULL);
	free(text);
	world_done(&w);
}

/* Rules are judged by the name when a file is changed: they say what the mounts say. */
TEST(a_grant_that_reopens_a_deny_is_open_to_changes) {
	struct world w;
	world_init(&w);
	node(&w, "/home/ann/work/app/vault/open/file", 'f', NULL);
	node(&w, "/home/ann/work/app/vault/open/key", 'f', NULL);
	node(&w, "/home/ann/work/app/vault/one", 'f', NULL);
	add_item(&w, KEY_FS_DENY, "/home/ann/work/app/vault");
	add_item(&w, KEY_FS_DENY, "/home/ann/work/app/vault/open/key");
	add_item(&w, KEY_FS_WRITE, "/home/ann/work/app/vault/open");
	add_item(&w, KEY_FS_READ, "/home/ann/work/app/vault/one");
	REQUIRE(build(&w) == 0);
	CHECK_INT(plan_sight(&w.plan, "/home/ann/work/app/vault"), SIGHT_DENIED);
	CHECK_INT(plan_sight(&w.plan, "/home/ann/work/app/vault/new"), SIGHT_DENIED);
	CHECK_INT(plan_sight(&w.plan, "/home/ann/work/app/vault/open"), SIGHT_WRITE);
	CHECK_INT(plan_sight(&w.plan, "/home/ann/work/app/vault/open/new"), SIGHT_WRITE);
	CHECK_INT(plan_sight(&w.plan, "/home/ann/work/app/vault/open/key"), SIGHT_DENIED);
	CHECK_INT(plan_sight(&w.plan, "/home/ann/work/app/vault/open2"), SIGHT_DENIED);
	CHECK_INT(plan_sight(&w.plan, "/home/ann/work/app/vault/one"), SIGHT_READ);
	world_done(&w);
}

/* A tree that is granted by name is its own ground; what the floor denies has no other. */
TEST(a_grant_does_not_lead_away_from_a_pattern_of_the_floor) {
	static const struct {
		enum origin_kind kind;
		enum sight vault, key;
	} rows[] = {
		{ORIGIN_OPTION, SIGHT_WRITE, SIGHT_DENIED},
		{ORIGIN_FLOOR, SIGHT_DENIED, SIGHT_DENIED},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world w;
		world_init(&w);
		node(&w, "/home/ann/work/app/vault/open/x", 'f', NULL);
		add_pattern(&w, KEY_FS_DENY, "**/vault")->origin.kind = rows[i].kind;
		add_pattern(&w, KEY_FS_DENY, "**/*.key")->origin.kind = rows[i].kind;
		add_item(&w, KEY_FS_DENY, "/home/ann/work/app/vault/later");
		add_item(&w, KEY_FS_WRITE, "/home/ann/work/app/vault/open");
		REQUIRE(build(&w) == 0);
		CHECK_INT(plan_sight(&w.plan, "/home/ann/work/app/vault/y"), SIGHT_DENIED);
		CHECK_INT(plan_sight(&w.plan, "/home/ann/work/app/vault/open/x"), rows[i].vault);
		CHECK_INT(plan_sight(&w.plan, "/home/ann/work/app/vault/open/x.key"), rows[i].key);
		world_done(&w);
	}
}

TEST(an_exception_of_an_untrusted_file_undoes_its_own_rules_alone) {
	struct world w;
	world_init(&w);
	add_pattern(&w, KEY_FS_DENY, "**/*.key");
	add_pattern(&w, KEY_FS_DENY, "**/*.pem")->bound = true;
	struct item *except = add_pattern(&w, KEY_FS_DENY, "**/a.*");
	except->bound = except->except = true;
	REQUIRE(build(&w) == 0);
	CHECK_INT(plan_sight(&w.plan, "/home/ann/work/app/a.key"), SIGHT_DENIED);
	CHECK_INT(plan_sight(&w.plan, "/home/ann/work/app/a.pem"), SIGHT_WRITE);
	CHECK_INT(plan_sight(&w.plan, "/home/ann/work/app/b.pem"), SIGHT_DENIED);
	world_done(&w);
}

TEST(the_rule_behind_a_sight_is_named) {
	struct world w;
	world_init(&w);
	node(&w, "/home/ann/work/app/secret", 'f', NULL);
	add_item(&w, KEY_FS_DENY, "/home/ann/work/app/secret");
	add_item(&w, KEY_FS_PROTECT, "/home/ann/work/app/later");
	REQUIRE(build(&w) == 0);
	struct sight_rule rule = plan_rule_of(&w.plan, "/home/ann/work/app/secret");
	CHECK_STR(rule.note, "fs.deny");
	CHECK_STR(rule.origin->name, "--rule");
	rule = plan_rule_of(&w.plan, "/home/ann/work/app/later/x");
	CHECK_STR(rule.note, "fs.protect");
	CHECK_STR(rule.written, "/home/ann/work/app/later");
	CHECK_STR(plan_rule_of(&w.plan, "/home/ann/work/app/src").note, "workspace");
	CHECK_STR(plan_rule_of(&w.plan, "/usr/bin/sh").note, "system");
	CHECK(plan_rule_of(&w.plan, "/srv/x").note == NULL);
	world_done(&w);
}

TEST(explain_json_holds_names_but_no_values_of_variables) {
	struct world w;
	world_init(&w);
	variable(&w, "GITHUB_TOKEN=hush-hush");
	add_item(&w, KEY_ENV_PASS, "GITHUB_TOKEN");
	REQUIRE(build(&w) == 0);
	char *text = explained(&w, true);
	CHECK(str_starts(text, "{\"engine\":\"namespaces\",\"level\":\"full\""));
	CHECK(strstr(text, "\"GITHUB_TOKEN\"") != NULL && strstr(text, "hush-hush") == NULL);
	CHECK(strstr(text, "\"mounts\":[{") != NULL &&
	      strstr(text, "\"limits\":{\"timeout_ms\":null") != NULL);
	CHECK(strstr(text,
		     "{\"name\":\"net\",\"state\":\"enforced\",\"by\":[\"netns\",\"seccomp\"]}") !=
	      NULL);
	free(text);
	world_done(&w);
}

/* ---- copy-on-write ---- */

static void world_with_cow(struct world *w) {
	world_init(w);
	w->h.cow_dir = "/home/ann/.local/state/corral/cow/abc234";
	set_num(w, KEY_FS_COW, 1);
}

TEST(with_cow_the_workspace_is_an_overlay_and_rules_lie_on_it) {
	struct world w;
	world_with_cow(&w);
	add_item(&w, KEY_FS_WRITE, "/home/ann/work/app/src");
	add_item(&w, KEY_FS_PROTECT, "/home/ann/work/app/src");
	REQUIRE(build(&w) == 0);
	check_shape(&w);
	const struct mount *m = mount_at(&w, "/home/ann/work/app");
	REQUIRE(m != NULL);
	CHECK(m->kind == MOUNT_COW && m->writable && m->reach == REACH_WRITE);
	CHECK_STR(w.plan.cow_dir, w.h.cow_dir);
	CHECK(kind_is(&w, "/home/ann/work/app/src", MOUNT_BIND));
	CHECK(!mount_at(&w, "/home/ann/work/app/src")->writable);
	CHECK_INT(plan_sight(&w.plan, "/home/ann/work/app/x"), SIGHT_WRITE);
	char *text = explained(&w, false);
	CHECK(strstr(text, "changes    kept apart") != NULL);
	CHECK(strstr(text, "  cow     /home/ann/work/app") != NULL);
	free(text);
	world_done(&w);
}

TEST(with_cow_a_grant_in_or_around_the_workspace_does_not_reach_past_it) {
	struct world w;
	world_with_cow(&w);
	add_item(&w, KEY_FS_WRITE, "/home/ann/work");
	add_item(&w, KEY_FS_WRITE, "/home/ann/work/app/src");
	REQUIRE(build(&w) == 0);
	check_shape(&w);
	CHECK(kind_is(&w, "/home/ann/work/app", MOUNT_COW));
	CHECK(mount_at(&w, "/home/ann/work/app/src") == NULL);
	/* Moved away, its own place would show it a second time. */
	set_str(&w, KEY_FS_WORKSPACE_AT, "/workspace");
	REQUIRE(build(&w) != 0);
	CHECK_INT(w.e.kind, ERR_USAGE);
	CHECK(strstr(w.e.what, "past fs.cow") != NULL);
	world_done(&w);
}

TEST(cow_says_why_it_cannot_be_had) {
	struct world w;
	world_with_cow(&w);
	w.h.cow_dir = NULL;
	REQUIRE(build(&w) != 0);
	CHECK_INT(w.e.kind, ERR_SETUP);
	CHECK(strstr(w.e.what, "no state directory") != NULL && w.e.fix[0] != '\0');
	world_done(&w);

	world_with_cow(&w);
	node(&w, "/home/ann/.local/state/corral/trusted", 'f', NULL);
	set_str(&w, KEY_WORKSPACE, "/home/ann");
	REQUIRE(build(&w) != 0);
	CHECK(strstr(w.e.what, "the workspace holds Corral's own state") != NULL);
	world_done(&w);

	world_with_cow(&w);
	w.h.userns = false;
	w.h.notify = w.h.sockets = true;
	w.h.run_dir = "/tmp/corral-1000-0";
	REQUIRE(build(&w) != 0);
	CHECK(strstr(w.e.what, "needs mount namespaces") != NULL && w.e.fix[0] != '\0');
	world_done(&w);
}

TEST(a_read_only_workspace_has_nothing_to_keep_apart) {
	struct world w;
	world_with_cow(&w);
	set_num(&w, KEY_MODE, MODE_READ_ONLY);
	REQUIRE(build(&w) == 0);
	CHECK(w.plan.cow_dir == NULL && kind_is(&w, "/home/ann/work/app", MOUNT_BIND));
	CHECK(has_note(&w, "nothing to keep apart"));
	world_done(&w);
}

TESTS_MAIN
