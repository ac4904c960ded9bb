/* SPDX-License-Identifier: Apache-2.0 */
/* A workspace and changes of it, for the tests of src/cow.
 *
 * The upper tree is filled by hand as the kernel fills it: a character device 0/0 where
 * something was deleted, an attribute on a directory that hides the one beneath. */
#ifndef CORRAL_TESTS_COW_WORLD_H
#define CORRAL_TESTS_COW_WORLD_H

#include "test.h"

#include "base/auto.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "cow/cow.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

/* ---- a workspace and changes of it ---- */

#define ID "abc234"

struct world {
	char dir[64], state[80], ws[80], upper[120];
	struct arena arena;
	struct cow_run run;
	struct cow cow;
	struct cow_changes changes;
	struct err e;
};

/* dir/path of the upper tree or the workspace. */
struct name {
	char text[PATH_MAX];
};

static inline struct name in(const char *dir, const char *path) {
	struct name n;
	(void)snprintf(n.text, sizeof n.text, "%s/%s", dir, path);
	return n;
}

static inline void file(const char *dir, const char *path, const char *text, mode_t mode) {
	struct name n = in(dir, path);
	auto_fd fd = open(n.text, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	CHECK(fd >= 0 && fd_write_all(fd, text, strlen(text)) == 0 && fchmod(fd, mode) == 0);
}

static inline void folder(const char *dir, const char *path) {
	CHECK_INT(mkdir(in(dir, path).text, 0755), 0);
}

static inline void whiteout(const struct world *w, const char *path) {
	CHECK_INT(mknod(in(w->upper, path).text, S_IFCHR, makedev(0, 0)), 0);
}

static inline void opaque(const struct world *w, const char *path) {
	CHECK_INT(setxattr(in(w->upper, path).text, "user.overlay.opaque", "y", 1, 0), 0);
}

static inline bool open_world(struct world *w) {
	*w = (struct world){.cow = {.parent = -1, .dir = -1, .upper = -1, .lower = -1}};
	(void)snprintf(w->dir, sizeof w->dir, "/tmp/corral-test-cow-XXXXXX");
	if (mkdtemp(w->dir) == NULL) {
		return false;
	}
	(void)snprintf(w->state, sizeof w->state, "%s/state", w->dir);
	(void)snprintf(w->ws, sizeof w->ws, "%s/ws", w->dir);
	(void)snprintf(w->upper, sizeof w->upper, "%s/cow/" ID "/upper", w->state);
	arena_init(&w->arena);
	return mkdir(w->ws, 0755) == 0;
}

/* The workspace is furnished; the run begins. */
static inline bool begin(struct world *w) {
	const char *dir = path_join(&w->arena, w->state, "cow/" ID);
	const struct timespec moment = {.tv_nsec = 20000000}; /* files are stamped by ticks */
	(void)nanosleep(&moment, NULL);
	bool fine = cow_begin(dir, w->ws, &w->run, &w->e) == 0;
	(void)nanosleep(&moment, NULL);
	return fine;
}

static inline int64_t finish_run(struct world *w) {
	int64_t n = -1;
	CHECK_INT(cow_end(&w->run, &n, &w->e), 0);
	return n;
}

static inline bool look(struct world *w) {
	cow_close(&w->cow);
	return cow_open(&w->arena, w->state, ID, &w->cow, &w->e) == 0 &&
	       cow_walk(&w->cow, &w->changes, &w->e) == 0;
}

static inline int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at) {
	(void)st, (void)kind, (void)at;
	return remove(path);
}

static inline int open_one(const char *path, const struct stat *st, int kind, struct FTW *at) {
	(void)st, (void)at;
	return kind == FTW_DNR || kind == FTW_D ? chmod(path, 0700) : 0;
}

static inline void close_world(struct world *w) {
	cow_close(&w->cow);
	arena_done(&w->arena);
	for (int level = 0; level < 3; level++) {
		(void)nftw(w->dir, open_one, 64, FTW_PHYS);
	}
	(void)nftw(w->dir, remove_one, 64, FTW_PHYS | FTW_DEPTH);
	CHECK(access(w->dir, F_OK) != 0);
}

/* "kind path" of each change, with "!" before one that has a conflict. */
static inline char *told(const struct world *w) {
	struct buf out;
	buf_init(&out);
	buf_puts(&out, "");
	for (size_t i = 0; i < w->changes.n; i++) {
		const struct cow_change *c = &w->changes.items[i];
		buf_printf(&out, "%s%s%s %s", i == 0 ? "" : ", ", c->conflict == NULL ? "" : "!",
			   cow_kind_name(c->kind), c->path);
		if (c->from != NULL) {
			buf_printf(&out, "<%s", c->from);
		}
	}
	return buf_take(&out);
}

static inline void list_one(struct buf *out, const char *path, size_t root, const struct stat *st) {
	struct buf text;
	char link[256] = "";
	buf_init(&text);
	buf_puts(&text, "");
	if (S_ISREG(st->st_mode)) {
		(void)fd_read_file(path, 1 << 20, &text);
	} else if (S_ISLNK(st->st_mode)) {
		(void)!readlink(path, link, sizeof link - 1);
	}
	buf_printf(out, "%s %o %s%s\n", path + root, (unsigned)st->st_mode, text.data, link);
	buf_done(&text);
}

/* A directory that its owner may not search is opened for the look, as root's always is. */
static inline void list_below(struct buf *out, const char *path, size_t root) {
	struct dirent *one;
	struct stat st;
	if (lstat(path, &st) != 0) {
		return;
	}
	list_one(out, path, root, &st);
	bool closed = S_ISDIR(st.st_mode) && access(path, R_OK | X_OK) != 0;
	DIR *dir =
		!S_ISDIR(st.st_mode) || (closed && chmod(path, 0700) != 0) ? NULL : opendir(path);
	while (dir != NULL && (one = readdir(dir)) != NULL) {
		if (!streq(one->d_name, ".") && !streq(one->d_name, "..")) {
			list_below(out, in(path, one->d_name).text, root);
		}
	}
	if (dir != NULL) {
		(void)closedir(dir);
	}
	if (closed) {
		CHECK_INT(chmod(path, st.st_mode & 07777), 0);
	}
}

static inline int line_order(const void *a, const void *b) {
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Everything in the workspace, in one text that does not depend on its order. */
static inline char *tree_of(const char *ws) {
	struct buf out, sorted;
	char *lines[256], *rest = NULL;
	size_t n = 0;
	buf_init(&out);
	buf_init(&sorted);
	list_below(&out, ws, strlen(ws));
	for (char *p = strtok_r(out.data, "\n", &rest); p != NULL && n < ARRAY_LEN(lines);
	     p = strtok_r(NULL, "\n", &rest)) {
		lines[n++] = p;
	}
	qsort(lines, n, sizeof *lines, line_order);
	for (size_t i = 0; i < n; i++) {
		buf_printf(&sorted, "%s\n", lines[i]);
	}
	buf_done(&out);
	return buf_take(&sorted);
}

#endif
