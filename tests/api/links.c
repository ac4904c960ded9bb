/* SPDX-License-Identifier: Apache-2.0 */
/* Links and other second names, by the file tools: judged by where they lead. */
#include "box.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

static void check_links(struct box *b) {
	make_link(b, "file", "ws/to-file");
	make_link(b, "dir", "ws/to-dir");
	make_link(b, "../../file", "ws/dir/up");
	make_link(b, "to-file", "ws/chain");
	make_link(b, "loop", "ws/loop");
	make_link(b, "../out/file", "ws/out-relative");
	make_link(b, path_in(b, "out/file"), "ws/out-absolute");
	make_link(b, path_in(b, "ws/dir/deep"), "ws/absolute");
	make_link(b, "secret/key", "ws/to-secret");
	make_link(b, "secret/../file", "ws/by-secret");
	make_link(b, "/proc/self/root/etc/passwd", "ws/magic");
	make_link(b, "/", "ws/root");
	reads(b, "to-file", "text");
	reads(b, "to-dir/deep", "deep");
	reads(b, "chain", "text");
	reads(b, "absolute", "deep");
	reads(b, "by-secret", "text");
	refuses(b, "dir/up", CORRAL_E_OUTSIDE);
	refuses(b, "loop", CORRAL_E_FILE);
	CHECK_INT(b->err.sys_errno, ELOOP);
	refuses(b, "out-relative", CORRAL_E_OUTSIDE);
	refuses(b, "out-absolute", CORRAL_E_OUTSIDE);
	refuses(b, "to-secret", CORRAL_E_SENSITIVE);
	refuses(b, "magic", CORRAL_E_OUTSIDE);
}

static void check_writing_by_links(struct box *b) {
	struct stat st;

	make_link(b, "file", "ws/to-file");
	make_link(b, "missing", "ws/dangling");
	make_link(b, "../out/file", "ws/to-out");
	make_link(b, "../out/new", "ws/to-new-out");
	make_link(b, "kept/rules", "ws/to-kept");
	CHECK_INT(write_kind(b, "to-file", "by link", 0), CORRAL_E_NONE);
	has(b, "ws/file", "by link");
	CHECK(lstat(path_in(b, "ws/to-file"), &st) == 0 && S_ISLNK(st.st_mode));
	CHECK_INT(write_kind(b, "dangling", "now there", 0), CORRAL_E_NONE);
	has(b, "ws/missing", "now there");
	refuses_write(b, "to-out", CORRAL_E_OUTSIDE);
	refuses_write(b, "to-new-out", CORRAL_E_OUTSIDE);
	refuses_write(b, "to-kept", CORRAL_E_PROTECTED);
	has(b, "out/file", "OUT");
	CHECK(access(path_in(b, "out/new"), F_OK) != 0);
}

/* A file that is granted by itself has no directory to put a draft in. */
static enum corral_error_kind link_kind(struct box *b, const char *words, const char *path) {
	b->err = (struct corral_error){0};
	return corral_files_symlink(b->files, words, path, &b->err) == 0 ? CORRAL_E_NONE
									 : b->err.kind;
}

static void check_symlinks(struct box *b) {
	char words[64] = "";
	struct stat st;

	make_link(b, "../out/file", "ws/out");
	CHECK_INT(link_kind(b, "../file", "dir/up"), CORRAL_E_NONE);
	CHECK(readlink(path_in(b, "ws/dir/up"), words, sizeof words - 1) == 7);
	reads(b, "dir/up", "text");
	CHECK_INT(link_kind(b, "not-there", "dangling"), CORRAL_E_NONE);
	CHECK_INT(link_kind(b, path_in(b, "ws/dir/./later"), "later"), CORRAL_E_NONE);
	CHECK_INT(link_kind(b, "kept/rules", "to-kept"), CORRAL_E_NONE);
	CHECK_INT(link_kind(b, "/usr/bin/env", "env"), CORRAL_E_OUTSIDE);
	CHECK_INT(link_kind(b, "/etc/passwd", "passwd"), CORRAL_E_OUTSIDE);
	CHECK_INT(link_kind(b, "/tmp/x", "tmp"), CORRAL_E_OUTSIDE);
	CHECK_INT(link_kind(b, "/proc/self/cwd/file", "cwd"), CORRAL_E_OUTSIDE);
	CHECK_INT(link_kind(b, "missing/../file", "by-missing"), CORRAL_E_OUTSIDE);
	CHECK_INT(link_kind(b, "../../out/file", "dir/bad"), CORRAL_E_OUTSIDE);
	CHECK_INT(link_kind(b, "/etc/../root/x", "bad"), CORRAL_E_OUTSIDE);
	CHECK_INT(link_kind(b, "out", "bad"), CORRAL_E_OUTSIDE);
	CHECK_INT(link_kind(b, "secret/key", "bad"), CORRAL_E_SENSITIVE);
	CHECK_INT(link_kind(b, "file", "kept/link"), CORRAL_E_PROTECTED);
	CHECK_INT(link_kind(b, "file", "file"), CORRAL_E_FILE);
	CHECK_INT(b->err.sys_errno, EEXIST);
	CHECK(access(path_in(b, "ws/bad"), F_OK) != 0);
	CHECK(lstat(path_in(b, "ws/env"), &st) != 0);
}

/* The same words lead elsewhere on the host: HOME is private, the workspace has another
 * path, and a granted tree is the one that the host has too. */
static void check_symlinks_on_the_host(struct box *b) {
	const char *home = path_in(b, "out");

	make_dir(b, "out/.ssh");
	put(b, "out/.ssh/id_rsa", "KEY");
	CHECK_INT(write_kind(b, path_in(b, "out/.ssh/id_rsa"), "ours", CORRAL_WRITE_PARENTS),
		  CORRAL_E_NONE);
	CHECK_INT(write_kind(b, path_in(b, "out/notes"), "ours", 0), CORRAL_E_NONE);
	CHECK_INT(link_kind(b, path_in(b, "out/.ssh/id_rsa"), "L0"), CORRAL_E_OUTSIDE);
	CHECK_INT(link_kind(b, path_in(b, "out/notes"), "L1"), CORRAL_E_OUTSIDE);
	CHECK_INT(link_kind(b, path_in(b, "out/.ssh/later"), "L2"), CORRAL_E_OUTSIDE);
	CHECK_INT(link_kind(b, home, "L3"), CORRAL_E_OUTSIDE);
	/* Nothing is laid over what the caller cannot read anyway. */
	CHECK_INT(link_kind(b, "/etc/shadow", "L4"),
		  access("/etc/shadow", R_OK) == 0 ? CORRAL_E_SENSITIVE : CORRAL_E_OUTSIDE);
	/* By a link of a command's, which may have any words. */
	make_link(b, path_in(b, "out"), "ws/to-home");
	CHECK_INT(link_kind(b, "to-home/notes", "L5"), CORRAL_E_OUTSIDE);
	CHECK_INT(link_kind(b, "dir/../to-home/.ssh/id_rsa", "L6"), CORRAL_E_OUTSIDE);
	/* In the private home itself a relative target stays in it on both sides. */
	CHECK_INT(link_kind(b, "notes", path_in(b, "out/n2")), CORRAL_E_NONE);
	CHECK_INT(link_kind(b, path_in(b, "out/notes"), path_in(b, "out/n3")), CORRAL_E_OUTSIDE);
	CHECK_INT(link_kind(b, "../more/x", path_in(b, "out/n4")), CORRAL_E_OUTSIDE);
	/* A tree that is writable and has the same path on both sides. */
	CHECK_INT(link_kind(b, path_in(b, "more/x"), "to-more"), CORRAL_E_NONE);
	CHECK_INT(link_kind(b, path_in(b, "ws-evil/file"), "to-read"), CORRAL_E_OUTSIDE);
}

static void set_private_home(struct box *b) {
	set_home(b);
	make_dir(b, "more");
	rule(b, "fs.write", path_in(b, "more"));
	rule(b, "fs.read", path_in(b, "ws-evil"));
}

/* Made before, by the host: a second name of a file that a pattern denies. */
static void check_other_names(struct box *b) {
	put(b, "ws/dir/prod.env", "SECRET");
	put(b, "ws/plain", "plain");
	REQUIRE(link(path_in(b, "ws/dir/prod.env"), path_in(b, "ws/innocent")) == 0);
	REQUIRE(link(path_in(b, "ws/plain"), path_in(b, "ws/dir/plain2")) == 0);
	refuses(b, "dir/prod.env", CORRAL_E_SENSITIVE);
	refuses(b, "innocent", CORRAL_E_SENSITIVE);
	CHECK(strstr(b->err.message, "hard link") != NULL);
	refuses_write(b, "innocent", CORRAL_E_SENSITIVE);
	make_link(b, "../innocent", "ws/dir/by-link");
	refuses(b, "dir/by-link", CORRAL_E_SENSITIVE);
	reads(b, "plain", "plain");
	reads(b, "dir/plain2", "plain");
	/* A directory that its owner closed may hold such a name. */
	make_dir(b, "ws/closed");
	REQUIRE(rename(path_in(b, "ws/dir/prod.env"), path_in(b, "ws/closed/prod.env")) == 0);
	refuses(b, "innocent", CORRAL_E_SENSITIVE);
	REQUIRE(chmod(path_in(b, "ws/closed"), 0) == 0);
	refuses(b, "innocent", CORRAL_E_SENSITIVE);
	refuses(b, "plain", CORRAL_E_SENSITIVE);
	CHECK(strstr(b->err.message, "several hard links") != NULL);
	reads(b, "file", "text");
	REQUIRE(chmod(path_in(b, "ws/closed"), 0700) == 0);
}

static void deny_pattern(struct box *b) {
	rule(b, "fs.deny", "*.env");
}

static void check_rejected_links(struct box *b) {
	make_link(b, "file", "ws/to-file");
	make_link(b, "dir", "ws/to-dir");
	corral_files_reject_symlinks(b->files);
	reads(b, "file", "text");
	refuses(b, "to-file", CORRAL_E_OUTSIDE);
	refuses(b, "to-dir/deep", CORRAL_E_OUTSIDE);
	refuses_write(b, "to-file", CORRAL_E_OUTSIDE);
}

static void set_elsewhere(struct box *b) {
	rule(b, "fs.workspace_at", "/workspace");
}

static void check_elsewhere(struct box *b) {
	CHECK_INT(link_kind(b, "/workspace/file", "absolute"), CORRAL_E_OUTSIDE);
	CHECK_INT(link_kind(b, "dir/deep", "relative"), CORRAL_E_NONE);
	CHECK_INT(link_kind(b, "../usr/bin/env", "up"), CORRAL_E_OUTSIDE);
	make_link(b, "/workspace/dir/deep", "ws/inside");
	make_link(b, path_in(b, "ws/file"), "ws/of-the-host");
	reads(b, "/workspace/file", "text");
	reads(b, "inside", "deep");
	refuses(b, "of-the-host", CORRAL_E_OUTSIDE);
	refuses(b, path_in(b, "ws/file"), CORRAL_E_OUTSIDE);
	refuses(b, "/workspace/secret/key", CORRAL_E_SENSITIVE);
	refuses_write(b, "/workspace/kept/rules", CORRAL_E_PROTECTED);
}

TEST(links_are_judged_by_where_they_lead_on_the_host) {
	both_with_home(set_private_home, check_symlinks_on_the_host);
}

TEST(links_lead_where_they_lead_inside) {
	both(NULL, check_links);
}

TEST(a_last_link_is_written_through_only_inside) {
	both(NULL, check_writing_by_links);
}

TEST(links_are_made_to_inside_only) {
	both(NULL, check_symlinks);
}

TEST(a_denied_file_is_not_read_by_another_of_its_names) {
	both(deny_pattern, check_other_names);
}

TEST(links_can_be_rejected_altogether) {
	both(NULL, check_rejected_links);
}

TEST(a_workspace_at_another_path_is_named_by_that) {
	both(set_elsewhere, check_elsewhere);
}

TESTS_MAIN
