/* SPDX-License-Identifier: Apache-2.0 */
/* How much lies in the directories that a run may write to. */
#include "test.h"

#include "linux/disk_growth.h"
#include "linux/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MIB ((int64_t)1024 * 1024)

struct place {
	char dir[64];
	struct arena arena;
	struct plan plan;
	struct mount mounts[4];
	struct disk_growth *growth;
};

static const char *in(const struct place *p, const char *name) {
	static char path[PATH_MAX];
	(void)snprintf(path, sizeof path, "%s/%s", p->dir, name);
	return path;
}

static void place_init(struct place *p) {
	memset(p, 0, sizeof *p);
	(void)snprintf(p->dir, sizeof p->dir, "/tmp/corral-growth-XXXXXX");
	REQUIRE(mkdtemp(p->dir) != NULL);
	arena_init(&p->arena);
	REQUIRE(mkdir(in(p, "ws"), 0700) == 0);
	p->plan = (struct plan){.engine = ENGINE_LANDLOCK, .mounts = p->mounts};
	p->plan.workspace = arena_strdup(&p->arena, in(p, "ws"));
}

static void add_mount(struct place *p, const char *name, bool writable) {
	p->mounts[p->plan.nmounts++] =
		(struct mount){.kind = MOUNT_BIND,
			       .source = arena_strdup(&p->arena, in(p, name)),
			       .writable = writable};
}

static void begin(struct place *p) {
	struct err e = {0};
	REQUIRE(disk_growth_begin(&p->arena, &p->plan, &p->growth, &e) == 0);
}

static void place_done(struct place *p) {
	scratch_remove(p->dir);
	CHECK(access(p->dir, F_OK) != 0);
	arena_done(&p->arena);
}

static void fill(const struct place *p, const char *name, int64_t bytes) {
	static char block[65536];
	int fd = open(in(p, name), O_WRONLY | O_CREAT | O_TRUNC, 0600);
	REQUIRE(fd >= 0);
	memset(block, 'x', sizeof block);
	for (int64_t at = 0; at < bytes; at += (int64_t)sizeof block) {
		REQUIRE(write(fd, block, sizeof block) == (ssize_t)sizeof block);
	}
	REQUIRE(fsync(fd) == 0); /* some file systems allocate late */
	(void)close(fd);
}

static bool near(int64_t got, int64_t want) {
	return got >= want && got < want + MIB / 2;
}

TEST(what_was_there_before_does_not_count_and_what_is_added_does) {
	struct place p;
	place_init(&p);
	fill(&p, "ws/before", MIB);
	begin(&p);
	CHECK_INT(disk_growth_measure(p.growth), 0);
	fill(&p, "ws/new", 2 * MIB);
	CHECK(near(disk_growth_measure(p.growth), 2 * MIB));
	fill(&p, "ws/before", 2 * MIB);
	CHECK(near(disk_growth_measure(p.growth), 3 * MIB));
	REQUIRE(unlink(in(&p, "ws/new")) == 0 && unlink(in(&p, "ws/before")) == 0);
	CHECK_INT(disk_growth_measure(p.growth), 0); /* less than before is no growth */
	place_done(&p);
}

TEST(a_hard_link_adds_nothing_and_a_symlink_is_not_followed) {
	struct place p;
	char from[PATH_MAX];
	place_init(&p);
	REQUIRE(mkdir(in(&p, "other"), 0700) == 0);
	fill(&p, "other/large", 2 * MIB);
	fill(&p, "ws/file", MIB);
	begin(&p);
	(void)snprintf(from, sizeof from, "%s", in(&p, "ws/file"));
	REQUIRE(link(from, in(&p, "ws/second")) == 0 && link(from, in(&p, "ws/third")) == 0);
	REQUIRE(symlink("../other", in(&p, "ws/dir")) == 0);
	CHECK(disk_growth_measure(p.growth) < MIB / 2);
	place_done(&p);
}

TEST(a_deep_tree_is_walked_with_one_buffer) {
	struct place p;
	char path[PATH_MAX] = "ws", file[PATH_MAX + 2];
	place_init(&p);
	begin(&p);
	for (int i = 0; i < 40; i++) {
		size_t len = strlen(path);
		(void)snprintf(path + len, sizeof path - len, "/d%d", i);
		REQUIRE(mkdir(in(&p, path), 0700) == 0);
		(void)snprintf(file, sizeof file, "%s/z", path);
		fill(&p, file, MIB / 16);
	}
	CHECK(near(disk_growth_measure(p.growth), 40 * MIB / 16));
	place_done(&p);
}

TEST(every_writable_directory_counts_once) {
	struct place p;
	place_init(&p);
	REQUIRE(mkdir(in(&p, "ws/sub"), 0700) == 0 && mkdir(in(&p, "more"), 0700) == 0 &&
		mkdir(in(&p, "shown"), 0700) == 0);
	add_mount(&p, "ws", true);
	add_mount(&p, "ws/sub", true);
	add_mount(&p, "more", true);
	add_mount(&p, "shown", false);
	p.plan.run_dir = arena_strdup(&p.arena, in(&p, "run")); /* made later */
	begin(&p);
	CHECK_INT(p.growth->count, 3);
	REQUIRE(mkdir(in(&p, "run"), 0700) == 0);
	fill(&p, "ws/sub/a", MIB);
	fill(&p, "more/b", MIB);
	fill(&p, "run/c", MIB);
	fill(&p, "shown/d", 4 * MIB);
	CHECK(near(disk_growth_measure(p.growth), 3 * MIB));
	place_done(&p);
}

TEST(a_directory_that_cannot_be_read_is_noticed) {
	struct place p;
	if (geteuid() == 0) {
		SKIP("root reads every directory");
	}
	place_init(&p);
	REQUIRE(mkdir(in(&p, "ws/closed"), 0700) == 0);
	begin(&p);
	CHECK_INT(p.growth->unread, 0);
	REQUIRE(chmod(in(&p, "ws/closed"), 0) == 0);
	p.growth->roots[0].free_before = INT64_MAX; /* as if the file system had lost much */
	CHECK(disk_growth_measure(p.growth) > MIB);
	REQUIRE(chmod(in(&p, "ws/closed"), 0700) == 0);
	CHECK(disk_growth_measure(p.growth) < MIB);
	place_done(&p);
}

TEST(too_many_directories_stop_the_run) {
	struct place p;
	static struct mount many[GROWTH_ROOTS_MAX + 1];
	struct err e = {0};
	char name[16];
	place_init(&p);
	for (size_t i = 0; i < GROWTH_ROOTS_MAX + 1; i++) {
		(void)snprintf(name, sizeof name, "d%zu", i);
		many[i] = (struct mount){.kind = MOUNT_BIND,
					 .writable = true,
					 .source = arena_strdup(&p.arena, in(&p, name))};
	}
	p.plan.mounts = many;
	p.plan.nmounts = GROWTH_ROOTS_MAX + 1;
	CHECK_INT(disk_growth_begin(&p.arena, &p.plan, &p.growth, &e), -1);
	CHECK_INT(e.kind, ERR_SETUP);
	CHECK(strstr(e.what, "limits.disk") != NULL);
	place_done(&p);
}

TESTS_MAIN
