/* SPDX-License-Identifier: Apache-2.0 */
/* Resolves a path as the kernel would for the caller.
 *
 * Usually openat2() resolves the path, and readlink of /proc/self/fd/N returns the real path.
 * That is wrong where a path means another file to the guard than to the caller, which is only
 * the case in procfs: /proc/self is the process that opens it.  There, and where openat2 is
 * not available, walk.c resolves component by component, with "self" as the caller.
 *
 * Should:   resolve to the file that the kernel would open for the caller.
 * Must not: follow a magic link in the guard's own /proc directory, or open a file in it (K4):
 *           the kernel allows that to the guard, and never to the caller.
 * Fails:    closed, with the kernel's error. */
#include "linux/broker/resolve.h"

#include "base/auto.h"
#include "base/path.h"
#include "base/str.h"
#include "linux/broker/view.h"
#include "linux/broker/walk.h"
#include "linux/kernel_api.h"

#include <errno.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/vfs.h>

/* ---- the file of a descriptor ---- */

bool resolved_in_proc(int fd) {
	struct statfs fs;

	return syscall(SYS_fstatfs, fd, &fs) != 0 || fs.f_type == PROC_SUPER_MAGIC;
}

int resolved_real_path(const struct broker *b, int fd, char *out, size_t cap) {
	struct text number = {.len = 0};

	caller_text_number(&number, (uint64_t)fd);
	ssize_t n = syscall(SYS_readlinkat, b->fds, number.s, out, cap - 1);
	if (n < 0) {
		return errno == ENAMETOOLONG ? -ENAMETOOLONG : -EACCES;
	}
	if ((size_t)n >= PATH_MAX) {
		return -ENAMETOOLONG;
	}
	out[n] = '\0';
	return 0;
}

bool resolved_is_guards(const struct broker *b, int fd) {
	char real[REAL_MAX];
	struct stat st;

	if (!resolved_in_proc(fd)) {
		return false;
	}
	/* Another procfs mount may have other pids: treat all of it as the guard's, unless it has
	 * no entry of the guard at all. */
	if (fstat(fd, &st) != 0) {
		return true;
	}
	if (st.st_dev != b->proc_dev) {
		return !view_is_inner_proc(b, st.st_dev);
	}
	return resolved_real_path(b, fd, real, sizeof real) != 0 || path_within(real, b->self_path);
}

/* Fills p from p->fd, which is not on procfs, except for the path. */
static int resolved_look(struct resolved *p, dev_t *ret_dev) {
	struct stat st;

	if (fstat(p->fd, &st) != 0) {
		return -errno;
	}
	p->mode = st.st_mode;
	p->nlink = st.st_nlink;
	p->rdev = st.st_rdev;
	*ret_dev = st.st_dev;
	return 0;
}

static int describe_plain(const struct broker *b, struct resolved *p) {
	dev_t dev = 0;
	int r = resolved_look(p, &dev);

	return r != 0 ? r : resolved_real_path(b, p->fd, p->real, sizeof p->real);
}

/* The kernel's new_encode_dev(); libc's major() is a function in one, and a macro in the other. */
static unsigned major_of(dev_t dev) {
	return (unsigned)(dev >> 8) & 0xfff;
}

/* Whether the file is on procfs.  That has no block device, so its files have major number 0.  In
 * the run's own mount namespace no mount comes or goes, except in a nested sandbox; so a device is
 * looked at once. */
static bool may_be_of_proc(struct broker *b, int fd, dev_t dev) {
	bool fixed = b->quick && !b->plan->nested;

	if (major_of(dev) != 0 || (fixed && dev == b->plain_dev)) {
		return false;
	}
	if (resolved_in_proc(fd)) {
		return true;
	}
	b->plain_dev = dev;
	return false;
}

static int describe(struct broker *b, struct resolved *p) {
	dev_t dev = 0;
	int r = resolved_look(p, &dev);

	if (r == 0 && may_be_of_proc(b, p->fd, dev) && resolved_is_guards(b, p->fd)) {
		r = -EACCES;
	}
	return r != 0 ? r : resolved_real_path(b, p->fd, p->real, sizeof p->real);
}

int resolved_add_name(struct resolved *p, const char *name, size_t len, bool slash) {
	size_t at = strlen(p->real);

	if (len > NAME_MAX) {
		return -ENAMETOOLONG;
	}
	if (!S_ISDIR(p->mode)) {
		return -ENOTDIR;
	}
	memcpy(p->dir, p->real, at + 1);
	memcpy(p->name, name, len);
	p->name[len] = '\0';
	p->has_name = true;
	p->slash = slash;
	if (at + len + 2 > sizeof p->real) {
		return -ENAMETOOLONG;
	}
	if (at == 0 || p->real[at - 1] != '/') {
		p->real[at++] = '/';
	}
	memcpy(p->real + at, name, len);
	p->real[at + len] = '\0';
	if (slash) {
		memcpy(p->name + len, "/", 2); /* the kernel then requires a directory */
	}
	return 0;
}

/* ---- by openat2 ---- */

/* The directory part of a path, and its last component. */
struct halves {
	char before[PATH_MAX];
	const char *name;
	size_t len;
	bool slash;
};

static void split_path(const char *path, struct halves *h) {
	size_t end = strlen(path);

	while (end > 1 && path[end - 1] == '/') {
		end--;
	}
	h->slash = path[end] == '/';
	size_t start = end;
	while (start > 0 && path[start - 1] != '/') {
		start--;
	}
	h->name = path + start;
	h->len = end - start;
	memcpy(h->before, path, start);
	h->before[start] = '\0';
	if (start == 0) {
		memcpy(h->before, ".", 2);
	}
}

static int fast_open(const struct broker *b, int base, const char *path, uint64_t flags) {
	if (!b->fast) {
		errno = ENOSYS;
		return -1;
	}
	/* In another view ".." and symlinks must not lead above the caller's root. */
	if (view_is_foreign(b)) {
		errno = ENOSYS;
		return -1;
	}
	return sys_openat2(base, path, O_PATH | flags, RESOLVE_NO_MAGICLINKS);
}

/* Opens the directory of the last component; -EAGAIN: use walk.c. */
static int fast_name(const struct call *c, int base, const struct halves *h, struct resolved *p) {
	p->fd = fast_open(c->b, base, h->before, O_DIRECTORY);
	if (p->fd < 0 || h->len == 0 || resolved_in_proc(p->fd)) {
		drop_fd(&p->fd);
		return -EAGAIN;
	}
	p->mode = S_IFDIR;
	int r = resolved_real_path(c->b, p->fd, p->real, sizeof p->real);
	return r != 0 ? r : resolved_add_name(p, h->name, h->len, h->slash);
}

static int name_kind(const struct resolved *p, mode_t *ret) {
	struct stat st;

	if (syscall(SYS_newfstatat, p->fd, p->name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
		return -errno;
	}
	*ret = st.st_mode;
	return 0;
}

/* Only the last component is missing, as with most missing files.  walk.c would cost many times
 * as much. */
static bool plainly_missing(const struct call *c, int base, const char *path, struct resolved *p) {
	struct halves h;
	mode_t mode;

	split_path(path, &h);
	if (fast_name(c, base, &h, p) != 0) {
		drop_fd(&p->fd);
		return false;
	}
	bool missing = name_kind(p, &mode) == -ENOENT;
	drop_fd(&p->fd);
	return missing;
}

/* ---- the start of a path ---- */

/* The start of a path: the root, or a directory of the caller, which is opened as *own. */
static int base_of(const struct call *c, int dirfd, const char *path, int *own) {
	if (path[0] == '/') {
		return c->b->view;
	}
	*own = caller_fd(c, dirfd);
	return *own;
}

static int walk_to(const struct call *c, int base, const char *path, enum walk_end end,
		   struct resolved *p) {
	struct walk_result w = {.fd = -1};

	place_reset(p);
	int r = walk_path(c, base, path, end, &w);
	if (r != 0) {
		return r;
	}
	p->fd = w.fd;
	p->by_proc = w.by_proc;
	r = describe(c->b, p);
	return r != 0 || !w.has_name ? r : resolved_add_name(p, w.name, strlen(w.name), w.slash);
}

/* A path means the same to the guard as to the caller. */
static bool is_quick(const struct call *c) {
	return c->b->quick && !c->b->nests;
}

/* ---- /tmp and /dev/shm, where they are the host's ---- */

/* The rest of path beneath dir: "" for dir itself; NULL when path is not in dir. */
static const char *beneath(const char *path, const char *dir) {
	size_t len = strlen(dir);

	if (strncmp(path, dir, len) != 0 || (path[len] != '/' && path[len] != '\0')) {
		return NULL;
	}
	return path + len;
}

/* shm_open(3) uses /dev/shm, and many programs use /tmp and ignore TMPDIR.  The broker serves the
 * calls that create and remove names there, and redirects them to the run's own directory; other
 * calls on the host's /tmp are denied by Landlock. */
static const char *redirect_tmp(const struct call *c, const char *path, char space[PATH_MAX]) {
	const struct plan *plan = c->b->plan;
	static const char *const dirs[] = {"/dev/shm", "/tmp", "/var/tmp"};
	const char *at = plan->stand_in;

	for (size_t i = 0; at != NULL && !c->as_written && i < ARRAY_LEN(dirs); i++) {
		const char *rest = beneath(path, dirs[i]);
		if (rest == NULL || strstr(rest, "/..") != NULL ||
		    plan_visibility(plan, path) != VISIBILITY_NONE ||
		    plan_passes_socket(plan, path) || strlen(at) + strlen(rest) >= PATH_MAX) {
			continue;
		}
		size_t len = strlen(at);
		memcpy(space, at, len + 1);
		memcpy(space + len, rest, strlen(rest) + 1);
		return space;
	}
	return path;
}

static int find_file(const struct call *c, int dirfd, const char *path, bool follow,
		     struct resolved *ret) {
	char space[PATH_MAX];

	path = redirect_tmp(c, path, space);
	place_reset(ret);
	if (path[0] == '\0') {
		return -ENOENT;
	}
	if (is_quick(c) && resolve_fast_file(c, dirfd, path, follow, ret) == 0) {
		return 0;
	}
	place_reset(ret);
	auto_fd own = -1;
	int base = base_of(c, dirfd, path, &own);
	if (base < 0) {
		return base;
	}
	ret->fd = fast_open(c->b, base, path, follow ? 0 : O_NOFOLLOW);
	if (ret->fd >= 0 && !resolved_in_proc(ret->fd)) {
		return describe_plain(c->b, ret);
	}
	int error = ret->fd < 0 ? errno : 0;
	drop_fd(&ret->fd);
	if (error == ENOENT && plainly_missing(c, base, path, ret)) {
		return -ENOENT;
	}
	return walk_to(c, base, path, follow ? WALK_FOLLOW : WALK_STAY, ret);
}

/* A place in the caller's own view: its path in the guard's. */
static int settle(const struct call *c, int found, struct resolved *p) {
	return found == 0 && c->b->nests ? view_settle(c, p) : found;
}

int resolve_file(const struct call *c, int dirfd, const char *path, bool follow,
		 struct resolved *ret) {
	return settle(c, find_file(c, dirfd, path, follow, ret), ret);
}

int resolve_fd(const struct call *c, int fd, struct resolved *ret) {
	place_reset(ret);
	ret->fd = caller_fd(c, fd);
	return ret->fd < 0 ? ret->fd : settle(c, describe(c->b, ret), ret);
}

static int find_name(const struct call *c, int dirfd, const char *path, struct resolved *ret) {
	struct halves h;
	char space[PATH_MAX];

	path = redirect_tmp(c, path, space);
	place_reset(ret);
	if (path[0] == '\0') {
		return -ENOENT;
	}
	if (is_quick(c) && resolve_fast_name(c, dirfd, path, ret) == 0) {
		return 0;
	}
	place_reset(ret);
	auto_fd own = -1;
	int base = base_of(c, dirfd, path, &own);
	if (base < 0) {
		return base;
	}
	split_path(path, &h);
	int r = fast_name(c, base, &h, ret);
	return r != -EAGAIN ? r : walk_to(c, base, path, WALK_NAME, ret);
}

int resolve_name(const struct call *c, int dirfd, const char *path, struct resolved *ret) {
	return settle(c, find_name(c, dirfd, path, ret), ret);
}

static bool is_plain_name(const struct halves *h) {
	return h->len > 0 && !h->slash && !path_is_dots(h->name, h->len);
}

/* Both paths name the same directory by the same text, from the same start. */
static bool share_directory(const struct two_paths *at, const struct halves *from,
			    const struct halves *to) {
	bool alike = at->from[0] == '/' ? at->to[0] == '/'
					: at->to[0] != '/' && at->from_dir == at->to_dir;

	return alike && streq(from->before, to->before) && is_plain_name(from) && is_plain_name(to);
}

int resolve_names(const struct call *c, const struct two_paths *at, struct resolved *from,
		  struct resolved *to) {
	struct halves from_halves, to_halves;
	char source[PATH_MAX], target[PATH_MAX];
	int r = resolve_name(c, at->from_dir, at->from, from);

	place_reset(to);
	if (r != 0) {
		return r;
	}
	split_path(redirect_tmp(c, at->from, source), &from_halves);
	split_path(redirect_tmp(c, at->to, target), &to_halves);
	if (!share_directory(at, &from_halves, &to_halves) || from->by_proc || c->b->nests) {
		return resolve_name(c, at->to_dir, at->to, to);
	}
	to->fd = from->fd;
	to->lent = true;
	to->mode = S_IFDIR;
	memcpy(to->real, from->dir, strlen(from->dir) + 1);
	return resolved_add_name(to, to_halves.name, to_halves.len, false);
}

int resolve_absent(const struct call *c, int dirfd, const char *path, struct resolved *ret) {
	struct halves h;
	char space[PATH_MAX];
	mode_t mode;

	path = redirect_tmp(c, path, space);
	place_reset(ret);
	split_path(path, &h);
	if (!is_plain_name(&h) || c->b->nests) {
		return -EAGAIN; /* K9: resolve_name() settles a place in another view */
	}
	auto_fd own = -1;
	int base = base_of(c, dirfd, path, &own);
	if (base >= 0 && fast_name(c, base, &h, ret) == 0 && name_kind(ret, &mode) == -ENOENT) {
		return 0;
	}
	drop_fd(&ret->fd);
	return -EAGAIN;
}

int resolve_missing(const struct call *c, int dirfd, const char *path, struct resolved *ret) {
	mode_t mode;
	char space[PATH_MAX];

	path = redirect_tmp(c, path, space);
	int r = resolve_name(c, dirfd, path, ret);

	if (r != 0 || ret->slash) {
		return r; /* open_new() refuses a new name with a trailing slash */
	}
	r = name_kind(ret, &mode);
	if (r == -ENOENT) {
		return 0;
	}
	if (r != 0 || !S_ISLNK(mode)) {
		return r != 0 ? r : -EEXIST;
	}
	drop_fd(&ret->fd);
	auto_fd own = -1;
	int base = base_of(c, dirfd, path, &own);
	return base < 0 ? base : settle(c, walk_to(c, base, path, WALK_MISSING, ret), ret);
}
