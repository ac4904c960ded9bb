/* SPDX-License-Identifier: Apache-2.0 */
/* Plans for hosts that this machine is not: a table of paths is the file system. */
#include "plan_world.h"

#include "data/syscalls.h"

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

/* As a scan of the table finds it. */
static const struct path_row *scanned(const char *rest) {
	const struct path_row *found = NULL;
	for (size_t i = 0; i < credential_paths.count; i++) {
		const struct path_row *row = &credential_paths.rows[i];
		bool mixed = (row->flags & PATH_MIXED) != 0;
		if (path_within(rest, row->path) && (found == NULL || !mixed)) {
			found = row;
		}
	}
	return found;
}

TEST(a_credential_is_found_at_and_beneath_its_row_alone) {
	static const char *const endings[] = {"", "/below", "/below/deep", "-other", "."};
	for (size_t i = 0; i < credential_paths.count; i++) {
		for (size_t k = 0; k < ARRAY_LEN(endings); k++) {
			char path[PATH_MAX];
			(void)snprintf(path, sizeof path, "/home/ann/%s%s",
				       credential_paths.rows[i].path, endings[k]);
			const struct path_row *row = path_credential("/home/ann", path);
			CHECK(row == (path_is_harmless("/home/ann", path)
					      ? NULL
					      : scanned(path + strlen("/home/ann/"))));
			CHECK(k > 0 || row != NULL);
		}
	}
	CHECK(path_credential("/home/ann", "/home/ann") == NULL);
}

TEST(landlock_decides_the_level_and_the_promises) {
	for (int abi = 0; abi <= 12; abi++) {
		struct world w;
		world_init(&w);
		w.h.landlock_abi = abi;
		CHECK_INT(build(&w), 0);
		CHECK_INT(w.plan.level, abi >= 4 ? LEVEL_FULL : LEVEL_STANDARD);
		CHECK_INT(w.plan.landlock_abi, abi < 10 ? abi : 10);
		const struct guarantee_report *p = w.plan.guarantees;
		CHECK_INT(p[GUARANTEE_FS_WRITE].state, STATE_ENFORCED);
		CHECK_STR(p[GUARANTEE_FS_WRITE].by[0], "mount");
		CHECK((p[GUARANTEE_FS_WRITE].by[1] != NULL) == (abi > 0));
		CHECK_INT(p[GUARANTEE_NET].state, STATE_ENFORCED);
		CHECK_INT(p[GUARANTEE_IPC].state, STATE_ENFORCED);
		for (size_t i = 0; i < GUARANTEE_COUNT; i++) {
			CHECK((p[i].state == STATE_ENFORCED) == (p[i].why == NULL));
		}

		set_num(&w, KEY_NET_MODE, NET_FULL);
		CHECK_INT(build(&w), 0);
		CHECK_INT(p[GUARANTEE_IPC].state, abi >= 6 ? STATE_ENFORCED : STATE_WEAKER);
		CHECK(abi >= 6 || strstr(p[GUARANTEE_IPC].why, "abstract") != NULL);
		CHECK_INT(w.plan.guarantees[GUARANTEE_NET].state, STATE_ABSENT);
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

/* Without the broker nobody judges socket files before ABI 9, nor sockets that come by them. */
TEST(sockets_that_nobody_judges_are_a_loss_that_is_told) {
	for (int abi = 6; abi <= 10; abi++) {
		struct world w;
		world_init(&w);
		const struct guarantee_report *p = w.plan.guarantees;
		w.h.landlock_abi = abi;
		w.h.notify = false;
		CHECK_INT(build(&w), 0);
		CHECK_INT(w.plan.traits & TRAIT_SOCKETS, 0);
		CHECK_INT(p[GUARANTEE_IPC].state, abi < 9 ? STATE_WEAKER : STATE_ENFORCED);
		CHECK_INT(p[GUARANTEE_NET].state, abi < 9 ? STATE_WEAKER : STATE_ENFORCED);
		world_done(&w);
	}
}

TEST(unix_datagrams_are_closed_unless_somebody_judges_or_accepts_them) {
	static const struct {
		int abi;
		const char *accepted;
		bool open;
		enum state state;
	} rows[] = {
		{8, NULL, false, STATE_ENFORCED},
		{8, "ipc", true, STATE_WEAKER},
		{9, NULL, true, STATE_ENFORCED},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world w;
		world_init(&w);
		w.h.landlock_abi = rows[i].abi;
		if (rows[i].accepted != NULL) {
			add_item(&w, KEY_ALLOW_DEGRADED, rows[i].accepted);
		}
		CHECK_INT(build(&w), 0);
		CHECK((w.plan.traits & TRAIT_SOCKETS) != 0);
		CHECK(((w.plan.traits & TRAIT_DATAGRAMS) != 0) == rows[i].open);
		CHECK_INT(w.plan.guarantees[GUARANTEE_IPC].state, rows[i].state);
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
	CHECK(strstr(w.e.what, "limits.memory") != NULL && strstr(w.e.what, "weaker") != NULL);
	CHECK(strstr(w.e.what, "sampled") != NULL);
	world_done(&w);
}

TEST(a_nested_sandbox_makes_privileges_weaker) {
	struct world w;
	world_init(&w);
	add_item(&w, KEY_REQUIRE, "privileges");
	CHECK_INT(build(&w), 0);
	set_num(&w, KEY_NESTED, 1);
	CHECK_INT(build(&w), -1);
	CHECK(strstr(w.e.what, "privileges is required") != NULL);
	CHECK(strstr(w.e.what, "user namespaces can be created") != NULL);
	w.h.privileged = true; /* root gets no namespaces inside */
	CHECK_INT(build(&w), 0);
	world_done(&w);
}

TEST(values_of_later_versions_are_errors) {
	struct world w;
	world_init(&w);
	set_num(&w, KEY_MODE, MODE_FULL_ACCESS);
	CHECK_INT(build(&w), -1);
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
	CHECK_INT(w.plan.nwarnings, 0); /* it is sampled, and the report says so */
	w.h.sampling_why = "nobody can look";
	REQUIRE(build(&w) == 0);
	REQUIRE(w.plan.nwarnings == 1);
	CHECK_STR(w.plan.warnings[0],
		  "limits.memory (--test) is not enforced on this host: nobody can look");
	w.h.cgroup = (struct host_cgroup){.kind = CGROUP_V2, .memory = true};
	REQUIRE(build(&w) == 0);
	CHECK_INT(w.plan.nwarnings, 0);
	set_num(&w, KEY_LIMITS_CPUS, 1500);
	REQUIRE(build(&w) == 0);
	REQUIRE(w.plan.nwarnings == 1);
	CHECK(strstr(w.plan.warnings[0], "rounded up") != NULL);
	set_num(&w, KEY_LIMITS_CPUS, 1000);
	REQUIRE(build(&w) == 0);
	CHECK_INT(w.plan.nwarnings, 0);
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
	CHECK(kind_is(&w, "/run/systemd/resolve/stub-resolv.conf", MOUNT_FILE));
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
	CHECK_STR(mount_at(&w, "/etc/passwd")->text, "sandbox:x:1000:1000::/home/corral:/bin/sh\n");
	CHECK_STR(mount_at(&w, "/etc/group")->text, "sandbox:x:1000:\n");
	CHECK_STR(env_of(&w, "USER"), "sandbox");
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

TEST(credentials_are_hidden_where_variables_put_them) {
	struct world w;
	world_init(&w);
	variable(&w, "XDG_DATA_HOME=/home/ann/data");
	variable(&w, "KUBECONFIG=/srv/kube/a:/srv/kube/b");
	variable(&w, "NETRC=/home/ann/work/app/netrc"); /* the project's own */
	variable(&w, "XDG_CONFIG_HOME=/home/ann");      /* nothing would be left */
	variable(&w, "HISTFILE=relative");
	node(&w, "/home/ann/data/vercel/auth.json", 'f', NULL);
	node(&w, "/home/ann/.local/share/opencode/auth.json", 'f', NULL);
	node(&w, "/home/ann/.local/share/uv/tools", 'd', NULL);
	node(&w, "/home/ann/.zhistory", 'f', NULL);
	node(&w, "/home/ann/notes", 'f', NULL);
	node(&w, "/home/ann/work/app/netrc", 'f', NULL);
	node(&w, "/srv/kube/a", 'f', NULL);
	node(&w, "/srv/kube/b", 'f', NULL);
	set_num(&w, KEY_FS_VIEW, VIEW_HOST);
	REQUIRE(build(&w) == 0);
	CHECK(masked(&w, "/home/ann/data/vercel/auth.json"));
	CHECK(masked(&w, "/home/ann/.local/share/opencode/auth.json"));
	CHECK(masked(&w, "/home/ann/.zhistory"));
	CHECK(masked(&w, "/srv/kube/a") && masked(&w, "/srv/kube/b"));
	CHECK(!masked(&w, "/home/ann/notes") && !masked(&w, "/home/ann/work/app/netrc"));
	CHECK(!masked(&w, "/home/ann/.local/share/uv/tools")); /* a toolchain */
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
	const char *name = first + strlen("/home/ann/.local/state/corral/homes/");
	CHECK_INT(strspn(name, "0123456789abcdef"), 32);
	CHECK_STR(name + 32, "-app/home");
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
	CHECK(!has_note(&w, "no state directory"));
	CHECK(w.plan.nwarnings == 1 && strstr(w.plan.warnings[0], "no state directory") != NULL);
	w.h.home = NULL;
	REQUIRE(build(&w) == 0);
	CHECK(kind_is(&w, "/home/corral", MOUNT_PRIVATE));
	CHECK(has_note(&w, "no state directory") && w.plan.nwarnings == 0);
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

TEST(directories_between_home_and_workspace_are_read_only) {
	struct world w;
	world_init(&w);
	node(&w, "/home/ann/a/b/ws", 'd', NULL);
	node(&w, "/home/ann/.cache/tool/ws", 'd', NULL);
	set_str(&w, KEY_WORKSPACE, "/home/ann/a/b/ws");
	REQUIRE(build(&w) == 0);
	check_shape(&w);
	CHECK(kind_is(&w, "/home/ann/a", MOUNT_PIN) && kind_is(&w, "/home/ann/a/b", MOUNT_PIN));
	CHECK(!mount_at(&w, "/home/ann/a")->writable && mount_at(&w, "/home/ann/a")->create);
	CHECK(mount_at(&w, "/home/ann/a/b/ws")->create);
	CHECK_INT(plan_visibility(&w.plan, "/home/ann/a/b/new"), VISIBILITY_READ);
	CHECK_INT(plan_visibility(&w.plan, "/home/ann/new"), VISIBILITY_PRIVATE);
	CHECK_INT(plan_visibility(&w.plan, "/home/ann/a/b/ws/new"), VISIBILITY_WRITE);
	add_item(&w, KEY_FS_WRITE, "/home/ann/a/b");
	REQUIRE(build(&w) == 0);
	check_shape(&w);
	CHECK_INT(plan_visibility(&w.plan, "/home/ann/a/b/new"), VISIBILITY_WRITE);
	CHECK_INT(plan_visibility(&w.plan, "/home/ann/a/new"), VISIBILITY_READ);
	world_done(&w);
	/* Programs keep caches there. */
	world_init(&w);
	node(&w, "/home/ann/.cache/tool/ws", 'd', NULL);
	set_str(&w, KEY_WORKSPACE, "/home/ann/.cache/tool/ws");
	REQUIRE(build(&w) == 0);
	CHECK_INT(plan_visibility(&w.plan, "/home/ann/.cache/other"), VISIBILITY_PRIVATE);
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

/* A grant shows the directory, not the symlink in XDG_RUNTIME_DIR. */
TEST(the_daemons_sockets_are_corrals_own_where_a_symlink_leads_to_them) {
	struct world w;
	world_init(&w);
	node(&w, "/srv/real/corral", 'd', NULL);
	node(&w, "/srv/real/other", 'd', NULL);
	node(&w, "/srv/link", 'l', "real");
	variable(&w, "XDG_RUNTIME_DIR=/srv/link");
	add_item(&w, KEY_FS_WRITE, "/srv/real");
	REQUIRE(build(&w) == 0);
	CHECK_INT(plan_visibility(&w.plan, "/srv/real/corral"), VISIBILITY_DENIED);
	CHECK_INT(plan_visibility(&w.plan, "/srv/real/corral/daemon.sock"), VISIBILITY_DENIED);
	CHECK_INT(plan_visibility(&w.plan, "/srv/real/other"), VISIBILITY_WRITE);
	add_item(&w, KEY_FS_READ, "/srv/real/corral");
	CHECK_INT(build(&w), -1);
	world_done(&w);

	/* Not there yet: the command could create it. */
	world_init(&w);
	node(&w, "/srv/real/other", 'd', NULL);
	node(&w, "/srv/link", 'l', "real");
	variable(&w, "XDG_RUNTIME_DIR=/srv/link");
	add_item(&w, KEY_FS_WRITE, "/srv/real");
	CHECK_INT(build(&w), -1);
	CHECK(strstr(w.e.fix, "mkdir -p /srv/real/corral") != NULL);
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

/* ---- environment ---- */

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
	REQUIRE(w.plan.nwarnings == 1);
	CHECK(strstr(w.plan.warnings[0], "GITHUB_TOKEN is passed") != NULL);
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

TESTS_MAIN
