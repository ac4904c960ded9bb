/* SPDX-License-Identifier: Apache-2.0 */
/* Changes that were kept apart, filled so as to cost whoever looks at them: nesting, hard
 * links, files that almost match; and what apply must keep or tell: modes, holes, drafts. */
#include "cow_world.h"

#include "base/clock.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

static bool big(const char *dir, const char *path, off_t size, const char *end) {
	auto_fd fd = open(in(dir, path).text, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	size_t len = strlen(end);
	return fd >= 0 && ftruncate(fd, size) == 0 &&
	       pwrite(fd, end, len, size - (off_t)len) == (ssize_t)len;
}

static char *shown(struct world *w, bool json) {
	struct buf out;
	struct cow_view v = {.json = json};
	buf_init(&out);
	CHECK_INT(cow_show(&w->cow, &w->changes, &v, &out, &w->e), 0);
	return buf_take(&out);
}

/* ---- what looking costs ---- */

static bool nest(const struct world *w, int depth) {
	int dir = open(w->upper, O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < depth && dir >= 0; i++) {
		int next = mkdirat(dir, "d", 0755) == 0
				   ? openat(dir, "d", O_PATH | O_DIRECTORY | O_CLOEXEC)
				   : -1;
		close(dir);
		dir = next;
	}
	bool fine = dir >= 0;
	close(dir);
	return fine;
}

static void *end_look_and_remove(void *arg) {
	struct world *w = arg;
	CHECK(finish_run(w) > 1000);
	if (!look(w)) {
		test_failed = true;
		return NULL;
	}
	auto_free char *text = shown(w, false);
	CHECK(strstr(text, "# added directory: d/d/d") != NULL);
	CHECK_INT(cow_remove(&w->cow, &w->e), 0);
	return NULL;
}

/* Threads of musl have 128 KiB, and a caller may give less. */
TEST(nesting_costs_no_stack) {
	struct world w;
	pthread_attr_t attr;
	pthread_t thread;
	REQUIRE(open_world(&w));
	REQUIRE(begin(&w));
	REQUIRE(nest(&w, 12000));
	REQUIRE(pthread_attr_init(&attr) == 0 && pthread_attr_setstacksize(&attr, 128 * 1024) == 0);
	REQUIRE(pthread_create(&thread, &attr, end_look_and_remove, &w) == 0);
	CHECK_INT(pthread_join(thread, NULL), 0);
	close_world(&w);
}

TEST(hard_links_are_shown_once) {
	struct world w;
	size_t size = (size_t)7 << 20;
	auto_free char *text = malloc(size + 1);
	REQUIRE(text != NULL && open_world(&w) && begin(&w));
	memset(text, 'x', size);
	for (size_t i = 79; i < size; i += 80) {
		text[i] = '\n';
	}
	text[size] = '\0';
	file(w.upper, "first", text, 0644);
	for (int i = 0; i < 100; i++) {
		char name[32];
		(void)snprintf(name, sizeof name, "link-%d", i);
		CHECK_INT(link(in(w.upper, "first").text, in(w.upper, name).text), 0);
	}
	CHECK_INT(finish_run(&w), 101);
	REQUIRE(look(&w));
	auto_free char *patch = shown(&w, false), *json = shown(&w, true);
	CHECK(strlen(patch) > size && strlen(patch) < 2 * size);
	CHECK(strlen(json) < 2 * size);
	CHECK(strstr(patch, "differ: the same file (hard link) as first\n") != NULL);
	close_world(&w);
}

TEST(all_that_is_shown_has_a_bound) {
	struct world w;
	REQUIRE(open_world(&w) && begin(&w));
	size_t size = (size_t)4 << 20;
	auto_free char *text = malloc(size + 1);
	REQUIRE(text != NULL);
	memset(text, 'y', size);
	text[size] = '\0';
	for (int i = 0; i < 40; i++) {
		char name[32];
		(void)snprintf(name, sizeof name, "file-%d", i);
		file(w.upper, name, text, 0644);
	}
	memset(text, '\n', size);
	file(w.upper, "a-line-a-byte", text, 0644);
	CHECK_INT(finish_run(&w), 41);
	REQUIRE(look(&w));
	auto_free char *patch = shown(&w, false);
	CHECK(strlen(patch) < (size_t)70 << 20);
	CHECK(strstr(patch, "b/a-line-a-byte differ: too large to be shown") != NULL);
	CHECK(strstr(patch, "differ: too large to be shown") != NULL);
	close_world(&w);
}

/* Files of one size that differ in their last byte: 4096 comparisons of 48 MB each. */
TEST(pairing_of_renames_ends_soon) {
	struct world w;
	REQUIRE(open_world(&w));
	for (int i = 0; i < 64; i++) {
		char name[32], end[2] = {(char)('0' + i), '\0'};
		(void)snprintf(name, sizeof name, "old-%d", i);
		REQUIRE(big(w.ws, name, (off_t)48 << 20, end));
	}
	REQUIRE(begin(&w));
	for (int i = 0; i < 64; i++) {
		char name[32];
		(void)snprintf(name, sizeof name, "old-%d", i);
		whiteout(&w, name);
		(void)snprintf(name, sizeof name, "new-%d", i);
		REQUIRE(big(w.upper, name, (off_t)48 << 20, "\n"));
	}
	int64_t before = clock_ms();
	CHECK_INT(finish_run(&w), 128);
	CHECK(clock_ms() - before < 15000); /* 2 s of pairing, on a busy machine */
	close_world(&w);
}

TEST(texts_of_lines_that_repeat_are_compared_soon) {
	size_t size = (size_t)2 << 20;
	auto_free char *was = malloc(size), *is = malloc(size);
	struct err e = {0};
	struct buf out;
	REQUIRE(was != NULL && is != NULL);
	for (size_t i = 0; i < size; i += 2) {
		memcpy(was + i, i % 8 == 0 ? "b\n" : "a\n", 2);
		memcpy(is + i, i % 10 == 0 ? "b\n" : "a\n", 2);
	}
	buf_init(&out);
	int64_t before = clock_ms();
	CHECK_INT(
		cow_text_diff((struct cow_text){was, size}, (struct cow_text){is, size}, &out, &e),
		0);
	CHECK(clock_ms() - before < 20000);
	buf_done(&out);
}

/* ---- what is told ---- */

TEST(each_mode_that_apply_sets_is_shown) {
	struct world w;
	REQUIRE(open_world(&w));
	folder(w.ws, "dir");
	REQUIRE(begin(&w));
	file(w.upper, "open", "o\n", 0777);
	file(w.upper, "group", "g\n", 0660);
	file(w.upper, "plain", "p\n", 0644);
	folder(w.upper, "wide");
	CHECK_INT(chmod(in(w.upper, "wide").text, 0777), 0);
	folder(w.upper, "usual");
	folder(w.upper, "dir");
	CHECK_INT(chmod(in(w.upper, "dir").text, 0700), 0);
	CHECK_INT(setxattr(in(w.upper, "plain").text, "user.note\x9b", "x", 1, 0), 0);
	CHECK_INT(finish_run(&w), 6);
	REQUIRE(look(&w));
	auto_free char *patch = shown(&w, false);
	CHECK(strstr(patch, "# mode 0777: open\n") != NULL);
	CHECK(strstr(patch, "# mode 0660: group\n") != NULL);
	CHECK(strstr(patch, "# added directory: wide\n# mode 0777: wide\n") != NULL);
	CHECK(strstr(patch, "# mode 0700 was 0755: dir\n") != NULL);
	CHECK(strstr(patch, "0644: plain") == NULL && strstr(patch, "0755: usual") == NULL);
	CHECK(strstr(patch, "# attribute \"user.note\\233\" set: plain\n") != NULL);
	close_world(&w);
}

TEST(the_modes_that_the_host_gives_directories_are_kept) {
	struct world w;
	struct cow_apply how = {0};
	struct cow_applied done;
	struct stat st;
	REQUIRE(open_world(&w));
	folder(w.ws, "copied");
	folder(w.ws, "both");
	folder(w.ws, "ours");
	REQUIRE(begin(&w));
	folder(w.upper, "copied"); /* as the overlay copies it, when a file in it is written */
	file(w.upper, "copied/new", "n\n", 0644);
	folder(w.upper, "both");
	CHECK_INT(chmod(in(w.upper, "both").text, 0775), 0);
	folder(w.upper, "ours");
	CHECK_INT(chmod(in(w.upper, "ours").text, 0775), 0);
	CHECK_INT(finish_run(&w), 3);
	CHECK_INT(chmod(in(w.ws, "copied").text, 0700), 0);
	CHECK_INT(chmod(in(w.ws, "both").text, 0700), 0);
	REQUIRE(look(&w));
	auto_free char *text = told(&w);
	CHECK_STR(text, "!mode both, added copied/new, mode ours");
	CHECK_INT(cow_apply(&w.cow, &how, &done, &w.e), -1);
	CHECK_INT(w.e.kind, ERR_REFUSED);
	how.force = true;
	CHECK_INT(cow_apply(&w.cow, &how, &done, &w.e), 0);
	CHECK(stat(in(w.ws, "copied").text, &st) == 0 && (st.st_mode & 0777) == 0700);
	CHECK(stat(in(w.ws, "ours").text, &st) == 0 && (st.st_mode & 0777) == 0775);
	close_world(&w);
}

/* ---- what apply does ---- */

TEST(holes_stay_holes) {
	struct world w;
	struct cow_apply how = {0};
	struct cow_applied done;
	struct stat st;
	REQUIRE(open_world(&w) && begin(&w));
	REQUIRE(big(w.upper, "sparse", (off_t)1 << 27, "end"));
	REQUIRE(big(w.upper, "hole", 4096, ""));
	CHECK_INT(finish_run(&w), 2);
	REQUIRE(look(&w));
	CHECK_INT(cow_apply(&w.cow, &how, &done, &w.e), 0);
	CHECK(stat(in(w.ws, "sparse").text, &st) == 0 && st.st_size == (off_t)1 << 27);
	CHECK(st.st_blocks * 512 < 1 << 20);
	CHECK(stat(in(w.ws, "hole").text, &st) == 0 && st.st_size == 4096);
	auto_fd fd = open(in(w.ws, "sparse").text, O_RDONLY | O_CLOEXEC);
	char end[4] = "";
	CHECK(pread(fd, end, 3, ((off_t)1 << 27) - 3) == 3 && streq(end, "end"));
	close_world(&w);
}

static int steps_left;

static void count_step(void *arg) {
	(void)arg;
	if (steps_left-- == 0) {
		_exit(9);
	}
}

/* 9 when the process was made to end at its n-th step. */
static int apply_until(struct world *w, int n, rlim_t file_size) {
	cow_close(&w->cow);
	pid_t pid = fork();
	if (pid == 0) {
		struct cow_apply how = {.step = count_step};
		struct cow_applied done;
		struct rlimit limit = {.rlim_cur = file_size, .rlim_max = file_size};
		steps_left = n;
		(void)signal(SIGXFSZ, SIG_IGN);
		if (file_size > 0 && setrlimit(RLIMIT_FSIZE, &limit) != 0) {
			_exit(2);
		}
		int rc = cow_open(&w->arena, w->state, ID, &w->cow, &w->e) == 0
				 ? cow_apply(&w->cow, &how, &done, &w->e)
				 : -1;
		bool says = strstr(w->e.fix, "2 of 3 changes were applied, 1 are still pending") !=
				    NULL &&
			    strstr(w->e.fix, "corral apply " ID) != NULL &&
			    strstr(w->e.fix, "corral discard " ID) != NULL;
		_exit(rc == 0 ? 0 : says ? 3 : 1);
	}
	int status = 0;
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	return WEXITSTATUS(status);
}

TEST(discard_takes_the_draft_of_a_killed_apply) {
	bool left = false;
	int n = 0;
	for (int status = 9; status == 9; n++) {
		struct world w;
		REQUIRE(n < 100);
		REQUIRE(open_world(&w));
		folder(w.ws, "sub");
		file(w.ws, "sub/turns", "x\n", 0644);
		REQUIRE(begin(&w));
		folder(w.upper, "sub");
		file(w.upper, "sub/new", "n\n", 0644);
		folder(w.upper, "sub/turns");
		opaque(&w, "sub/turns");
		CHECK_INT(finish_run(&w), 2);
		status = apply_until(&w, n, 0);
		auto_free char *killed = tree_of(w.ws);
		left = left || strstr(killed, ".corral-apply-") != NULL;
		if (status == 9) {
			/* As `corral discard` and the list of pending changes do. */
			(void)look(&w);
			CHECK_INT(cow_remove(&w.cow, &w.e), 0);
		}
		auto_free char *after = tree_of(w.ws);
		CHECK(strstr(after, ".corral-apply-") == NULL);
		close_world(&w);
		REQUIRE(!test_failed);
	}
	CHECK(left);
}

/* As on a full disk: a limit on the size of files, which the third passes. */
TEST(an_apply_that_stops_says_how_far_it_came) {
	struct world w;
	REQUIRE(open_world(&w) && begin(&w));
	file(w.upper, "a", "a\n", 0644);
	file(w.upper, "b", "b\n", 0644);
	REQUIRE(big(w.upper, "c", 1 << 20, "end"));
	CHECK_INT(finish_run(&w), 3);
	CHECK_INT(apply_until(&w, -1, 64 * 1024), 3);
	CHECK(access(in(w.ws, "b").text, F_OK) == 0 && access(in(w.ws, "c").text, F_OK) != 0);
	auto_free char *stopped = tree_of(w.ws);
	CHECK(strstr(stopped, ".corral-apply-") == NULL);
	REQUIRE(look(&w));
	auto_free char *text = told(&w);
	CHECK_STR(text, "added c");
	CHECK_INT(apply_until(&w, -1, 0), 0);
	CHECK(access(in(w.ws, "c").text, F_OK) == 0);
	close_world(&w);
}

TESTS_MAIN
