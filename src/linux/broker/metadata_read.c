/* SPDX-License-Identifier: Apache-2.0 */
/* Serves getxattr, listxattr and readlink, which read from a file without opening it.
 *
 * Landlock has no access right for them, and no mount covers a name that a pattern denies.
 *
 * Should:   resolve the file once, check it like an open for reading, and make the call on its
 *           descriptor (K3).
 * Must not: return the guard's own values for /proc/self (K4).
 * Fails:    closed: a file that the plan does not show has no attributes (EOPNOTSUPP), and
 *           readlink gets EACCES. */
#include "linux/broker/verdict.h"

#include "base/auto.h"
#include "base/path.h"
#include "base/str.h"
#include "linux/broker/files.h"
#include "linux/broker/hardlinks.h"
#include "linux/broker/walk.h"
#include "linux/kernel_api.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* Writes the data to the caller's memory; returns its length or -errno. */
static long write_out(const struct call *c, uint64_t address, const char *data, size_t len) {
	int r = len == 0 ? 0 : caller_write(c, address, data, len);

	return r != 0 ? r : (long)len;
}

/* ---- extended attributes ---- */

struct xattr_request {
	char name[XATTR_NAME_MAX + 1]; /* empty: listxattr */
	uint64_t address;
	uint64_t size; /* 0: return only the length */
};

static long read_attribute(const struct call *c, int fd, const void *arg) {
	static char value[XATTR_SIZE_MAX]; /* the guard has one thread */
	const struct xattr_request *q = arg;
	struct text path = caller_fd_path(fd);
	size_t size = q->size < sizeof value ? (size_t)q->size : sizeof value;

	long n = q->name[0] == '\0' ? syscall(SYS_listxattr, path.s, value, size)
				    : syscall(SYS_getxattr, path.s, q->name, value, size);
	if (n < 0) {
		return -errno;
	}
	return size == 0 ? n : write_out(c, q->address, value, (size_t)n);
}

/* Like a file system without attributes: ls(1) reads the attributes of every name in a directory,
 * and reports any other error. */
static long none_if_refused(long r) {
	return r == -EACCES ? -EOPNOTSUPP : r;
}

static long read_when_known(const struct call *c, int fd, const void *arg) {
	long r = hardlinks_wait(c, fd);

	return r != 0 ? none_if_refused(r) : read_attribute(c, fd, arg);
}

static long attributes_at(struct call *c, bool follow, const struct xattr_request *q) {
	char path[PATH_MAX];
	auto_place p;

	p.fd = -1;
	c->as_written = true; /* like stat(2), which the filter does not send to the broker */
	int r = caller_string(c, c->args[0], path, sizeof path);
	if (r == 0) {
		r = resolve_file(c, AT_FDCWD, path, follow, &p);
	}
	if (r != 0) {
		return r;
	}
	r = verdict_tell(c, &p);
	r = r != 0 ? r : hardlinks_judge(c, &p);
	if (r == LINKS_LATER) {
		return helper_run(c, p.fd, -1, read_when_known, q);
	}
	return r != 0 ? none_if_refused(r) : read_attribute(c, p.fd, q);
}

/* (file, name, value, size) */
static long one_attribute(struct call *c, bool follow) {
	struct xattr_request q = {.address = c->args[2], .size = c->args[3]};
	int r = caller_string(c, c->args[1], q.name, sizeof q.name);

	if (r == -ENAMETOOLONG || (r == 0 && q.name[0] == '\0')) {
		return -ERANGE;
	}
	return r != 0 ? r : attributes_at(c, follow, &q);
}

/* (file, list, size) */
static long all_attributes(struct call *c, bool follow) {
	const struct xattr_request q = {.address = c->args[1], .size = c->args[2]};

	return attributes_at(c, follow, &q);
}

long serve_getxattr(struct call *c) {
	return one_attribute(c, true);
}

long serve_lgetxattr(struct call *c) {
	return one_attribute(c, false);
}

long serve_listxattr(struct call *c) {
	return all_attributes(c, true);
}

long serve_llistxattr(struct call *c) {
	return all_attributes(c, false);
}

/* ---- readlink ---- */

static bool is_proc_entry(const struct call *c, const struct stat *st, const char *name) {
	struct stat there;

	return syscall(SYS_newfstatat, c->b->proc, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	       there.st_ino == st->st_ino;
}

/* The targets of /proc/self and /proc/thread-self for the caller: -EAGAIN for other symlinks. */
static int target_of_self(const struct call *c, const struct resolved *p, struct text *target) {
	struct stat st;

	if (fstat(p->fd, &st) != 0) {
		return -errno;
	}
	bool thread = is_proc_entry(c, &st, "thread-self");
	if (st.st_dev != c->b->proc_dev || !(thread || is_proc_entry(c, &st, "self"))) {
		return -EAGAIN;
	}
	long process = caller_status(c, caller_entry(c), "Tgid:", 10);
	if (process < 0) {
		return (int)process;
	}
	caller_text_number(target, (uint64_t)process);
	if (thread) {
		caller_text_add(target, "/task/");
		caller_text_number(target, (uint64_t)caller_entry(c));
	}
	return 0;
}

static long read_target(const struct call *c, const struct resolved *p, uint64_t address,
			int size) {
	char target[PATH_MAX];
	struct text self = {.len = 0};
	size_t room = (size_t)size < sizeof target ? (size_t)size : sizeof target;
	int r = resolved_in_proc(p->fd) ? target_of_self(c, p, &self) : -EAGAIN;

	if (r == 0) {
		return write_out(c, address, self.s, self.len < room ? self.len : room);
	}
	if (r != -EAGAIN) {
		return r;
	}
	ssize_t n = syscall(SYS_readlinkat, p->fd, "", target, room);
	return n < 0 ? -errno : write_out(c, address, target, (size_t)n);
}

/* Symlinks directly in /, /dev and /var, such as /dev/fd and /var/run: paths in the sandbox go
 * through them, and their targets are the same on every host. */
static bool is_system_symlink(const struct resolved *p) {
	static const char *const dirs[] = {"/", "/dev/", "/var/"};
	const char *name = strrchr(p->real, '/');
	size_t len = name == NULL ? 0 : (size_t)(name - p->real) + 1;

	for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
		if (len == strlen(dirs[i]) && memcmp(p->real, dirs[i], len) == 0) {
			return true;
		}
	}
	return false;
}

/* The plan has a mount at or beneath this directory. */
static bool has_mount_beneath(const struct plan *plan, const char *dir) {
	for (size_t i = 0; i < plan->nmounts; i++) {
		if (path_within(plan->mounts[i].target, dir)) {
			return true;
		}
	}
	return false;
}

/* The plan shows the file that the symlink leads to, so its target is no secret: a home that is a
 * symlink, a "current version". */
static bool leads_in(const struct call *c, const struct resolved *p) {
	char end[REAL_MAX];
	auto_fd fd = sys_openat2(AT_FDCWD, p->real, O_PATH, RESOLVE_NO_MAGICLINKS);

	if (fd < 0 || resolved_real_path(c->b, fd, end, sizeof end) != 0) {
		return false;
	}
	enum visibility sight = plan_visibility(c->b->plan, end);
	return sight == VISIBILITY_NONE ? has_mount_beneath(c->b->plan, end)
					: sight != VISIBILITY_DENIED;
}

/* A symlink that the plan does not show, on the path to a file that it shows.  With namespaces the
 * plan creates such symlinks itself. */
static bool leads_to_shown(const struct call *c, const struct resolved *p) {
	const struct plan *plan = c->b->plan;

	return plan_lacks_namespaces(plan) &&
	       plan_mount_visibility(plan, p->real) == VISIBILITY_NONE &&
	       (is_system_symlink(p) || leads_in(c, p));
}

/* Arguments: ([directory,] path, buffer, size); `first` is the index of the path. */
static long readlink_at(struct call *c, int dirfd, int first) {
	char path[PATH_MAX];
	int size = call_int(c, first + 2);
	auto_place p;

	p.fd = -1;
	c->as_written = true; /* realpath(3) walks through /tmp itself */
	int r = size <= 0 ? -EINVAL : caller_string(c, c->args[first], path, sizeof path);
	if (r != 0) {
		return r;
	}
	bool own = path[0] == '\0' && first == 1; /* the descriptor is the symlink itself */
	long quick = own ? QUICK_NOT : resolve_fast_no_symlink(c, dirfd, path);
	if (quick != QUICK_NOT) {
		return quick;
	}
	r = own ? resolve_fd(c, dirfd, &p) : resolve_file(c, dirfd, path, false, &p);
	if (r == 0 && !S_ISLNK(p.mode)) {
		r = own ? -ENOENT : -EINVAL;
	}
	if (r == 0 && !leads_to_shown(c, &p)) {
		r = verdict_tell(c, &p);
	}
	return r != 0 ? r : read_target(c, &p, c->args[first + 1], size);
}

long serve_readlink(struct call *c) {
	return readlink_at(c, AT_FDCWD, 0);
}

long serve_readlinkat(struct call *c) {
	return readlink_at(c, call_int(c, 0), 1);
}
