/* SPDX-License-Identifier: Apache-2.0 */
/* Plans without namespaces: engines, levels, exceptions within trees, promises. */
#include "plan_world.h"
#include "base/path.h"

#include "data/syscalls.h"

static void share(struct world *w) {
	world_init(w);
	w->h.userns = false;
	w->h.userns_why = "kernel.unprivileged_userns_clone is 0";
	w->h.notify = w->h.sockets = true;
	w->h.run_dir = "/tmp/corral-1000-0123456789abcdef";
}

static enum state state_of(const struct world *w, enum guarantee g) {
	return w->plan.guarantees[g].state;
}

TEST(without_user_namespaces_the_landlock_engine_serves) {
	struct world w;
	world_init(&w);
	w.h.userns = false;
	w.h.userns_why = "kernel.unprivileged_userns_clone is 0";
	w.h.notify = w.h.sockets = true;
	w.h.run_dir = "/tmp/corral-0";
	CHECK_INT(build(&w), 0);
	CHECK_INT(w.plan.engine, ENGINE_LANDLOCK);
	CHECK_INT(w.plan.level, LEVEL_STANDARD);
	CHECK(w.plan.broker);
	w.h.landlock_abi = 0;
	CHECK_INT(build(&w), -1); /* minimal is below the built-in threshold */
	CHECK_INT(w.e.kind, ERR_SETUP);
	CHECK(strstr(w.e.what, w.h.userns_why) != NULL);
	CHECK(strstr(w.e.fix, "--level minimal") != NULL);
	world_done(&w);
}

/* Landlock has no exception within a writable tree, so a run with such files is refused. */
TEST(existing_protected_names_without_mounts_and_broker_refuse_the_run) {
	for (int i = 0; i < 16; i++) {
		bool namespaces = i & 1, notify = i & 2, repository = i & 4, accepted = i & 8;
		bool open = repository && !namespaces && !notify;
		struct world w;
		share(&w);
		w.h.userns = namespaces;
		w.h.notify = notify;
		if (repository) {
			node(&w, "/home/ann/work/app/.git/hooks/x", 'f', NULL);
			add_item(&w, KEY_FS_PROTECT, "/home/ann/work/app/.git")->origin.kind =
				ORIGIN_BUILTIN;
		}
		if (accepted) {
			add_item(&w, KEY_ALLOW_DEGRADED, "fs.deny");
		}
		CHECK_INT(build(&w), open && !accepted ? -1 : 0);
		CHECK(!w.plan.names_open || open);
		if (open && !accepted) {
			CHECK_INT(w.e.kind, ERR_SETUP);
			CHECK(strstr(w.e.what, ".git/config") != NULL);
			CHECK(strstr(w.e.fix, "--allow-degraded fs.deny") != NULL);
		} else if (open) {
			CHECK_INT(w.plan.guarantees[GUARANTEE_FS_DENY].state, STATE_ABSENT);
		}
		world_done(&w);
	}
}

TEST(without_seccomp_nothing_is_left_but_level_none) {
	struct world w;
	world_init(&w);
	w.h.seccomp = false;
	w.h.run_dir = "/tmp/corral-0";
	CHECK_INT(build(&w), -1);
	CHECK_INT(w.e.kind, ERR_SETUP);
	set_num(&w, KEY_LEVEL, LEVEL_NONE);
	set_num(&w, KEY_MIN_LEVEL, LEVEL_NONE);
	CHECK_INT(build(&w), -1);
	CHECK_INT(w.e.kind, ERR_REFUSED);
	CHECK(strstr(w.e.fix, "--accept-no-sandbox") != NULL);
	set_num(&w, KEY_ACCEPT_NO_SANDBOX, 1);
	CHECK_INT(build(&w), 0);
	CHECK_INT(w.plan.engine, ENGINE_NONE);
	CHECK(w.plan.nwarnings > 0);
	world_done(&w);
}

TEST(a_level_is_taken_as_asked_and_never_clamped) {
	static const struct {
		bool userns;
		int abi;
		bool seccomp;
		enum level asked;
		enum engine engine; /* ENGINE_NONE: an error */
	} rows[] = {
		{true, 7, true, LEVEL_AUTO, ENGINE_NAMESPACES},
		{true, 7, true, LEVEL_FULL, ENGINE_NAMESPACES},
		{true, 7, true, LEVEL_STANDARD, ENGINE_LANDLOCK},
		{true, 7, true, LEVEL_MINIMAL, ENGINE_SECCOMP},
		{true, 2, true, LEVEL_AUTO, ENGINE_NAMESPACES},
		{true, 2, true, LEVEL_FULL, ENGINE_NONE},
		{true, 2, true, LEVEL_STANDARD, ENGINE_NAMESPACES},
		{true, 0, true, LEVEL_STANDARD, ENGINE_NAMESPACES},
		{false, 7, true, LEVEL_FULL, ENGINE_NONE},
		{false, 1, true, LEVEL_AUTO, ENGINE_LANDLOCK},
		{false, 0, true, LEVEL_STANDARD, ENGINE_NONE},
		{false, 0, true, LEVEL_MINIMAL, ENGINE_SECCOMP},
		{true, 7, false, LEVEL_AUTO, ENGINE_NONE},
		{true, 7, false, LEVEL_MINIMAL, ENGINE_NONE},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world w;
		share(&w);
		w.h.userns = rows[i].userns;
		w.h.landlock_abi = rows[i].abi;
		w.h.seccomp = rows[i].seccomp;
		set_num(&w, KEY_LEVEL, rows[i].asked);
		w.p.values[KEY_MIN_LEVEL].origin.kind = ORIGIN_BUILTIN;
		CHECK_INT(build(&w), rows[i].engine == ENGINE_NONE ? -1 : 0);
		if (rows[i].engine != ENGINE_NONE) {
			CHECK_INT(w.plan.engine, rows[i].engine);
		} else {
			CHECK_INT(w.e.kind, ERR_SETUP);
			CHECK(w.e.fix[0] != '\0');
		}
		world_done(&w);
	}
}

TEST(the_view_is_the_hosts_own_tree) {
	struct world w;
	share(&w);
	node(&w, "/home/ann/.cargo/bin/cargo", 'f', NULL);
	REQUIRE(build(&w) == 0);
	for (size_t i = 0; i < w.plan.nmounts; i++) {
		const struct mount *m = &w.plan.mounts[i];
		CHECK(m->source == NULL || streq(m->source, m->target));
		CHECK(m->kind != MOUNT_PTS && m->kind != MOUNT_QUEUES);
	}
	CHECK(mount_at(&w, "/tmp") == NULL && mount_at(&w, "/dev") == NULL);
	CHECK(kind_is(&w, "/tmp/corral-1000-0123456789abcdef", MOUNT_PRIVATE));
	CHECK_STR(env_of(&w, "TMPDIR"), "/tmp/corral-1000-0123456789abcdef");
	CHECK(env_of(&w, "XDG_RUNTIME_DIR") == NULL);
	CHECK_STR(env_of(&w, "HOME"), w.plan.home_source);
	/* Programs find the toolchain through the private home. */
	const struct mount *link = mount_at(&w, path_join(&w.a, w.plan.home_source, ".cargo/bin"));
	CHECK(link == NULL || link->kind == MOUNT_LINK);
	check_shape(&w);
	world_done(&w);
}

TEST(a_hidden_path_in_a_tree_that_is_read_is_left_out_of_it) {
	struct world w;
	share(&w);
	node(&w, "/etc/ssl/certs/a.pem", 'f', NULL);
	node(&w, "/etc/ssl/private/key", 'f', NULL);
	add_item(&w, KEY_FS_DENY, "/etc/hosts");
	REQUIRE(build(&w) == 0);
	CHECK(w.plan.spread);
	CHECK_INT(mount_at(&w, "/etc")->reach, REACH_LIST);
	CHECK_INT(mount_at(&w, "/etc/passwd")->reach, REACH_READ);
	CHECK(masked(&w, "/etc/hosts"));
	CHECK_INT(w.plan.exceptions, 0); /* nothing has to be asked */
	CHECK_INT(state_of(&w, GUARANTEE_FS_DENY), STATE_WEAKER);
	/* Landlock adds up what stands above: no rule above may show the file. */
	for (size_t i = 0; i < w.plan.nmounts; i++) {
		const struct mount *m = &w.plan.mounts[i];
		bool shows = m->reach > REACH_LIST && m->kind != MOUNT_MASK_FILE;
		CHECK(!shows || !path_within("/etc/hosts", m->target));
	}
	world_done(&w);
}

TEST(an_exception_in_a_writable_tree_is_asked_about) {
	static const struct {
		enum key_id key;
		unsigned traits;
	} rows[] = {
		{KEY_FS_DENY, TRAIT_READS | TRAIT_CHANGES},
		{KEY_FS_PROTECT, TRAIT_CHANGES},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world w;
		share(&w);
		REQUIRE(build(&w) == 0);
		CHECK_INT(w.plan.traits & (TRAIT_READS | TRAIT_CHANGES), 0);
		add_item(&w, rows[i].key, "/home/ann/work/app/src/main.c");
		REQUIRE(build(&w) == 0);
		CHECK_INT(w.plan.traits & (TRAIT_READS | TRAIT_CHANGES), rows[i].traits);
		CHECK(!has_note(&w, "broker is not available"));
		w.h.notify = w.h.sockets = false;
		w.h.notify_why = "kernel.yama.ptrace_scope is 2 or more";
		CHECK_INT(build(&w), -1);
		CHECK(strstr(w.e.fix, "--allow-degraded fs.deny") != NULL);
		add_item(&w, KEY_ALLOW_DEGRADED, "fs.deny");
		CHECK_INT(build(&w), 0);
		CHECK_INT(state_of(&w, GUARANTEE_FS_DENY), STATE_ABSENT);
		CHECK(has_note(&w, "broker is not available: kernel.yama.ptrace_scope"));
		world_done(&w);
	}
}

TEST(what_a_kernel_lacks_is_asked_or_promised_less) {
	static const struct {
		int abi;
		bool notify;
		enum state write, pid, lifetime;
		unsigned traits; /* of SIGNALS and TRUNCATE */
		bool runs;
	} rows[] = {
		{7, true, STATE_ENFORCED, STATE_WEAKER, STATE_ENFORCED, 0, true},
		{4, true, STATE_ENFORCED, STATE_WEAKER, STATE_WEAKER, TRAIT_SIGNALS, true},
		{2, true, STATE_ENFORCED, STATE_WEAKER, STATE_WEAKER,
		 TRAIT_SIGNALS | TRAIT_TRUNCATE, true},
		{7, false, STATE_WEAKER, STATE_WEAKER, STATE_ENFORCED, 0, true},
		{4, false, STATE_WEAKER, STATE_WEAKER, STATE_WEAKER, 0, true},
		{2, false, STATE_WEAKER, STATE_WEAKER, STATE_WEAKER, 0, false},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world w;
		share(&w);
		w.h.landlock_abi = rows[i].abi;
		w.h.notify = w.h.sockets = rows[i].notify;
		CHECK_INT(build(&w), rows[i].runs ? 0 : -1);
		if (!rows[i].runs) {
			CHECK(strstr(w.e.what, "can be truncated") != NULL);
			add_item(&w, KEY_ALLOW_DEGRADED, "fs.write");
			REQUIRE(build(&w) == 0);
		}
		CHECK_INT(state_of(&w, GUARANTEE_FS_WRITE), rows[i].write);
		CHECK_INT(state_of(&w, GUARANTEE_PID), rows[i].pid);
		CHECK_INT(state_of(&w, GUARANTEE_LIFETIME), rows[i].lifetime);
		CHECK_INT(w.plan.traits & (TRAIT_SIGNALS | TRAIT_TRUNCATE), rows[i].traits);
		world_done(&w);
	}
}

TEST(without_its_sockets_taken_a_run_has_none) {
	struct world w;
	share(&w);
	w.h.sockets = false;
	REQUIRE(build(&w) == 0);
	CHECK_INT(w.plan.traits & TRAIT_SOCKETS, 0);
	CHECK_INT(state_of(&w, GUARANTEE_NET), STATE_ENFORCED);
	CHECK_INT(state_of(&w, GUARANTEE_IPC), STATE_ENFORCED);
	w.h.sockets = true;
	REQUIRE(build(&w) == 0);
	CHECK_INT(state_of(&w, GUARANTEE_NET), STATE_WEAKER);
	world_done(&w);
}

TEST(every_weaker_or_absent_promise_has_its_reason) {
	static const enum level levels[] = {LEVEL_STANDARD, LEVEL_MINIMAL, LEVEL_NONE};
	for (size_t i = 0; i < ARRAY_LEN(levels); i++) {
		for (int notify = 0; notify < 2; notify++) {
			struct world w;
			share(&w);
			w.h.notify = w.h.sockets = notify != 0;
			set_num(&w, KEY_LEVEL, levels[i]);
			set_num(&w, KEY_MIN_LEVEL, LEVEL_NONE);
			set_num(&w, KEY_ACCEPT_NO_SANDBOX, 1);
			REQUIRE(build(&w) == 0);
			for (enum guarantee g = 0; g < GUARANTEE_COUNT; g++) {
				const struct guarantee_report *p = &w.plan.guarantees[g];
				CHECK((p->why == NULL) == (p->state == STATE_ENFORCED));
				CHECK((p->by[0] == NULL) == (p->state == STATE_ABSENT));
			}
			CHECK_INT(w.plan.nwarnings > 0, levels[i] < LEVEL_STANDARD);
			world_done(&w);
		}
	}
}

TEST(privileges_are_promised_as_far_as_the_level_goes) {
	static const struct {
		enum level level;
		enum state state;
		const char *last, *why;
	} rows[] = {
		{LEVEL_STANDARD, STATE_ENFORCED, "seccomp", NULL},
		{LEVEL_MINIMAL, STATE_WEAKER, "seccomp", "this level protects neither"},
		{LEVEL_NONE, STATE_WEAKER, NULL, "user namespaces can be created"},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world w;
		share(&w);
		set_num(&w, KEY_LEVEL, rows[i].level);
		set_num(&w, KEY_MIN_LEVEL, LEVEL_NONE);
		set_num(&w, KEY_ACCEPT_NO_SANDBOX, 1);
		REQUIRE(build(&w) == 0);
		const struct guarantee_report *p = &w.plan.guarantees[GUARANTEE_PRIVILEGES];
		CHECK_INT(p->state, rows[i].state);
		CHECK_STR(p->by[0], "capabilities");
		CHECK_STR(p->by[1], "no_new_privs");
		CHECK((p->by[2] == NULL) == (rows[i].last == NULL));
		CHECK(rows[i].why == NULL || strstr(p->why, rows[i].why) != NULL);
		add_item(&w, KEY_REQUIRE, "privileges");
		CHECK_INT(build(&w), rows[i].state == STATE_ENFORCED ? 0 : -1);
		world_done(&w);
	}
}

static int looks, lists;

static struct look count_look(void *ctx, const char *path) {
	looks += streq(path, "/etc/odd");
	return fake_look(ctx, path);
}

static bool count_list(void *ctx, const char *path, void (*each)(void *arg, const char *name),
		       void *arg) {
	lists += streq(path, "/etc");
	return fake_list(ctx, path, each, arg);
}

/* Root has hundreds of entries there, and a rule for each. */
TEST(root_lists_etc_once_and_looks_at_each_entry_once) {
	struct world w;
	share(&w);
	w.h.privileged = true;
	node(&w, "/etc/odd", 'f', NULL);
	node(&w, "/etc/odd.secret", 'f', NULL);
	w.fs.nodes[w.fs.n - 1].mode = 0600;
	w.h.fs.look = count_look;
	w.h.fs.list = count_list;
	looks = lists = 0;
	REQUIRE(build(&w) == 0);
	CHECK_INT(looks, 1);
	CHECK_INT(lists, 1);
	CHECK_INT(mount_at(&w, "/etc/odd")->reach, REACH_READ);
	CHECK(kind_is(&w, "/etc/odd.secret", MOUNT_MASK_FILE));
	world_done(&w);
}

TEST(what_needs_a_root_of_our_own_is_an_error) {
	static const struct {
		enum key_id key;
		const char *str;
		int64_t num;
	} rows[] = {
		{KEY_FS_WORKSPACE_AT, "/workspace", 0},
		{KEY_FS_AGENT, "/usr", 0},
		{KEY_FS_VIEW, NULL, VIEW_MINIMAL},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world w;
		share(&w);
		set_num(&w, rows[i].key, rows[i].num);
		w.p.values[rows[i].key].str = rows[i].str;
		CHECK_INT(build(&w), -1);
		CHECK_INT(w.e.kind, ERR_SETUP);
		CHECK(w.e.fix[0] != '\0');
		world_done(&w);
	}
}

TESTS_MAIN
