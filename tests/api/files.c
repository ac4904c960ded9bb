/* SPDX-License-Identifier: Apache-2.0 */
/* The file tools, as a program that knows corral.h alone has them.  Every test is
 * made twice: with the kernel's walk, and name by name. */
#include "box.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* ---- names ---- */

static void check_names(struct box *b) {
	reads(b, "file", "text");
	reads(b, "./dir//deep", "deep");
	reads(b, "dir/../file", "text");
	reads(b, "..foo", "dots");
	reads(b, path_in(b, "ws/file"), "text");
	reads(b, path_in(b, "ws/../ws/file"), "text");
	refuses(b, path_in(b, "out/../ws/file"), CORRAL_E_OUTSIDE); /* there is no "out" inside */
	refuses(b, "", CORRAL_E_USAGE);
	refuses(b, "file/", CORRAL_E_FILE);
	CHECK_INT(b->err.sys_errno, ENOTDIR);
	refuses(b, "file/..", CORRAL_E_FILE);
	refuses(b, "nothing", CORRAL_E_NOT_FOUND);
	refuses(b, "nothing/x", CORRAL_E_NOT_FOUND);
	refuses(b, "dir", CORRAL_E_FILE_KIND);
	refuses(b, path_in(b, "ws-evil/file"), CORRAL_E_OUTSIDE);
	refuses(b, "../ws-evil/file", CORRAL_E_OUTSIDE);
	refuses(b, "../out/file", CORRAL_E_OUTSIDE);
	refuses(b, "/root/x", CORRAL_E_OUTSIDE);
	refuses(b, "/tmp/x", CORRAL_E_OUTSIDE);
	refuses(b, "/proc/self/environ", CORRAL_E_OUTSIDE);
	refuses(b, "/dev/null", CORRAL_E_OUTSIDE);
	char longest[PATH_MAX + 8];
	memset(longest, 'x', sizeof longest);
	longest[sizeof longest - 1] = '\0';
	refuses(b, longest, CORRAL_E_FILE);
	CHECK_INT(b->err.sys_errno, ENAMETOOLONG);
}

static void check_refusals(struct box *b) {
	refuses(b, "secret/key", CORRAL_E_SENSITIVE);
	CHECK(strstr(b->err.message, "is denied by") != NULL);
	CHECK(strstr(b->err.message, "fs.deny (corral_policy_set)") != NULL);
	refuses(b, "secret/no-such", CORRAL_E_SENSITIVE);
	refuses(b, "secret", CORRAL_E_SENSITIVE);
	reads(b, "kept/rules", "rules");
	refuses_write(b, "kept/rules", CORRAL_E_PROTECTED);
	CHECK(strstr(b->err.message, "is read-only: protected by") != NULL);
	CHECK(strstr(b->err.message, "fs.protect") != NULL);
	refuses_write(b, "kept/new", CORRAL_E_PROTECTED);
	refuses_write(b, "secret/new", CORRAL_E_SENSITIVE);
	refuses_write(b, "/usr/new", CORRAL_E_PROTECTED);
	refuses_write(b, "/new", CORRAL_E_OUTSIDE);
	CHECK(strstr(b->err.message, "not mounted in the sandbox") != NULL);
	refuses_write(b, "../ws-evil/file", CORRAL_E_OUTSIDE);
	has(b, "ws-evil/file", "EVIL");
	has(b, "ws/kept/rules", "rules");
	has(b, "ws/secret/key", "SECRET");
}

/* ---- writing ---- */

static void check_writing(struct box *b) {
	struct stat st;

	REQUIRE(chmod(path_in(b, "ws/file"), 04750) == 0);
	CHECK_INT(write_kind(b, "file", "new", 0), CORRAL_E_NONE);
	has(b, "ws/file", "new");
	REQUIRE(stat(path_in(b, "ws/file"), &st) == 0);
	CHECK_INT(st.st_mode & 07777, 0750);
	mode_t before = umask(027);
	CHECK_INT(write_kind(b, "made", "made", 0), CORRAL_E_NONE);
	umask(before);
	REQUIRE(stat(path_in(b, "ws/made"), &st) == 0);
	CHECK_INT(st.st_mode & 07777, 0640);
	CHECK_INT(write_kind(b, "made", "x", CORRAL_WRITE_NEW), CORRAL_E_FILE);
	CHECK_INT(b->err.sys_errno, EEXIST);
	has(b, "ws/made", "made");
	CHECK_INT(write_kind(b, "fresh", "fresh", CORRAL_WRITE_NEW), CORRAL_E_NONE);
	CHECK_INT(write_kind(b, "a/b/c", "x", 0), CORRAL_E_NOT_FOUND);
	CHECK_INT(write_kind(b, "a/b/c", "abc", CORRAL_WRITE_PARENTS), CORRAL_E_NONE);
	has(b, "ws/a/b/c", "abc");
	CHECK_INT(write_kind(b, "kept/b/c", "x", CORRAL_WRITE_PARENTS), CORRAL_E_PROTECTED);
	CHECK(access(path_in(b, "ws/kept/b"), F_OK) != 0);
	CHECK_INT(write_kind(b, "dir", "x", 0), CORRAL_E_FILE_KIND);
	CHECK_INT(write_kind(b, "new/", "x", 0), CORRAL_E_NOT_FOUND);
	CHECK_INT(write_kind(b, "file", "", 0), CORRAL_E_NONE);
	has(b, "ws/file", "");
	has_entries(b, ".", 8); /* ..foo a dir file fresh kept made secret */
}

/* What leads git to a repository, further down than the workspace's own. */
static void check_git_link(struct box *b) {
	REQUIRE(mkdir(path_in(b, "ws/a"), 0755) == 0 && mkdir(path_in(b, "ws/a/b"), 0755) == 0);
	put(b, "ws/a/b/.git", "gitdir: x\n");
	CHECK_INT(write_kind(b, "a/b/.git", "gitdir: y\n", 0), CORRAL_E_PROTECTED);
	CHECK(strstr(b->err.message, "leads git to a repository") != NULL);
	CHECK(strstr(b->err.message, "fs.protect") != NULL);
	has(b, "ws/a/b/.git", "gitdir: x\n");
	CHECK_INT(write_kind(b, "a/.git", "gitdir: b\n", 0), CORRAL_E_NONE);
	has(b, "ws/a/.git", "gitdir: b\n");
	/* Beside it the directory would become a repository itself. */
	CHECK_INT(write_kind(b, "a/b/HEAD", "ref: refs/heads/x\n", 0), CORRAL_E_PROTECTED);
	CHECK(strstr(b->err.message, "instead of the one") != NULL);
	CHECK_INT(write_kind(b, "a/b/c/HEAD", "x\n", CORRAL_WRITE_PARENTS), CORRAL_E_NONE);
}

static void check_file_grant(struct box *b) {
	struct stat before, after;

	REQUIRE(stat(path_in(b, "out/file"), &before) == 0);
	CHECK_INT(write_kind(b, path_in(b, "out/file"), "longer than it was", 0), CORRAL_E_NONE);
	CHECK_INT(write_kind(b, path_in(b, "out/file"), "short", 0), CORRAL_E_NONE);
	has(b, "out/file", "short");
	REQUIRE(stat(path_in(b, "out/file"), &after) == 0);
	CHECK(before.st_ino == after.st_ino);
	refuses_write(b, path_in(b, "out/other"), CORRAL_E_OUTSIDE);
}

static int edit(struct box *b, const char *old, const char *new, int all, size_t *count) {
	struct corral_edit edit = {.old_text = old, .new_text = new, .all = all};
	b->err = (struct corral_error){0};
	return corral_files_edit(b->files, "text", &edit, count, &b->err);
}

static void check_editing(struct box *b) {
	size_t count = 0;

	put(b, "ws/text", "one two one\n");
	CHECK(edit(b, "three", "x", 0, &count) != 0 && b->err.kind == CORRAL_E_NO_MATCH);
	CHECK(edit(b, "one", "x", 0, &count) != 0 && b->err.kind == CORRAL_E_SEVERAL);
	CHECK(strstr(b->err.message, "2 times") != NULL);
	CHECK(edit(b, "", "x", 0, &count) != 0 && b->err.kind == CORRAL_E_USAGE);
	has(b, "ws/text", "one two one\n");
	CHECK(edit(b, "two", "2", 0, &count) == 0 && count == 1);
	has(b, "ws/text", "one 2 one\n");
	CHECK(edit(b, "one", "oneone", 1, &count) == 0 && count == 2);
	has(b, "ws/text", "oneone 2 oneone\n");
	struct corral_edit kept = {.old_text = "rules", .new_text = "x"};
	CHECK(corral_files_edit(b->files, "kept/rules", &kept, NULL, &b->err) != 0);
	CHECK_INT(b->err.kind, CORRAL_E_PROTECTED);
}

/* ---- kinds ---- */

static void check_kinds(struct box *b) {
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(at.sun_path, sizeof at.sun_path, "%s", path_in(b, "ws/socket"));
	REQUIRE(bind(fd, (struct sockaddr *)&at, sizeof at) == 0);
	REQUIRE(mkfifo(path_in(b, "ws/fifo"), 0644) == 0);
	static const char *const names[] = {"fifo", "socket"};
	alarm(60); /* a FIFO that is opened waits for a writer */
	for (size_t i = 0; i < 2; i++) {
		refuses(b, names[i], CORRAL_E_FILE_KIND);
		refuses_write(b, names[i], CORRAL_E_FILE_KIND);
	}
	alarm(0);
	close(fd);
}

static int refuse_secret(void *arg, const char *bytes, size_t n) {
	*(size_t *)arg = n;
	return memmem(bytes, n, "TOKEN", 5) != NULL;
}

static void check_sending(struct box *b) {
	size_t seen = 0, len = 0;
	struct corral_scan scan = {.scan = refuse_secret, .arg = &seen};
	char *bytes = NULL;

	put(b, "ws/leak", "a TOKEN in it");
	CHECK(corral_files_send(b->files, "leak", &scan, &bytes, &len, &b->err) != 0);
	CHECK_INT(b->err.kind, CORRAL_E_LEAK);
	CHECK_INT(seen, 13);
	REQUIRE(corral_files_send(b->files, "file", &scan, &bytes, &len, &b->err) == 0);
	CHECK(len == 4 && strcmp(bytes, "text") == 0);
	free(bytes);
	REQUIRE(truncate(path_in(b, "ws/leak"), 25 * 1024 * 1024) == 0);
	REQUIRE(corral_files_send(b->files, "leak", NULL, &bytes, &len, &b->err) == 0);
	CHECK_INT(len, 25 * 1024 * 1024);
	free(bytes);
	REQUIRE(truncate(path_in(b, "ws/leak"), 25 * 1024 * 1024 + 1) == 0);
	CHECK(corral_files_send(b->files, "leak", NULL, &bytes, &len, &b->err) != 0);
	CHECK_INT(b->err.kind, CORRAL_E_TOO_LARGE);
	CHECK(corral_files_send(b->files, "../out/file", NULL, &bytes, &len, &b->err) != 0);
	CHECK_INT(b->err.kind, CORRAL_E_OUTSIDE);
}

/* Synthetic: an example of its vendor's documentation. */
#define ACCESS_KEY                                                                                 \
	"AKIAIOSFODNN7"                                                                            \
	"EXAMPLE"

static void put_key(struct box *b) {
	put(b, "ws/keys", "id " ACCESS_KEY " end");
}

static void check_scan_block(struct box *b) {
	char *bytes = NULL;
	size_t len = 0;

	put_key(b);
	CHECK(corral_files_send(b->files, "keys", NULL, &bytes, &len, &b->err) != 0);
	CHECK_INT(b->err.kind, CORRAL_E_LEAK);
	CHECK(strstr(b->err.message, "aws-access-key-id") != NULL);
	CHECK(strstr(b->err.message, ACCESS_KEY) == NULL);
	reads(b, "keys", "id " ACCESS_KEY " end"); /* only sending is scanned */
}

static void set_scan_redact(struct box *b) {
	rule(b, "scan.files", "redact");
}

static void set_scan_off(struct box *b) {
	rule(b, "scan.files", "off");
}

static void sends(struct box *b, const char *wanted) {
	char *bytes = NULL;
	size_t len = 0;

	put_key(b);
	REQUIRE(corral_files_send(b->files, "keys", NULL, &bytes, &len, &b->err) == 0);
	CHECK_STR(bytes, wanted);
	CHECK_INT(len, strlen(wanted));
	free(bytes);
}

static void check_scan_redact(struct box *b) {
	sends(b, "id [redacted:aws-access-key-id] end");
}

static void check_scan_off(struct box *b) {
	sends(b, "id " ACCESS_KEY " end");
}

static void check_ranges(struct box *b) {
	struct corral_range range = {.offset = 1, .length = 2};
	char *bytes = NULL;
	size_t len = 0;

	REQUIRE(corral_files_read(b->files, "file", &range, &bytes, &len, &b->err) == 0);
	CHECK(len == 2 && strcmp(bytes, "ex") == 0);
	CHECK_INT(range.size, 4);
	free(bytes);
	range.offset = 100;
	REQUIRE(corral_files_read(b->files, "file", &range, &bytes, &len, &b->err) == 0);
	CHECK(len == 0 && bytes[0] == '\0');
	free(bytes);
	range = (struct corral_range){.offset = UINT64_MAX, .length = 1};
	CHECK(corral_files_read(b->files, "file", &range, &bytes, &len, &b->err) != 0);
	range = (struct corral_range){.length = SIZE_MAX};
	CHECK(corral_files_read(b->files, "file", &range, &bytes, &len, &b->err) != 0);
	CHECK_INT(b->err.kind, CORRAL_E_TOO_LARGE);
}

/* ---- listing ---- */

static const char *kind_in(const struct corral_entry *entries, size_t count, const char *name) {
	for (size_t i = 0; i < count; i++) {
		if (strcmp(entries[i].name, name) == 0) {
			return entries[i].kind;
		}
	}
	return "absent";
}

static void check_listing(struct box *b) {
	struct corral_entry *entries = NULL;
	size_t count = 0;

	make_link(b, "file", "ws/link");
	put(b, "ws/\xff\n", "bytes");
	REQUIRE(corral_files_list(b->files, ".", &entries, &count, &b->err) == 0);
	CHECK_INT(count, 7);
	CHECK_STR(kind_in(entries, count, "file"), "file");
	CHECK_STR(kind_in(entries, count, "dir"), "directory");
	CHECK_STR(kind_in(entries, count, "link"), "link");
	CHECK_STR(kind_in(entries, count, "secret"), "denied");
	CHECK_STR(kind_in(entries, count, "kept"), "directory");
	CHECK_STR(kind_in(entries, count, "\xff\n"), "file");
	for (size_t i = 1; i < count; i++) {
		CHECK(strcmp(entries[i - 1].name, entries[i].name) < 0);
	}
	free(entries);
	REQUIRE(corral_files_list(b->files, "/", &entries, &count, &b->err) == 0);
	CHECK_STR(kind_in(entries, count, "usr"), "directory");
	CHECK_STR(kind_in(entries, count, "tmp"), "directory");
	CHECK_STR(kind_in(entries, count, "boot"), "absent");
	free(entries);
	/* Of the directories above only the way to the workspace exists. */
	REQUIRE(corral_files_list(b->files, b->top, &entries, &count, &b->err) == 0);
	CHECK(count == 1 && strcmp(entries[0].name, "ws") == 0);
	free(entries);
	CHECK(corral_files_list(b->files, "secret", &entries, &count, &b->err) != 0);
	CHECK_INT(b->err.kind, CORRAL_E_SENSITIVE);
	CHECK(corral_files_list(b->files, "file", &entries, &count, &b->err) != 0);
	CHECK_INT(b->err.kind, CORRAL_E_FILE_KIND);
	CHECK(corral_files_list(b->files, "../out", &entries, &count, &b->err) != 0);
	CHECK_INT(b->err.kind, CORRAL_E_OUTSIDE);
}

/* ---- the verdict alone ---- */

static void check_verdicts(struct box *b) {
	struct corral_check check = {.path = "kept/rules", .write = 1};
	char *text = NULL;
	int allowed = -1;

	REQUIRE(corral_files_check(b->files, &check, CORRAL_JSON, &text, &allowed, &b->err) == 0);
	CHECK_INT(allowed, 0);
	CHECK(strstr(text, "\"error\":\"protected\",\"rule\":\"fs.protect\","
			   "\"origin\":\"corral_policy_set\"") != NULL);
	free(text);
	check.write = 0;
	REQUIRE(corral_files_check(b->files, &check, CORRAL_TEXT, &text, &allowed, &b->err) == 0);
	CHECK_INT(allowed, 1);
	CHECK(strncmp(text, "allowed: read ", 14) == 0);
	free(text);
	check.path = "secret/no-such";
	REQUIRE(corral_files_check(b->files, &check, CORRAL_JSON, &text, &allowed, &b->err) == 0);
	CHECK(allowed == 0 && strstr(text, "\"exists\":null,\"error\":\"sensitive\"") != NULL);
	free(text);
	check.path = "";
	CHECK(corral_files_check(b->files, &check, CORRAL_JSON, &text, &allowed, &b->err) != 0);
}

static void grant_file(struct box *b) {
	rule(b, "fs.write", path_in(b, "out/file"));
}

static void set_read_only(struct box *b) {
	rule(b, "mode", "read-only");
}

static void set_small(struct box *b) {
	rule(b, "limits.file_size", "8");
}

static void check_read_only(struct box *b) {
	reads(b, "file", "text");
	refuses_write(b, "file", CORRAL_E_PROTECTED);
	CHECK(strstr(b->err.message, "mode (corral_policy_set)") != NULL);
}

static void set_campaign(struct box *b) {
	rule(b, "profile", "campaign");
}

static void check_campaign(struct box *b) {
	struct corral_entry *entries = NULL;
	size_t count = 0;

	reads(b, "file", "text");
	refuses(b, "/etc/passwd", CORRAL_E_OUTSIDE);
	CHECK(strstr(b->err.message, "fs.tools") != NULL);
	refuses(b, "/usr/bin/env", CORRAL_E_OUTSIDE);
	make_link(b, "/etc/passwd", "ws/led");
	refuses(b, "led", CORRAL_E_OUTSIDE);
	refuses_write(b, "/etc/x", CORRAL_E_OUTSIDE);
	CHECK(corral_files_list(b->files, "/", &entries, &count, &b->err) != 0);
	CHECK_INT(b->err.kind, CORRAL_E_OUTSIDE);
	CHECK(corral_files_list(b->files, ".", &entries, &count, &b->err) == 0);
	free(entries);
}

static void check_small(struct box *b) {
	CHECK_INT(write_kind(b, "file", "12345678", 0), CORRAL_E_NONE);
	CHECK_INT(write_kind(b, "file", "123456789", 0), CORRAL_E_TOO_LARGE);
	has(b, "ws/file", "12345678");
}

static void check_modes(struct box *b) {
	REQUIRE(chmod(path_in(b, "ws/file"), 0400) == 0);
	refuses_write(b, "file", CORRAL_E_FILE);
	CHECK_INT(b->err.sys_errno, EACCES);
	has(b, "ws/file", "text");
	REQUIRE(chmod(path_in(b, "ws/file"), 0200) == 0);
	refuses(b, "file", CORRAL_E_FILE);
	CHECK_INT(b->err.sys_errno, EACCES);
}

/* What a tool writes into the home of a workspace a command finds there, though no run
 * made that home before. */
static void check_home(struct box *b) {
	const char *argv[] = {"/bin/cat", path_in(b, "out/notes"), NULL};
	struct corral_result *result = NULL;

	CHECK_INT(write_kind(b, path_in(b, "out/notes"), "kept", 0), CORRAL_E_NONE);
	CHECK(access(path_in(b, "out/notes"), F_OK) != 0);
	reads(b, path_in(b, "out/notes"), "kept");
	REQUIRE(corral_run(b->policy, argv, NULL, &result, &b->err) == 0);
	CHECK_STR(corral_result_stdout(result, NULL, NULL), "kept");
	corral_result_free(result);
}

TEST(a_kept_home_is_the_same_for_tools_and_commands) {
	both_with_home(set_home, check_home);
}

TEST(names_mean_what_they_mean_inside) {
	both(NULL, check_names);
}

TEST(each_refusal_has_its_own_name_rule_and_remedy) {
	both(NULL, check_refusals);
}

TEST(a_file_is_replaced_at_once_and_keeps_its_mode) {
	both(NULL, check_writing);
}

TEST(what_leads_git_to_a_repository_stays) {
	both(NULL, check_git_link);
}

TEST(a_file_granted_by_itself_is_written_in_place) {
	both(grant_file, check_file_grant);
}

TEST(an_edit_is_exact_and_unique_or_all) {
	both(NULL, check_editing);
}

TEST(what_is_no_regular_file_is_refused_without_waiting) {
	both(NULL, check_kinds);
}

TEST(what_is_sent_was_scanned_and_is_small) {
	both(NULL, check_sending);
}

TEST(a_file_with_a_secret_is_sent_as_scan_files_says) {
	both(NULL, check_scan_block);
	both(set_scan_redact, check_scan_redact);
	both(set_scan_off, check_scan_off);
}

TEST(a_part_of_a_file_is_read_by_offset_and_length) {
	both(NULL, check_ranges);
}

TEST(a_listing_shows_what_is_seen_inside) {
	both(NULL, check_listing);
}

TEST(a_verdict_names_error_rule_and_origin) {
	both(NULL, check_verdicts);
}

TEST(a_read_only_mode_is_the_reason_that_is_told) {
	both(set_read_only, check_read_only);
}

TEST(the_tools_of_a_campaign_stay_in_the_workspace) {
	both(set_campaign, check_campaign);
}

TEST(a_file_does_not_grow_past_the_limit_of_commands) {
	both(set_small, check_small);
}

TEST(modes_hold_for_root_as_they_do_inside) {
	both(NULL, check_modes);
}

TEST(a_handle_that_is_null_is_an_error) {
	struct corral_error err = {0};
	struct corral_files *files = NULL;
	char *bytes = NULL;
	size_t len = 0;

	CHECK(corral_files_new(NULL, &files, &err) != 0 && err.kind == CORRAL_E_USAGE);
	CHECK(corral_files_read(NULL, "x", NULL, &bytes, &len, &err) != 0);
	corral_files_free(NULL);
}

TESTS_MAIN
