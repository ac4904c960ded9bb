/* SPDX-License-Identifier: Apache-2.0 */
/* Resolves a path component by component, as the kernel would for the caller.
 *
 * Should:   follow the kernel's rules (base/path_cursor.h); ".." stays at the root.
 * Must not: resolve /proc/self to the guard, or follow a magic link of the guard (K4).
 * Fails:    closed: ENAMETOOLONG for a path that grows too long, ELOOP for too many symlinks. */
#include "linux/broker/walk.h"

#include "base/auto.h"
#include "base/fd.h"
#include "base/path_cursor.h"
#include "base/str.h"
#include "linux/broker/domain.h"
#include "linux/broker/view.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define PROC_ROOT_INODE 1 /* of every procfs */

struct walker {
	const struct call *call;
	int at; /* O_PATH: the current directory of the walk */
	bool by_proc;
	struct path_cursor c;
};

static int go_to(struct walker *w, int fd) {
	if (fd < 0) {
		return -errno;
	}
	drop_fd(&w->at);
	w->at = fd;
	return 0;
}

/* "/proc/self" and "/proc/thread-self": the caller's, not the guard's. */
static int follow_self(struct walker *w, uint64_t dev) {
	struct text to = {.len = 0};
	long process = view_process(w->call, dev);

	if (process < 0) {
		return (int)process;
	}
	if (!caller_waits(w->call)) {
		return -ESRCH;
	}
	caller_text_number(&to, (uint64_t)process);
	if (streq(w->c.name, "thread-self")) {
		caller_text_add(&to, "/task/");
		caller_text_number(&to, (uint64_t)caller_entry(w->call));
	}
	return path_cursor_splice(&w->c, to.s);
}

/* A procfs symlink below the root is a magic link: only the kernel can follow it.  w->at is the
 * /proc directory of a process. */
static int follow_magic(struct walker *w, int link) {
	if (resolved_is_guards(w->call->b, w->at) || resolved_is_guards(w->call->b, link)) {
		return -EACCES;
	}
	bool confined = view_is_foreign(w->call->b) || domain_is_set();
	if (confined && !view_is_own_proc(w->call, w->at)) {
		return -EACCES;
	}
	return go_to(w, openat(w->at, w->c.name, O_PATH | O_CLOEXEC));
}

static int follow_target(struct walker *w, int link) {
	char text[PATH_MAX];
	ssize_t n = syscall(SYS_readlinkat, link, "", text, sizeof text - 1);

	if (n < 0) {
		return -errno;
	}
	text[n] = '\0';
	int r = path_cursor_splice(&w->c, text);
	if (r == 0 && text[0] == '/') {
		r = go_to(w, fd_duplicate(w->call->b->view, 0));
	}
	return r;
}

static int follow(struct walker *w, int link) {
	struct stat dir;

	if (path_cursor_count_link(&w->c) != 0) {
		return -ELOOP;
	}
	if (!resolved_in_proc(link)) {
		return follow_target(w, link);
	}
	w->by_proc = true;
	if (fstat(w->at, &dir) != 0 ||
	    (dir.st_dev != w->call->b->proc_dev && !view_is_inner_proc(w->call->b, dir.st_dev))) {
		return -EACCES; /* another procfs mount may have other pids */
	}
	if (dir.st_ino != PROC_ROOT_INODE) {
		return follow_magic(w, link);
	}
	if (streq(w->c.name, "self") || streq(w->c.name, "thread-self")) {
		return follow_self(w, dir.st_dev);
	}
	return follow_target(w, link);
}

/* The walk ends at the directory of the last component. */
static int end_at_name(struct walker *w, struct walk_result *ret) {
	ret->has_name = true;
	ret->slash = w->c.slash;
	memcpy(ret->name, w->c.name, sizeof ret->name);
	return 0;
}

/* One component.  1 to continue, 0 when the walk has ended, -errno. */
static int step(struct walker *w, enum walk_end end, struct walk_result *ret) {
	const struct path_cursor *c = &w->c;
	int dir = path_cursor_at_dots(c) ? O_DIRECTORY : 0;
	struct stat st;

	if (c->last && end == WALK_NAME) {
		return end_at_name(w, ret);
	}
	if (streq(c->name, "..") && view_is_foreign(w->call->b) &&
	    view_is_root(w->call->b, w->at)) {
		return 1; /* the caller's root is not the guard's, which the kernel would stop at */
	}
	auto_fd next = openat(w->at, c->name, O_PATH | O_CLOEXEC | O_NOFOLLOW | dir);
	if (next < 0) {
		bool missing = errno == ENOENT && c->last && end == WALK_MISSING;
		return missing ? end_at_name(w, ret) : -errno;
	}
	if (fstat(next, &st) != 0) {
		return -errno;
	}
	if (S_ISLNK(st.st_mode) && (path_cursor_needs_dir(c) || end != WALK_STAY)) {
		int r = follow(w, next);
		return r == 0 ? 1 : r;
	}
	if (path_cursor_needs_dir(c) && !S_ISDIR(st.st_mode)) {
		return -ENOTDIR;
	}
	if (c->last && end == WALK_MISSING) {
		return -EEXIST;
	}
	return go_to(w, take_fd(&next)) == 0 ? 1 : -EBADF;
}

int walk_path(const struct call *c, int base, const char *path, enum walk_end end,
	      struct walk_result *ret) {
	struct walker w;
	int r = path_cursor_begin(&w.c, path);

	if (r != 0) {
		return r;
	}
	w.call = c;
	w.by_proc = false;
	w.at = fd_duplicate(base, 0);
	if (w.at < 0) {
		return -errno;
	}
	do {
		r = path_cursor_next(&w.c);
		if (r == 1) {
			r = step(&w, end, ret);
		}
	} while (r == 1);
	auto_fd at = w.at;
	if (r != 0) {
		return r;
	}
	if (!ret->has_name && end == WALK_NAME) {
		/* The root, or a symlink to it: the call on "/" gets the kernel's own error. */
		memcpy(ret->name, "/", 2);
		ret->has_name = true;
	}
	if (!ret->has_name && end == WALK_MISSING) {
		return -EEXIST;
	}
	ret->by_proc = w.by_proc;
	ret->fd = take_fd(&at);
	return 0;
}
