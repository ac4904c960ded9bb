/* SPDX-License-Identifier: Apache-2.0 */
/* The file tools that describe, make, move and delete entries, as a program that knows corral.h
 * alone has them.  Every test is made twice: with the kernel's walk, and name by name. */
#include "change.h"

#include <errno.h>

/* ---- what works ---- */

static void check_directories(struct box *b) {
	struct stat st;
	mode_t before = umask(027);

	CHECK_INT(made(b, "new", 0), CORRAL_E_NONE);
	umask(before);
	REQUIRE(stat(path_in(b, "ws/new"), &st) == 0 && S_ISDIR(st.st_mode));
	CHECK_INT(st.st_mode & 07777, 0750);
	CHECK_INT(made(b, "new", 0), CORRAL_E_FILE);
	CHECK_INT(b->err.sys_errno, EEXIST);
	CHECK_INT(made(b, "new", P), CORRAL_E_NONE);
	CHECK_INT(made(b, "x/y/z/", 0), CORRAL_E_NOT_FOUND);
	CHECK(!there(b, "ws/x"));
	CHECK_INT(made(b, "x/y/z/", P), CORRAL_E_NONE);
	CHECK(there(b, "ws/x/y/z"));
	CHECK_INT(made(b, "/", P), CORRAL_E_NONE);
	CHECK_INT(made(b, "kept", P), CORRAL_E_NONE); /* it exists: nothing is changed */
	CHECK_INT(made(b, "file", P), CORRAL_E_FILE);
	CHECK_INT(made(b, "file/x", P), CORRAL_E_FILE);
	/* A link to a directory is one; a link to nothing is not followed to create it. */
	make_link(b, "x", "ws/to-x");
	make_link(b, "nothing", "ws/hanging");
	CHECK_INT(made(b, "to-x", P), CORRAL_E_NONE);
	CHECK_INT(made(b, "to-x", 0), CORRAL_E_FILE);
	CHECK_INT(made(b, "hanging", P), CORRAL_E_FILE);
	CHECK(!there(b, "ws/nothing"));
	CHECK_INT(made(b, "p/../q/r", P), CORRAL_E_NOT_FOUND);
	CHECK(!there(b, "ws/p") && !there(b, "ws/q"));
	CHECK_INT(made(b, "x/.", P), CORRAL_E_USAGE);
	CHECK_INT(made(b, "", P), CORRAL_E_USAGE);
	CHECK_INT(made(b, "y", 2U), CORRAL_E_USAGE);
}

static void check_moves(struct box *b) {
	put(b, "ws/other", "other");
	CHECK_INT(moved(b, "file", "dir/moved", 0), CORRAL_E_NONE);
	CHECK(!there(b, "ws/file"));
	has(b, "ws/dir/moved", "text");
	CHECK_INT(moved(b, "dir/moved", "other", 0), CORRAL_E_FILE);
	CHECK_INT(b->err.sys_errno, EEXIST);
	has(b, "ws/other", "other");
	CHECK_INT(moved(b, "dir/moved", "other", CORRAL_MOVE_REPLACE), CORRAL_E_NONE);
	has(b, "ws/other", "text");
	CHECK_INT(moved(b, "dir", "dir2/", 0), CORRAL_E_NONE);
	has(b, "ws/dir2/deep", "deep");
	CHECK_INT(moved(b, "nothing", "x", 0), CORRAL_E_NOT_FOUND);
	CHECK_INT(moved(b, "other", "no/x", 0), CORRAL_E_NOT_FOUND);
	CHECK_INT(moved(b, "other/", "x", 0), CORRAL_E_FILE);
	CHECK_INT(b->err.sys_errno, ENOTDIR);
	CHECK_INT(moved(b, "dir2", "dir2/in", 0), CORRAL_E_FILE);
	CHECK_INT(moved(b, "other", "dir2", CORRAL_MOVE_REPLACE), CORRAL_E_FILE);
	make_dir(b, "ws/full");
	put(b, "ws/full/x", "x");
	CHECK_INT(moved(b, "dir2", "full", CORRAL_MOVE_REPLACE), CORRAL_E_FILE);
	CHECK_INT(b->err.sys_errno, ENOTEMPTY);
	CHECK_INT(moved(b, "dir2/..", "x", 0), CORRAL_E_USAGE);
	CHECK_INT(moved(b, ".", "x", 0), CORRAL_E_USAGE);
	CHECK_INT(moved(b, "other", "x", 4U), CORRAL_E_USAGE);
	has(b, "ws/other", "text");
	has(b, "ws/full/x", "x");
}

static void check_deletions(struct box *b) {
	make_link(b, "../out", "ws/to-out");
	CHECK_INT(deleted(b, "file", 0), CORRAL_E_NONE);
	CHECK(!there(b, "ws/file"));
	CHECK_INT(deleted(b, "file", 0), CORRAL_E_NOT_FOUND);
	CHECK_INT(deleted(b, "dir", 0), CORRAL_E_FILE);
	CHECK_INT(b->err.sys_errno, ENOTEMPTY);
	has(b, "ws/dir/deep", "deep");
	/* A link, and not its target; also within a tree. */
	CHECK_INT(deleted(b, "to-out/", R), CORRAL_E_FILE);
	CHECK_INT(deleted(b, "to-out", R), CORRAL_E_NONE);
	CHECK(!there(b, "ws/to-out"));
	make_link(b, path_in(b, "out"), "ws/dir/to-out");
	REQUIRE(mkfifo(path_in(b, "ws/dir/fifo"), 0644) == 0);
	make_dir(b, "ws/dir/a");
	for (int i = 0; i < 300; i++) {
		put(b, path_in(b, "ws/dir/a/%d", i) + strlen(b->top) + 1, "x");
	}
	CHECK_INT(deleted(b, "dir/", R), CORRAL_E_NONE);
	CHECK(!there(b, "ws/dir"));
	has(b, "out/file", "OUT");
	make_dir(b, "ws/empty");
	CHECK_INT(deleted(b, "empty", 0), CORRAL_E_NONE);
	CHECK_INT(deleted(b, ".", R), CORRAL_E_USAGE);
	CHECK_INT(deleted(b, "kept/..", R), CORRAL_E_USAGE);
	CHECK_INT(deleted(b, "x", 2U), CORRAL_E_USAGE);
}

static void check_modes(struct box *b) {
	struct corral_stat st;
	struct stat host;

	CHECK_INT(changed(b, "file", 0751), CORRAL_E_NONE);
	CHECK_INT(described(b, "file", &st), CORRAL_E_NONE);
	CHECK_STR(st.kind, "file");
	CHECK_INT(st.mode, 0751);
	CHECK_INT(st.bytes, 4);
	REQUIRE(stat(path_in(b, "ws/file"), &host) == 0);
	CHECK_INT(st.modified_ns / 1000000000, host.st_mtime);
	CHECK_INT(changed(b, "file", 04755), CORRAL_E_USAGE);
	CHECK_INT(changed(b, "file", 01777), CORRAL_E_USAGE);
	REQUIRE(chmod(path_in(b, "ws/file"), 06755) == 0 &&
		chmod(path_in(b, "ws/dir"), 03755) == 0);
	CHECK_INT(changed(b, "file", 0755), CORRAL_E_NONE);
	CHECK_INT(changed(b, "dir", 0700), CORRAL_E_NONE);
	CHECK(described(b, "file", &st) == CORRAL_E_NONE && st.mode == 0755);
	CHECK(described(b, "dir", &st) == CORRAL_E_NONE && st.mode == 03700);
	CHECK_STR(st.kind, "directory");
	make_link(b, "file", "ws/link");
	CHECK_INT(changed(b, "link", 0600), CORRAL_E_NONE);
	CHECK(described(b, "link", &st) == CORRAL_E_NONE && strcmp(st.kind, "link") == 0);
	CHECK(described(b, "file", &st) == CORRAL_E_NONE && st.mode == 0600);
	CHECK(described(b, "/", &st) == CORRAL_E_NONE && strcmp(st.kind, "directory") == 0);
	CHECK(described(b, "/usr", &st) == CORRAL_E_NONE && strcmp(st.kind, "directory") == 0);
	CHECK_INT(described(b, "nothing", &st), CORRAL_E_NOT_FOUND);
	CHECK_INT(changed(b, "nothing", 0600), CORRAL_E_NOT_FOUND);
	st.size = 3;
	CHECK(corral_files_stat(b->files, "file", &st, &b->err) != 0);
	CHECK_INT(b->err.kind, CORRAL_E_USAGE);
}

/* ---- grants and modes ---- */

static void grant(struct box *b) {
	make_dir(b, "more");
	put(b, "more/x", "more");
	rule(b, "fs.read", path_in(b, "ws-evil"));
	rule(b, "fs.write", path_in(b, "more"));
	rule(b, "fs.write", path_in(b, "out/file"));
}

static void check_grants(struct box *b) {
	struct corral_stat st;

	CHECK_INT(described(b, path_in(b, "ws-evil/file"), &st), CORRAL_E_NONE);
	CHECK_INT(changed(b, path_in(b, "ws-evil/file"), 0777), CORRAL_E_PROTECTED);
	CHECK_INT(deleted(b, path_in(b, "ws-evil/file"), 0), CORRAL_E_PROTECTED);
	CHECK_INT(deleted(b, path_in(b, "ws-evil"), R), CORRAL_E_PROTECTED);
	CHECK_INT(moved(b, path_in(b, "ws-evil/file"), "got", 0), CORRAL_E_PROTECTED);
	CHECK_INT(moved(b, "file", path_in(b, "ws-evil/new"), 0), CORRAL_E_PROTECTED);
	CHECK_INT(made(b, path_in(b, "ws-evil/new"), P), CORRAL_E_PROTECTED);
	has(b, "ws-evil/file", "EVIL");
	/* Another writable tree is another mount. */
	CHECK_INT(moved(b, "file", path_in(b, "more/y"), 0), CORRAL_E_FILE);
	CHECK_INT(b->err.sys_errno, EXDEV);
	CHECK(b->err.remedy[0] != '\0');
	CHECK_INT(moved(b, path_in(b, "more/x"), path_in(b, "more/y"), 0), CORRAL_E_NONE);
	CHECK_INT(made(b, path_in(b, "more/d/e"), P), CORRAL_E_NONE);
	CHECK_INT(deleted(b, path_in(b, "more/d"), R), CORRAL_E_NONE);
	/* A file that is granted by itself is a mount point: it can be written, not removed. */
	CHECK_INT(changed(b, path_in(b, "out/file"), 0640), CORRAL_E_NONE);
	CHECK_INT(deleted(b, path_in(b, "out/file"), 0), CORRAL_E_PROTECTED);
	CHECK_INT(moved(b, path_in(b, "out/file"), "got", 0), CORRAL_E_PROTECTED);
	CHECK_INT(moved(b, "file", path_in(b, "out/file"), CORRAL_MOVE_REPLACE),
		  CORRAL_E_PROTECTED);
	has(b, "out/file", "OUT");
	has(b, "ws/file", "text");
}

static void set_read_only(struct box *b) {
	rule(b, "mode", "read-only");
}

static void check_read_only(struct box *b) {
	CHECK_INT(made(b, "new", P), CORRAL_E_PROTECTED);
	CHECK_INT(moved(b, "file", "new", 0), CORRAL_E_PROTECTED);
	CHECK_INT(deleted(b, "dir", R), CORRAL_E_PROTECTED);
	CHECK_INT(changed(b, "file", 0777), CORRAL_E_PROTECTED);
	CHECK(strstr(b->err.message, "mode (corral_policy_set)") != NULL);
	has(b, "ws/dir/deep", "deep");
}

static void set_cow(struct box *b) {
	rule(b, "fs.cow", "true");
}

static void check_cow(struct box *b) {
	CHECK_INT(made(b, "new", P), CORRAL_E_PROTECTED);
	CHECK(strstr(b->err.message, "fs.cow") != NULL);
	CHECK_INT(deleted(b, "dir", R), CORRAL_E_PROTECTED);
	CHECK_INT(moved(b, "file", "new", 0), CORRAL_E_PROTECTED);
	CHECK_INT(changed(b, "file", 0777), CORRAL_E_PROTECTED);
	has(b, "ws/dir/deep", "deep");
}

/* commands.default is deny, and fs.tools the workspace. */
static void set_campaign(struct box *b) {
	make_dir(b, "more");
	rule(b, "profile", "campaign");
	rule(b, "fs.write", path_in(b, "more"));
}

static void check_campaign(struct box *b) {
	const char *const argv[] = {"mkdir", "new", NULL};
	char *text = NULL;
	int allowed = -1;

	REQUIRE(corral_command_check(b->policy, argv, CORRAL_TEXT, &text, &allowed, &b->err) == 0);
	free(text);
	CHECK_INT(allowed, 0);
	CHECK_INT(made(b, "new/deep", P), CORRAL_E_NONE);
	CHECK_INT(moved(b, "file", "new/deep/file", 0), CORRAL_E_NONE);
	CHECK_INT(changed(b, "new", 0700), CORRAL_E_NONE);
	CHECK_INT(deleted(b, "new", R), CORRAL_E_NONE);
	CHECK(!there(b, "ws/new"));
	CHECK_INT(made(b, path_in(b, "more/x/y"), P), CORRAL_E_OUTSIDE);
	CHECK(strstr(b->err.message, "fs.tools") != NULL);
	CHECK_INT(made(b, "a/../../more/x/y", P), CORRAL_E_NOT_FOUND);
	CHECK_INT(moved(b, "dir", path_in(b, "more/dir"), 0), CORRAL_E_OUTSIDE);
	CHECK_INT(made(b, ".git/hooks", P), CORRAL_E_PROTECTED);
	CHECK(!there(b, "more/x") && !there(b, "ws/a") && !there(b, "ws/.git"));
}

static void check_home(struct box *b) {
	CHECK_INT(made(b, path_in(b, "out/notes/deep"), P), CORRAL_E_NONE);
	CHECK_INT(write_kind(b, path_in(b, "out/notes/a"), "kept", 0), CORRAL_E_NONE);
	CHECK_INT(moved(b, path_in(b, "out/notes/a"), path_in(b, "out/notes/b"), 0), CORRAL_E_NONE);
	reads(b, path_in(b, "out/notes/b"), "kept");
	CHECK_INT(deleted(b, path_in(b, "out/notes"), R), CORRAL_E_NONE);
	CHECK(!there(b, "out/notes"));
	has(b, "out/file", "OUT");
	CHECK_INT(deleted(b, path_in(b, "out/file"), 0), CORRAL_E_NOT_FOUND);
	has(b, "out/file", "OUT");
}

/* ---- the tests ---- */

TEST(a_directory_is_made_with_its_parents) {
	both(NULL, check_directories);
}

TEST(an_entry_is_moved_and_replaces_only_on_request) {
	both(NULL, check_moves);
}

TEST(a_deletion_takes_links_and_not_their_targets) {
	both(NULL, check_deletions);
}

TEST(modes_are_set_without_special_bits_and_described) {
	both(NULL, check_modes);
}

TEST(grants_hold_for_names) {
	both(grant, check_grants);
}

TEST(a_read_only_mode_and_an_overlay_refuse_every_change) {
	both(set_read_only, check_read_only);
	both(set_cow, check_cow);
}

TEST(rules_about_commands_are_not_about_tools) {
	both(set_campaign, check_campaign);
}

TEST(a_kept_home_has_names_of_its_own) {
	both_with_home(set_home, check_home);
}

TESTS_MAIN
