/* SPDX-License-Identifier: Apache-2.0 */
/* Names of sets at the top of a tree: one list, instead of a look-up for each. */
#include "plan_world.h"

#include "data/names.h"
#include "linux/dir_names.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the plan ---- */

static size_t lists_made, links_read;

static void add_name(void *arg, const char *name) {
	name_filter_add(arg, name, strlen(name));
}

#define WORKSPACE "/home/ann/work/app"

static bool fake_names(void *ctx, const char *path, struct name_filter *out) {
	lists_made += strcmp(path, WORKSPACE) == 0; /* plans list /etc, too */
	return fake_list(ctx, path, add_name, out);
}

static bool no_names(void *ctx, const char *path, struct name_filter *out) {
	(void)ctx;
	(void)out;
	lists_made += strcmp(path, WORKSPACE) == 0;
	return false;
}

static bool counted_readlink(void *ctx, const char *path, char *out, size_t cap) {
	links_read++;
	return fake_readlink(ctx, path, out, cap);
}

static bool always_folds(void *ctx, const char *path) {
	(void)ctx;
	(void)path;
	return true;
}

/* A set's name that is a symlink, and one whose directory is. */
static char *plan_with(bool (*names)(void *ctx, const char *path, struct name_filter *out),
		       bool folding) {
	struct world w;
	world_init(&w);
	node(&w, "/home/ann/work/app/.envrc", 'l', "src/envrc");
	node(&w, "/home/ann/work/app/.config", 'l', "conf");
	node(&w, "/home/ann/work/app/conf/x", 'f', NULL);
	for (size_t i = 0; i < name_sets_count; i++) {
		add_item(&w, KEY_FS_PROTECT, name_sets[i].name)->kind = ITEM_SET;
	}
	w.h.fs.names = names;
	w.h.fs.readlink = counted_readlink;
	w.h.fs.folds = folding ? always_folds : fake_folds;
	lists_made = links_read = 0;
	CHECK_INT(build(&w), 0);
	char *text = explained(&w, true);
	world_done(&w);
	return text;
}

TEST(a_list_of_the_workspace_replaces_the_look_ups_of_missing_names) {
	char *looked = plan_with(NULL, false);
	size_t without = links_read;
	char *listed = plan_with(fake_names, false);
	CHECK_STR(listed, looked);
	CHECK_INT(lists_made, 1);
	CHECK(links_read < without / 3);
	free(listed);
	listed = plan_with(no_names, false); /* too many names, or unreadable */
	CHECK_STR(listed, looked);
	CHECK_INT(links_read, without);
	CHECK(strstr(listed, "src/envrc") != NULL && strstr(listed, "app/conf") != NULL);
	free(listed);
	free(looked);
	free(plan_with(fake_names, true)); /* a name has several spellings there */
	CHECK_INT(lists_made, 0);
}

/* ---- the host ---- */

static void make_files(int dir, size_t from, size_t to) {
	for (size_t i = from; i < to; i++) {
		char name[64];
		(void)snprintf(name, sizeof name, "file-with-a-name-%zu", i);
		int fd = openat(dir, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
		CHECK(fd >= 0);
		(void)close(fd);
	}
}

static void remove_files(int dir, size_t n) {
	for (size_t i = 0; i < n; i++) {
		char name[64];
		(void)snprintf(name, sizeof name, "file-with-a-name-%zu", i);
		(void)unlinkat(dir, name, 0);
	}
}

TEST(a_small_directory_is_listed_and_a_large_one_is_not) {
	char path[] = "/tmp/corral-names-XXXXXX";
	struct name_filter few = {{0}}, many = {{0}}, none = {{0}};
	REQUIRE(mkdtemp(path) != NULL);
	int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	make_files(dir, 0, 50);
	CHECK(dir_names(NULL, path, &few));
	size_t mistaken = 0;
	for (size_t i = 0; i < 1000; i++) {
		char name[64];
		int len = snprintf(name, sizeof name, "file-with-a-name-%zu", i);
		bool has = name_filter_may_have(&few, name, (size_t)len);
		CHECK(i >= 50 || has);
		mistaken += i >= 50 && has;
	}
	CHECK(mistaken < 100);
	make_files(dir, 50, 1000);
	CHECK(!dir_names(NULL, path, &many));
	remove_files(dir, 1000);
	(void)close(dir);
	(void)rmdir(path);
	CHECK(dir_names(NULL, path, &none)); /* gone: it has no names */
	CHECK(!name_filter_may_have(&none, "file-with-a-name-1", 18));
	CHECK(!dir_names(NULL, "/dev/null", &none));
}

TESTS_MAIN
