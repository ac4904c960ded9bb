/* SPDX-License-Identifier: Apache-2.0 */
/* What a grant, a missing path or a link becomes in a plan. */
#include "plan_world.h"

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
	set_num(&w, KEY_NET_MODE, NET_FULL);
	REQUIRE(build(&w) == 0);
	CHECK(mount_at(&w, "/srv/one/file")->follow && mount_at(&w, "/srv/one/file")->door);
	CHECK(mount_at(&w, "/home/ann/.rc")->follow && !mount_at(&w, "/home/ann/.rc")->door);
	CHECK(mount_at(&w, "/home/ann/work/app/src/main.c")->follow);
	/* The right to write would be the neighbour's too; the one to read it has. */
	CHECK(mount_at(&w, "/srv/two/file")->follow == NULL &&
	      !mount_at(&w, "/srv/two/file")->door);
	CHECK(mount_at(&w, "/srv/two/tool")->follow);
	/* The root holds everything. */
	CHECK(mount_at(&w, "/top")->follow == NULL && has_note(&w, "/top is a single file"));
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
	CHECK(has_note(&w, "/srv/one/file is a single file"));
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
		CHECK(strstr(w.e.what, "a symlink in a writable tree") != NULL);
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
		{"/dev", "its own /dev"},
		{"/dev/null", "its own /dev"},
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
	CHECK_INT(plan_visibility(&w.plan, "/home/ann/work/app/later"), VISIBILITY_DENIED);
	CHECK_INT(plan_visibility(&w.plan, "/home/ann/work/app/later/x"), VISIBILITY_DENIED);
	CHECK_INT(plan_visibility(&w.plan, "/home/ann/work/app/later2"), VISIBILITY_WRITE);
	CHECK_INT(plan_visibility(&w.plan, "/home/ann/work/app/src/new/file"), VISIBILITY_READ);
	CHECK_INT(plan_visibility(&w.plan, "/home/ann/work/app/src/new"), VISIBILITY_WRITE);
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
		enum visibility kept = i % 2 == 0 ? VISIBILITY_DENIED : VISIBILITY_READ;
		CHECK_INT(plan_visibility(&w.plan, rows[i].rule), kept);
		CHECK_INT(plan_visibility(&w.plan, "/home/ann/work/app/src/none"),
			  rows[i].ends ? kept : VISIBILITY_WRITE);
		CHECK_INT(plan_visibility(&w.plan, "/home/ann/work/app/src/other"),
			  VISIBILITY_WRITE);
		world_done(&w);
	}
}

TEST(what_no_run_can_do_without_cannot_be_hidden) {
	static const struct {
		enum key_id key;
		const char *path, *reason;
	} rows[] = {
		{KEY_FS_DENY, "/proc", "every run needs it"},
		{KEY_FS_PROTECT, "/proc", "every run needs it"},
		{KEY_FS_DENY, "/home/ann/work/app/link", "every run needs it"},
		{KEY_FS_DENY, "/proc/17", "a process of the host"},
		{KEY_FS_PROTECT, "/proc/17/fd", "a process of the host"},
		{KEY_FS_DENY, "/dev", "every run needs it"},
		{KEY_FS_DENY, "/dev/null", "every run needs it"},
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

/* "PATH:DEST" */
static struct item *map(struct world *w, const char *path, const char *at) {
	struct item *it = add_item(w, KEY_FS_READ, path);
	it->at = at;
	return it;
}

TEST(a_deny_of_the_place_of_a_mapped_grant_wins) {
	static const struct {
		const char *deny, *at;
		bool shown;
	} rows[] = {
		{"/x", "/x", false},
		{"/x", "/x/y", false},
		{"/opt/new", "/opt/new", false},
		{"/srv/b", "/x", true},
		{"/x/one", "/x", true},
		{"/bin/new", "/usr/bin/new", false},
		{"/srv/a", "/x", false},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world w;
		world_init(&w);
		node(&w, "/srv/a/one", 'f', NULL);
		node(&w, "/srv/b/one", 'f', NULL);
		node(&w, "/opt", 'd', NULL);
		map(&w, "/srv/a", rows[i].at);
		add_item(&w, KEY_FS_DENY, rows[i].deny);
		REQUIRE(build(&w) == 0);
		const struct mount *m = mount_at(&w, rows[i].at);
		bool shown = m != NULL && m->source != NULL && streq(m->source, "/srv/a");
		CHECK_INT(shown, rows[i].shown);
		world_done(&w);
	}
}

TEST(two_grants_at_one_place) {
	static const struct {
		const char *path, *at;
		enum key_id other;
		const char *other_path, *other_at;
		int want;
	} rows[] = {
		{"/srv/a", "/x", KEY_FS_READ, "/srv/b", "/x", -1},
		{"/srv/a", "/x", KEY_FS_READ, "/srv/a", "/x", 0},
		{"/srv/a", "/x", KEY_FS_READ, "/srv/b", "/y", 0},
		{"/srv/a", "/srv/b", KEY_FS_READ, "/srv/b", NULL, -1},
		{"/srv/a", "/srv/b", KEY_FS_WRITE, "/srv/b", NULL, -1},
		{"/srv/a", "/home/ann/work/app", KEY_FS_READ, "/srv/b", NULL, -1},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world w;
		world_init(&w);
		node(&w, "/srv/a/one", 'f', NULL);
		node(&w, "/srv/b/one", 'f', NULL);
		map(&w, rows[i].path, rows[i].at);
		add_item(&w, rows[i].other, rows[i].other_path)->at = rows[i].other_at;
		CHECK_INT(build(&w), rows[i].want);
		CHECK(rows[i].want == 0 ||
		      (w.e.kind == ERR_USAGE && strstr(w.e.what, "/srv/a") != NULL &&
		       strstr(w.e.what, "same place") != NULL));
		world_done(&w);
	}
}

TESTS_MAIN
