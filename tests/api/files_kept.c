/* SPDX-License-Identifier: Apache-2.0 */
/* What the file tools do not move, delete or make: outside, hidden and protected entries, by any
 * way.  Every test is made twice: with the kernel's walk, and name by name. */
#include "change.h"

#include <errno.h>
#include <linux/fs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>

/* ---- what is outside ---- */

static void check_outside(struct box *b) {
	static const char *const ways[] = {"../out", "to-out", "dir/../../out",
					   "../ws-evil/../out"};
	struct corral_stat st;
	char path[PATH_MAX];

	make_link(b, path_in(b, "out"), "ws/to-out");
	make_link(b, path_in(b, "out/file"), "ws/to-file");
	for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
		(void)snprintf(path, sizeof path, "%s/file", ways[i]);
		CHECK_INT(described(b, path, &st), CORRAL_E_OUTSIDE);
		CHECK_INT(changed(b, path, 0777), CORRAL_E_OUTSIDE);
		CHECK_INT(deleted(b, path, R), CORRAL_E_OUTSIDE);
		CHECK_INT(moved(b, path, "got", 0), CORRAL_E_OUTSIDE);
		CHECK_INT(moved(b, "file", path, CORRAL_MOVE_REPLACE), CORRAL_E_OUTSIDE);
		(void)snprintf(path, sizeof path, "%s/new/deep", ways[i]);
		CHECK_INT(made(b, path, P), CORRAL_E_OUTSIDE);
		CHECK_INT(moved(b, "file", path, 0), CORRAL_E_OUTSIDE);
	}
	CHECK_INT(changed(b, "to-file", 0777), CORRAL_E_OUTSIDE);
	CHECK_INT(made(b, "/tmp/x", P), CORRAL_E_OUTSIDE);
	CHECK_INT(deleted(b, "/", R), CORRAL_E_OUTSIDE);
	CHECK_INT(deleted(b, path_in(b, "ws"), R), CORRAL_E_PROTECTED); /* a mount point */
	CHECK_INT(moved(b, path_in(b, "ws"), path_in(b, "ws2"), 0), CORRAL_E_PROTECTED);
	CHECK_INT(deleted(b, "/usr/bin/env", 0), CORRAL_E_PROTECTED);
	CHECK_INT(changed(b, "/usr/bin/env", 0777), CORRAL_E_PROTECTED);
	CHECK_INT(made(b, "/usr/new", P), CORRAL_E_PROTECTED);
	has(b, "out/file", "OUT");
	has(b, "ws/file", "text");
	CHECK(!there(b, "out/new") && !there(b, "ws/got"));
	/* The link itself may be replaced, moved and deleted: its target stays. */
	put(b, "ws/other", "other");
	CHECK_INT(moved(b, "other", "to-file", CORRAL_MOVE_REPLACE), CORRAL_E_NONE);
	has(b, "ws/to-file", "other");
	has(b, "out/file", "OUT");
}

/* A relative link means another file in another directory. */
static void check_moved_links(struct box *b) {
	make_dir(b, "ws/dir/in");
	make_link(b, "../../out/file", "ws/dir/leads");
	make_link(b, "../../../out/file", "ws/dir/in/out");
	make_link(b, "../deep", "ws/dir/in/near");
	CHECK_INT(moved(b, "dir/leads", "dir/renamed", 0), CORRAL_E_NONE);
	CHECK_INT(moved(b, "dir/renamed", "leads", 0), CORRAL_E_OUTSIDE);
	CHECK_INT(moved(b, "dir/in/near", "near", 0), CORRAL_E_OUTSIDE);
	CHECK_INT(moved(b, "dir/in/near", "dir/near", 0), CORRAL_E_NONE);
	CHECK(there(b, "ws/dir/renamed") && there(b, "ws/dir/near"));
}

/* The host's git would write through a symlink in its repository. */
static void check_links_in_a_repository(struct box *b) {
	static const char *const dirs[] = {"ws/r", "ws/r/.git", "ws/r/.git/logs", "ws/r/.git/a",
					   "ws/r/d"};

	for (size_t i = 0; i < sizeof dirs / sizeof dirs[0]; i++) {
		make_dir(b, dirs[i]);
	}
	make_link(b, "../../file", "ws/r/out");
	make_link(b, "../HEAD", "ws/r/in");
	CHECK_INT(moved(b, "r/out", "r/.git/logs/HEAD", 0), CORRAL_E_FILE);
	CHECK_INT(b->err.sys_errno, EBUSY);
	CHECK_INT(moved(b, "r/d", "r/.git/d", 0), CORRAL_E_FILE);
	CHECK_INT(b->err.sys_errno, EXDEV);
	CHECK_INT(moved(b, "r/in", "r/.git/logs/HEAD", 0), CORRAL_E_NONE);
	CHECK_INT(moved(b, "r/.git/a", "r/.git/b", 0), CORRAL_E_NONE);
	CHECK_INT(corral_files_symlink(b->files, "../file", "r/.git/x", &b->err), -1);
	CHECK_INT(b->err.sys_errno, EBUSY);
	CHECK_INT(corral_files_symlink(b->files, "logs", "r/.git/x", &b->err), 0);
}

static void check_rejected_links(struct box *b) {
	make_link(b, "dir", "ws/to-dir");
	corral_files_reject_symlinks(b->files);
	CHECK_INT(made(b, "to-dir/x", P), CORRAL_E_OUTSIDE);
	CHECK_INT(deleted(b, "to-dir/deep", 0), CORRAL_E_OUTSIDE);
	CHECK_INT(moved(b, "file", "to-dir/x", 0), CORRAL_E_OUTSIDE);
	CHECK_INT(changed(b, "to-dir", 0777), CORRAL_E_OUTSIDE);
	CHECK_INT(deleted(b, "to-dir", 0), CORRAL_E_NONE);
	has(b, "ws/dir/deep", "deep");
}

/* ---- what is hidden or protected ---- */

static void check_hidden(struct box *b) {
	struct corral_stat st;

	static const char *const names[] = {"secret", "secret/key", "secret/nothing"};
	for (size_t i = 0; i < 3; i++) {
		CHECK_INT(described(b, names[i], &st), CORRAL_E_SENSITIVE);
		CHECK_INT(changed(b, names[i], 0777), CORRAL_E_SENSITIVE);
		CHECK_INT(deleted(b, names[i], R), CORRAL_E_SENSITIVE);
		CHECK_INT(moved(b, names[i], "got", 0), CORRAL_E_SENSITIVE);
		CHECK_INT(moved(b, "file", names[i], CORRAL_MOVE_REPLACE), CORRAL_E_SENSITIVE);
	}
	/* No slash tells of a hidden name whether it is a file. */
	CHECK_INT(deleted(b, "secret/key/", 0), CORRAL_E_SENSITIVE);
	CHECK_INT(made(b, "secret/new/deep", P), CORRAL_E_SENSITIVE);
	CHECK(strstr(b->err.message, "fs.deny") != NULL);
	has(b, "ws/secret/key", "SECRET");
	has(b, "ws/file", "text");
	CHECK(!there(b, "ws/got") && !there(b, "ws/secret/new"));
}

/* Names that are protected at any depth, and at the top of the workspace. */
static const char *const protected_names[] = {
	".envrc",       "dir/.envrc",         ".bashrc",         ".git/hooks/pre-commit",
	".git/config",  "dir/.git/hooks/x",   "dir/.git/config", "kept/new",
	".corral.toml", ".vscode/tasks.json", ".ENVRC",          "dir/.Git/config",
	".GIT/hooks/x", ".vsCode/tasks.json", ".Mcp.json",
};
#define PROTECTED_NAMES (sizeof protected_names / sizeof protected_names[0])

/* What may not be written may not be made, moved onto or deleted, and the other way round: also for
 * names in another case, which is the same file where the file system says so. */
static void check_protected(struct box *b) {
	int refused = 0;

	for (size_t i = 0; i < PROTECTED_NAMES; i++) {
		const char *name = protected_names[i];
		char top[PATH_MAX];
		enum corral_error_kind wanted = write_kind(b, name, "x", CORRAL_WRITE_PARENTS);

		(void)snprintf(top, sizeof top, "%.*s", (int)strcspn(name, "/"), name);
		if (wanted == CORRAL_E_NONE) {
			CHECK_INT(deleted(b, name, 0), CORRAL_E_NONE);
			put(b, "ws/plain", "plain");
			CHECK_INT(moved(b, "plain", name, 0), CORRAL_E_NONE);
			CHECK_INT(deleted(b, name, 0), CORRAL_E_NONE);
			continue;
		}
		refused++;
		CHECK_INT(wanted, CORRAL_E_PROTECTED);
		CHECK_INT(made(b, name, P), wanted);
		CHECK_INT(moved(b, "file", name, CORRAL_MOVE_REPLACE), wanted);
		CHECK_INT(deleted(b, name, R), wanted);
		CHECK_INT(moved(b, name, "got", 0), wanted);
		CHECK(strcmp(top, "dir") == 0 || strcmp(top, "kept") == 0 ||
		      !there(b, path_in(b, "ws/%s", top) + strlen(b->top) + 1));
	}
	CHECK(refused >= 9);
	has(b, "ws/file", "text");
	CHECK(!there(b, "ws/got"));
}

/* A tree with such a name in it is neither moved nor deleted, nor a part of it. */
static void keeps_tree(struct box *b, const char *name, enum corral_error_kind wanted) {
	char path[PATH_MAX];

	make_dir(b, "ws/t");
	make_dir(b, "ws/t/a");
	make_dir(b, "ws/t/z");
	put(b, "ws/t/0", "first");
	put(b, "ws/t/z/last", "last");
	(void)snprintf(path, sizeof path, "ws/t/a/%s", name);
	if (strcmp(name, ".git") == 0) {
		make_dir(b, path);
		put(b, "ws/t/a/.git/config", "kept");
	} else {
		put(b, path, "kept");
	}
	CHECK_INT(deleted(b, "t", R), wanted);
	CHECK(strstr(b->err.message, "nothing was deleted") != NULL);
	CHECK_INT(moved(b, "t", "gone", 0), wanted);
	CHECK(strstr(b->err.message, "nothing was moved") != NULL);
	CHECK_INT(moved(b, "t/a", "gone", 0), wanted);
	CHECK(there(b, path) && !there(b, "ws/gone"));
	has(b, "ws/t/0", "first");
	has(b, "ws/t/z/last", "last");
	/* The host removes it: then the tree goes as a whole. */
	if (strcmp(name, ".git") == 0) {
		CHECK_INT(deleted(b, "t/a/.git", R), wanted);
		CHECK_INT(moved(b, "t/a/.git", "t/a/git", 0), wanted);
		has(b, "ws/t/a/.git/config", "kept");
		REQUIRE(unlink(path_in(b, "ws/t/a/.git/config")) == 0);
		REQUIRE(rmdir(path_in(b, "ws/t/a/.git")) == 0);
	} else {
		REQUIRE(unlink(path_in(b, "%s", path)) == 0);
	}
	CHECK_INT(moved(b, "t", "gone", 0), CORRAL_E_NONE);
	CHECK_INT(deleted(b, "gone", R), CORRAL_E_NONE);
	CHECK(!there(b, "ws/gone"));
}

static void check_trees(struct box *b) {
	keeps_tree(b, ".envrc", CORRAL_E_PROTECTED);
	keeps_tree(b, "prod.env", CORRAL_E_SENSITIVE);
	keeps_tree(b, ".git", CORRAL_E_PROTECTED);
	CHECK_INT(deleted(b, "kept", R), CORRAL_E_PROTECTED);
	CHECK_INT(moved(b, "kept", "gone", 0), CORRAL_E_PROTECTED);
	/* A directory does not become one whose names are protected. */
	CHECK_INT(moved(b, "dir", ".vscode", 0), CORRAL_E_PROTECTED);
	CHECK_INT(moved(b, "dir", ".git", 0), CORRAL_E_PROTECTED);
	has(b, "ws/dir/deep", "deep");
}

static void deny_pattern(struct box *b) {
	rule(b, "fs.deny", "*.env");
}

/* A directory that cannot be read or emptied: nothing of the tree is deleted. */
static void check_closed(struct box *b) {
	static const mode_t modes[] = {0, 0555};

	make_dir(b, "ws/t");
	make_dir(b, "ws/t/shut");
	put(b, "ws/t/0", "first");
	put(b, "ws/t/shut/x", "x");
	for (size_t i = 0; i < 2; i++) {
		REQUIRE(chmod(path_in(b, "ws/t/shut"), modes[i]) == 0);
		CHECK_INT(deleted(b, "t", R), CORRAL_E_FILE);
		CHECK_INT(b->err.sys_errno, EACCES);
		has(b, "ws/t/0", "first");
	}
	REQUIRE(chmod(path_in(b, "ws/t/shut"), 0755) == 0);
	CHECK_INT(deleted(b, "t", R), CORRAL_E_NONE);
}

/* More levels than a tool takes. */
static void check_depth(struct box *b) {
	char path[PATH_MAX] = "ws/t";

	make_dir(b, path);
	for (int i = 0; i < 140; i++) {
		size_t at = strlen(path);
		(void)snprintf(path + at, sizeof path - at, "/d");
		make_dir(b, path);
	}
	CHECK_INT(deleted(b, "t", R), CORRAL_E_TOO_LARGE);
	CHECK(there(b, path));
}

/* ---- a race ---- */

struct swapping {
	const struct box *b;
	const char *name;
	atomic_bool end;
	atomic_int turns;
};

/* A directory or file, then the link ws/s, then the directory or file again. */
static void *swap(void *arg) {
	struct swapping *s = arg;
	char one[PATH_MAX], other[PATH_MAX];

	(void)snprintf(one, sizeof one, "%s/ws/%s", s->b->top, s->name);
	(void)snprintf(other, sizeof other, "%s/ws/s", s->b->top);
	while (!atomic_load(&s->end)) {
		if (syscall(SYS_renameat2, AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE) == 0) {
			atomic_fetch_add(&s->turns, 1);
		}
	}
	return NULL;
}

static void check_race(struct box *b) {
	struct swapping s = {.b = b, .name = "d"};
	pthread_t thread;

	make_dir(b, "ws/d");
	make_dir(b, "ws/d/in");
	make_dir(b, "out/in");
	put(b, "ws/d/file", "mine");
	put(b, "out/in/x", "OUT");
	REQUIRE(chmod(path_in(b, "out/file"), 0640) == 0);
	make_link(b, path_in(b, "out"), "ws/s");
	REQUIRE(pthread_create(&thread, NULL, swap, &s) == 0);
	for (int i = 0; i < 150 || (atomic_load(&s.turns) < 100 && i < 5000); i++) {
		char name[64];
		for (int more = 0; more < 4; more++) {
			(void)snprintf(name, sizeof name, "d/new-%d-%d", i, more);
			(void)made(b, name, P);
		}
		(void)write_kind(b, "mover", "x", 0);
		(void)moved(b, "mover", "d/file", CORRAL_MOVE_REPLACE);
		(void)moved(b, "d/file", "got", CORRAL_MOVE_REPLACE);
		(void)changed(b, "d/file", 0666);
		(void)deleted(b, "d/file", 0);
		(void)deleted(b, "d/in", R);
	}
	atomic_store(&s.end, true);
	(void)pthread_join(thread, NULL);
	CHECK(atomic_load(&s.turns) > 0);
	has(b, "out/file", "OUT");
	has(b, "out/in/x", "OUT");
	struct stat st;
	REQUIRE(stat(path_in(b, "out/file"), &st) == 0);
	CHECK_INT(st.st_mode & 07777, 0640);
	REQUIRE(stat(path_in(b, "out"), &st) == 0);
	CHECK_INT(st.st_nlink, 3); /* out/in alone: no directory was made */
	int fd = open(path_in(b, "ws/got"), O_RDONLY | O_CLOEXEC);
	char text[8] = "";
	CHECK(fd < 0 || (read(fd, text, sizeof text - 1) >= 0 && strcmp(text, "OUT") != 0));
	if (fd >= 0) {
		close(fd);
	}
}

static bool is_link(const struct box *b, const char *path) {
	struct stat st;

	return lstat(path_in(b, "%s", path), &st) == 0 && S_ISLNK(st.st_mode);
}

/* A link that takes the place of a file is not moved to where it may not be. */
static void check_race_of_file(struct box *b) {
	static const char *const to[] = {"r/.git/file", ".cargo"};
	struct swapping s = {.b = b, .name = "f"};
	pthread_t thread;

	make_dir(b, "ws/r");
	make_dir(b, "ws/r/.git");
	make_link(b, path_in(b, "out"), "ws/s");
	REQUIRE(pthread_create(&thread, NULL, swap, &s) == 0);
	bool led = false;
	for (int i = 0; i < 1000 && !led; i++) {
		put(b, "ws/new", ""); /* ext4 writes what replaces a file */
		(void)syscall(SYS_renameat2, AT_FDCWD, path_in(b, "ws/new"), AT_FDCWD,
			      path_in(b, "ws/f"), RENAME_NOREPLACE);
		(void)moved(b, "f", to[i % 2], CORRAL_MOVE_REPLACE);
		led = is_link(b, "ws/r/.git/file") || is_link(b, "ws/.cargo");
	}
	atomic_store(&s.end, true);
	(void)pthread_join(thread, NULL);
	CHECK(!led);
	CHECK(atomic_load(&s.turns) > 0);
	(void)unlink(path_in(b, "ws/.cargo"));
	CHECK_INT(write_kind(b, "g", "x", 0), CORRAL_E_NONE);
	CHECK_INT(moved(b, "g", ".cargo", 0), CORRAL_E_NONE);
	has(b, "ws/.cargo", "x");
	CHECK(!there(b, "ws/g"));
}

/* ---- the tests ---- */

TEST(nothing_outside_is_made_moved_or_deleted) {
	both(NULL, check_outside);
}

TEST(a_moved_link_leads_to_no_other_place_than_a_new_one_might) {
	both(NULL, check_moved_links);
}

TEST(a_link_in_a_repository_stays_in_it) {
	both(NULL, check_links_in_a_repository);
}

TEST(links_can_be_rejected) {
	both(NULL, check_rejected_links);
}

TEST(what_is_hidden_is_not_told_of) {
	both(NULL, check_hidden);
}

TEST(protected_names_are_neither_made_nor_moved_onto_nor_deleted) {
	both(NULL, check_protected);
}

TEST(a_tree_with_a_kept_entry_is_refused_as_a_whole) {
	both(deny_pattern, check_trees);
}

TEST(a_tree_that_cannot_be_emptied_stays_whole) {
	both(NULL, check_closed);
}

TEST(a_tree_that_is_too_deep_stays_whole) {
	both(NULL, check_depth);
}

TEST(a_directory_swapped_for_a_link_leads_nowhere) {
	both(NULL, check_race);
}

TEST(a_file_swapped_for_a_link_is_not_moved_as_that) {
	both(NULL, check_race_of_file);
}

TESTS_MAIN
