/* SPDX-License-Identifier: Apache-2.0 */
/* Files with several names: which of them the broker refuses, and what it does when it
 * cannot know. */
#include "broker_world.h"

#define NESTED 200 /* deeper than any search goes */

static struct arena arena;
static struct rule deny_keys;
static struct anchor anchor;

/* ws/keys/a.key is denied and ws/alias is the same file; ws/one and ws/two are another. */
static void links_make(void) {
	struct err e = {0};

	world_make();
	put("ws/one", "content");
	if (mkdir(in_world("ws/keys"), 0755) != 0) {
		abort();
	}
	put("ws/keys/a.key", "content");
	if (link(in_world("ws/one"), in_world("ws/two")) != 0 ||
	    link(in_world("ws/keys/a.key"), in_world("ws/alias")) != 0) {
		abort();
	}
	arena_init(&arena);
	anchor.path = arena_printf(&arena, "%s", in_world("ws"));
	deny_keys = (struct rule){.anchor = anchor.path, .floating = true, .effect = EFFECT_DENY};
	if (glob_parse(&arena, "**/*.key", false, &deny_keys.glob, &e) != 0) {
		abort();
	}
	world_plan.traits = TRAIT_BROKER | TRAIT_CHANGES | TRAIT_READS;
	world_plan.rules = (struct rules){.list = &deny_keys,
					  .count = 1,
					  .anchors = &anchor,
					  .nanchors = 1,
					  .reads = true,
					  .hides = true};
}

static void links_remove(void) {
	world_remove();
	arena_done(&arena);
}

static int try_open(const char *path, int flags) {
	int fd = open(path, flags | O_CLOEXEC, 0644);
	int error = errno;

	if (fd >= 0) {
		close(fd);
	}
	return fd < 0 ? error : 0;
}

static int open_alias(void) {
	return try_open("alias", O_RDONLY);
}

static int look_at_all(void) {
	for (int i = 0; i < 3; i++) { /* before, and by the table */
		CHECK_INT(try_open("two", O_RDONLY), 0);
		CHECK_INT(try_open("alias", O_RDONLY), EACCES);
		CHECK_INT(try_open("keys/a.key", O_RDONLY), EACCES);
		CHECK_INT(try_open("one", O_RDWR), 0);
		CHECK_INT(try_open("file", O_RDONLY), 0);
	}
	CHECK_INT(try_open("alias", O_WRONLY | O_CREAT | O_TRUNC), EACCES);
	CHECK(truncate("alias", 0) != 0 && errno == EACCES);
	return 0;
}

TEST(another_name_of_a_denied_file_is_refused_and_other_links_are_not) {
	struct stat st;

	links_make();
	CHECK_INT(without_broker(open_alias), 0);
	CHECK_INT(with_broker(ALL_FAMILIES, look_at_all), 0);
	CHECK(stat(in_world("ws/keys/a.key"), &st) == 0 && st.st_size > 0);
	links_remove();
}

TEST(every_path_is_walked_with_the_same_answer) {
	links_make();
	world_walks = true;
	CHECK_INT(with_broker(ALL_FAMILIES, look_at_all), 0);
	world_walks = false;
	links_remove();
}

static int look_where_nobody_knows(void) {
	CHECK_INT(try_open("two", O_RDONLY), EACCES);
	CHECK_INT(try_open("alias", O_RDONLY), EACCES);
	CHECK_INT(try_open("file", O_RDONLY), 0);
	return 0;
}

TEST(after_a_search_that_failed_files_with_several_names_are_refused) {
	links_make();
	for (int i = 0; i < NESTED; i++) {
		if (mkdir("n", 0755) != 0 || chdir("n") != 0) {
			abort();
		}
	}
	REQUIRE(chdir(in_world("ws")) == 0);
	CHECK_INT(with_broker(ALL_FAMILIES, look_where_nobody_knows), 0);
	links_remove();
}

/* More often than the broker can remember moves: on a busy machine the search may see none
 * of it before the end.  The same two names take no more room than one move of them. */
static int move_a_lot(void) {
	for (int i = 0; i < 300; i++) {
		CHECK(rename("keys", "a/keys") == 0 && rename("a/keys", "keys") == 0);
	}
	return 0;
}

static int look_while_they_move(void) {
	pid_t mover = fork();

	if (mover == 0) {
		_exit(move_a_lot());
	}
	CHECK_INT(try_open("two", O_RDONLY), 0);
	CHECK_INT(try_open("alias", O_RDONLY), EACCES);
	return wait_for(mover);
}

TEST(a_directory_that_moves_is_not_missed) {
	world_young = true; /* or it could not be moved at all */
	for (int i = 0; i < 20; i++) {
		links_make();
		CHECK_INT(with_broker(ALL_FAMILIES, look_while_they_move), 0);
		links_remove();
	}
	world_young = false;
}

TEST(where_no_pattern_denies_nothing_is_searched) {
	links_make();
	world_plan.rules.hides = false;
	CHECK_INT(with_broker(ALL_FAMILIES, open_alias), 0);
	links_remove();
}

TESTS_MAIN
