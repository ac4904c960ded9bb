/* SPDX-License-Identifier: Apache-2.0 */
/* A plan whose changes are kept apart. */
#include "plan_world.h"

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
	CHECK_INT(plan_visibility(&w.plan, "/home/ann/work/app/x"), VISIBILITY_WRITE);
	char *text = explained(&w, false);
	CHECK(strstr(text, "changes    copy-on-write") != NULL);
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
	CHECK(strstr(w.e.what, "without copy-on-write") != NULL);
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
	CHECK(strstr(w.e.what, "the workspace contains Corral's state") != NULL);
	world_done(&w);

	world_with_cow(&w);
	w.h.userns = false;
	w.h.notify = w.h.sockets = true;
	w.h.run_dir = "/tmp/corral-1000-0";
	REQUIRE(build(&w) != 0);
	CHECK(strstr(w.e.what, "no mount namespace") != NULL && w.e.fix[0] != '\0');
	world_done(&w);
}

TEST(a_read_only_workspace_has_nothing_to_keep_apart) {
	struct world w;
	world_with_cow(&w);
	set_num(&w, KEY_MODE, MODE_READ_ONLY);
	REQUIRE(build(&w) == 0);
	CHECK(w.plan.cow_dir == NULL && kind_is(&w, "/home/ann/work/app", MOUNT_BIND));
	CHECK(has_note(&w, "fs.cow has no effect"));
	world_done(&w);
}

TESTS_MAIN
