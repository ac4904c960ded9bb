/* SPDX-License-Identifier: Apache-2.0 */
/* Resolves a path component by component, as the kernel would for the caller.
 *
 * Should:   follow the kernel's rules: at most 40 symlinks, ".." stays at the root, a trailing
 *           slash requires a directory.
 * Must not: resolve /proc/self to the guard, or follow a magic link of the guard (K4).
 * Fails:    closed: ENAMETOOLONG for a path that grows too long, ELOOP for too many symlinks. */
#include "linux/broker/walk.h"

#include "base/auto.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define LINKS_MAX 40      /* the kernel's own */
#define PROC_ROOT_INODE 1 /* of every procfs */

struct walker {
	const struct call *call;
	int at;    /* O_PATH: the current directory of the walk */
	int links; /* followed so far */
	bool by_proc;
	char rest[PATH_MAX]; /* components that are left */
	char name[NAME_MAX + 1];
	bool last, slash; /* no component follows the name; a slash follows it */
};

/* Takes the next component from the rest: 1, 0 when there is none, -errno. */
static int next_name(struct walker *w) {
	size_t skip = 0;

	while (w->rest[skip] == '/') {
		skip++;
	}
	size_t len = strcspn(w->rest + skip, "/");
	size_t after = skip + len;
	if (len == 0) {
		return 0;
	}
	if (len > NAME_MAX) {
		return -ENAMETOOLONG;
	}
	memcpy(w->name, w->rest + skip, len);
	w->name[len] = '\0';
	w->slash = w->rest[after] == '/';
	while (w->rest[after] == '/') {
		after++;
	}
	w->last = w->rest[after] == '\0';
	memmove(w->rest, w->rest + after, strlen(w->rest + after) + 1);
	return 1;
}

/* Prepends a symlink's target to the rest. */
static int prepend_target(struct walker *w, const char *text) {
	size_t n = strlen(text), rest = strlen(w->rest);

	/* Room for the slash between them, and for one after the symlink. */
	if (n + rest + 3 > sizeof w->rest) {
		return -ENAMETOOLONG;
	}
	memmove(w->rest + n + 1, w->rest, rest + 1);
	memcpy(w->rest, text, n);
	w->rest[n] = '/';
	if (w->last && !w->slash) {
		w->rest[n] = '\0'; /* the target's own end decides about a trailing slash */
	}
	return 0;
}

static int go_to(struct walker *w, int fd) {
	if (fd < 0) {
		return -errno;
	}
	drop_fd(&w->at);
	w->at = fd;
	return 0;
}

/* "/proc/self" and "/proc/thread-self": the caller's, not the guard's. */
static int follow_self(struct walker *w) {
	struct text to = {.len = 0};
	long process = caller_status(w->call, w->call->tid, "Tgid:", 10);

	if (process < 0) {
		return (int)process;
	}
	if (!caller_waits(w->call)) {
		return -ESRCH;
	}
	caller_text_number(&to, (uint64_t)process);
	if (streq(w->name, "thread-self")) {
		caller_text_add(&to, "/task/");
		caller_text_number(&to, (uint64_t)w->call->tid);
	}
	return prepend_target(w, to.s);
}

/* A procfs symlink below the root is a magic link: only the kernel can follow it.  w->at is the
 * /proc directory of a process. */
static int follow_magic(struct walker *w, int link) {
	if (resolved_is_guards(w->call->b, w->at) || resolved_is_guards(w->call->b, link)) {
		return -EACCES;
	}
	return go_to(w, openat(w->at, w->name, O_PATH | O_CLOEXEC));
}

static int follow_target(struct walker *w, int link) {
	char text[PATH_MAX];
	ssize_t n = syscall(SYS_readlinkat, link, "", text, sizeof text - 1);

	if (n < 0) {
		return -errno;
	}
	text[n] = '\0';
	if (n == 0) {
		return -ENOENT;
	}
	int r = prepend_target(w, text);
	if (r == 0 && text[0] == '/') {
		r = go_to(w, open("/", O_PATH | O_CLOEXEC | O_DIRECTORY));
	}
	return r;
}

static int follow(struct walker *w, int link) {
	struct stat dir;

	if (++w->links > LINKS_MAX) {
		return -ELOOP;
	}
	if (!resolved_in_proc(link)) {
		return follow_target(w, link);
	}
	w->by_proc = true;
	if (fstat(w->at, &dir) != 0 || dir.st_dev != w->call->b->proc_dev) {
		return -EACCES; /* another procfs mount may have other pids */
	}
	if (dir.st_ino != PROC_ROOT_INODE) {
		return follow_magic(w, link);
	}
	if (streq(w->name, "self") || streq(w->name, "thread-self")) {
		return follow_self(w);
	}
	return follow_target(w, link);
}

/* The walk ends at the directory of the last component. */
static int end_at_name(struct walker *w, struct walk_result *ret) {
	ret->has_name = true;
	ret->slash = w->slash;
	memcpy(ret->name, w->name, sizeof ret->name);
	return 0;
}

/* One component.  1 to continue, 0 when the walk has ended, -errno. */
static int step(struct walker *w, enum walk_end end, struct walk_result *ret) {
	bool dots = streq(w->name, ".") || streq(w->name, "..");
	struct stat st;

	if (w->last && end == WALK_NAME) {
		return end_at_name(w, ret);
	}
	auto_fd next =
		openat(w->at, w->name, O_PATH | O_CLOEXEC | O_NOFOLLOW | (dots ? O_DIRECTORY : 0));
	if (next < 0) {
		bool missing = errno == ENOENT && w->last && end == WALK_MISSING;
		return missing ? end_at_name(w, ret) : -errno;
	}
	if (fstat(next, &st) != 0) {
		return -errno;
	}
	if (S_ISLNK(st.st_mode) && !(w->last && !w->slash && end == WALK_STAY)) {
		int r = follow(w, next);
		return r == 0 ? 1 : r;
	}
	if ((!w->last || w->slash) && !S_ISDIR(st.st_mode)) {
		return -ENOTDIR;
	}
	if (w->last && end == WALK_MISSING) {
		return -EEXIST;
	}
	return go_to(w, take_fd(&next)) == 0 ? 1 : -EBADF;
}

int walk_path(const struct call *c, int base, const char *path, enum walk_end end,
	      struct walk_result *ret) {
	struct walker w;
	int r = 1;

	w.call = c;
	w.links = 0;
	w.by_proc = false;
	if (strlen(path) >= sizeof w.rest) {
		return -ENAMETOOLONG;
	}
	w.at = fcntl(base, F_DUPFD_CLOEXEC, 0);
	if (w.at < 0) {
		return -errno;
	}
	memcpy(w.rest, path, strlen(path) + 1);
	while (r == 1 && (r = next_name(&w)) == 1) {
		r = step(&w, end, ret);
	}
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
