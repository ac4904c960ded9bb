/* SPDX-License-Identifier: Apache-2.0 */
/* Serves system calls that change a file's mode, owner, timestamps and extended attributes.
 *
 * Landlock has no access right for any of them, and a descriptor that was opened for reading
 * is enough to change them.
 *
 * Should:   resolve the file once, check it, and make the change on its descriptor (K3).
 * Must not: set a set-user-id bit, which the filter refuses already, or a set-group-id bit on
 *           a file that is not a directory, which the filter cannot check.
 * Fails:    closed. */
#include "linux/broker/verdict.h"

#include "base/auto.h"
#include "linux/broker/hardlinks.h"
#include "linux/broker/created.h"
#include "linux/kernel_api.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SET_USER_ID 04000
#define SET_GROUP_ID 02000
#define USEC_PER_SEC 1000000

static long or_errno(long r) {
	return r < 0 ? -errno : 0;
}

/* ---- which file ---- */

/* Resolves and checks a path with the flags of the "at" calls: 0, -errno, or LINKS_LATER when
 * another hard link of the file may be denied. */
static int check_path(const struct call *c, int dirfd, uint64_t address, int flags,
		      struct resolved *p) {
	char path[PATH_MAX];

	p->fd = -1;
	if ((flags & ~(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH)) != 0) {
		return -EINVAL;
	}
	int r = caller_path(c, address, path);
	if (r != 0) {
		return r;
	}
	if (path[0] == '\0' && (flags & AT_EMPTY_PATH) != 0) {
		r = resolve_fd(c, dirfd, p);
	} else {
		r = resolve_file(c, dirfd, path, (flags & AT_SYMLINK_NOFOLLOW) == 0, p);
		r = verdict_missing(c, p, r);
	}
	if (r == 0) {
		r = verdict_change(c, p);
	}
	return r != 0 ? r : hardlinks_judge(c, p);
}

static int check_fd(const struct call *c, int fd, struct resolved *p) {
	int r = fd < 0 ? -EBADF : resolve_fd(c, fd, p);

	if (fd < 0) {
		p->fd = -1; /* AT_FDCWD is not a descriptor here */
	}
	if (r == 0) {
		r = verdict_change(c, p);
	}
	/* An O_PATH descriptor was opened without a check. */
	return r != 0 ? r : hardlinks_judge(c, p);
}

/* ---- making the change ---- */

typedef long change(const struct call *c, const struct resolved *p, const void *arg);

struct pending_change {
	const struct resolved *p;
	change *set;
	const void *arg;
};

static long set_when_known(const struct call *c, int fd, const void *arg) {
	const struct pending_change *m = arg;
	long r = hardlinks_wait(c, fd);

	return r != 0 ? r : m->set(c, m->p, m->arg);
}

/* checked: the result of check_path() or check_fd(). */
static long apply(const struct call *c, const struct resolved *p, int checked, change *set,
		  const void *arg) {
	const struct pending_change m = {.p = p, .set = set, .arg = arg};

	if (checked == LINKS_LATER) {
		return helper_run(c, p->fd, -1, set_when_known, &m);
	}
	return checked != 0 ? checked : set(c, p, arg);
}

/* ---- mode ---- */

/* fchmodat2(2) on the descriptor, since Linux 6.6; before, by the path of the descriptor, which
 * takes another walk through /proc. */
static long change_mode(int fd, mode_t mode) {
	struct text path = caller_fd_path(fd);
	long r = sys_fchmodat2(fd, "", mode, AT_EMPTY_PATH);

	if (r != 0 && (errno == ENOSYS || errno == EINVAL || errno == EPERM)) {
		r = syscall(SYS_fchmodat, AT_FDCWD, path.s,
			    mode); /* a filter outside may refuse it */
	}
	return or_errno(r);
}

static long set_mode(const struct call *c, const struct resolved *p, const void *arg) {
	mode_t mode = *(const mode_t *)arg;

	if ((mode & SET_USER_ID) != 0 || ((mode & SET_GROUP_ID) != 0 && !S_ISDIR(p->mode))) {
		return -EPERM;
	}
	long r = change_mode(p->fd, mode);
	mode_t added = mode & ~p->mode;
	if (r == 0 && added != 0 && S_ISREG(p->mode)) {
		created_mode(c, p, added);
	}
	return r;
}

static long mode_at(const struct call *c, int dirfd, uint64_t path, mode_t mode, int flags) {
	auto_place p;
	int r = check_path(c, dirfd, path, flags, &p);

	return apply(c, &p, r, set_mode, &mode);
}

long serve_chmod(struct call *c) {
	return mode_at(c, AT_FDCWD, c->args[0], (mode_t)c->args[1], 0);
}

long serve_fchmod(struct call *c) {
	auto_place p;
	mode_t mode = (mode_t)c->args[1];
	int r = check_fd(c, call_int(c, 0), &p);

	return apply(c, &p, r, set_mode, &mode);
}

long serve_fchmodat(struct call *c) {
	return mode_at(c, call_int(c, 0), c->args[1], (mode_t)c->args[2], 0);
}

long serve_fchmodat2(struct call *c) {
	return mode_at(c, call_int(c, 0), c->args[1], (mode_t)c->args[2], call_int(c, 3));
}

/* ---- owner ---- */

/* arg: uid and gid. */
static long set_owner(const struct call *c, const struct resolved *p, const void *arg) {
	const uint64_t *ids = arg;
	(void)c;

	return or_errno(
		syscall(SYS_fchownat, p->fd, "", (uid_t)ids[0], (gid_t)ids[1], AT_EMPTY_PATH));
}

static long owner_at(const struct call *c, int dirfd, int path, int flags) {
	auto_place p;
	int r = check_path(c, dirfd, c->args[path], flags, &p);

	return apply(c, &p, r, set_owner, &c->args[path + 1]);
}

long serve_chown(struct call *c) {
	return owner_at(c, AT_FDCWD, 0, 0);
}

long serve_lchown(struct call *c) {
	return owner_at(c, AT_FDCWD, 0, AT_SYMLINK_NOFOLLOW);
}

long serve_fchownat(struct call *c) {
	return owner_at(c, call_int(c, 0), 1, call_int(c, 4));
}

long serve_fchown(struct call *c) {
	auto_place p;
	int r = check_fd(c, call_int(c, 0), &p);

	return apply(c, &p, r, set_owner, &c->args[1]);
}

/* ---- times ---- */

/* atime and mtime, from any of the four calls. */
struct times {
	bool now; /* a null pointer */
	struct timespec at[2];
};

static long set_times(const struct call *c, const struct resolved *p, const void *arg) {
	const struct times *t = arg;
	(void)c;

	return or_errno(syscall(SYS_utimensat, p->fd, "", t->now ? NULL : t->at, AT_EMPTY_PATH));
}

static int read_seconds(const struct call *c, uint64_t address, struct times *t) {
	long seconds[2]; /* struct utimbuf */

	memset(t, 0, sizeof *t);
	t->now = address == 0;
	int r = t->now ? 0 : caller_bytes(c, address, seconds, sizeof seconds);
	for (int i = 0; i < 2 && r == 0 && !t->now; i++) {
		t->at[i].tv_sec = seconds[i];
	}
	return r;
}

static int read_microseconds(const struct call *c, uint64_t address, struct times *t) {
	struct timeval given[2];

	memset(t, 0, sizeof *t);
	t->now = address == 0;
	int r = t->now ? 0 : caller_bytes(c, address, given, sizeof given);
	for (int i = 0; i < 2 && r == 0 && !t->now; i++) {
		if (given[i].tv_usec < 0 || given[i].tv_usec >= USEC_PER_SEC) {
			return -EINVAL;
		}
		t->at[i].tv_sec = given[i].tv_sec;
		t->at[i].tv_nsec = given[i].tv_usec * 1000;
	}
	return r;
}

static int read_nanoseconds(const struct call *c, uint64_t address, struct times *t) {
	memset(t, 0, sizeof *t);
	t->now = address == 0;
	return t->now ? 0 : caller_bytes(c, address, t->at, sizeof t->at);
}

/* A null path means the descriptor itself. */
static int check_timed(const struct call *c, int flags, struct resolved *p) {
	if (c->args[1] == 0) {
		return flags != 0 && flags != AT_EMPTY_PATH ? (p->fd = -1, -EINVAL)
							    : check_fd(c, call_int(c, 0), p);
	}
	return check_path(c, call_int(c, 0), c->args[1], flags, p);
}

typedef int read_times(const struct call *c, uint64_t address, struct times *t);

/* file_words: how many arguments name the file (a path, or a directory and a path); the times
 * follow them. */
static long times_at(const struct call *c, int file_words, int flags, read_times *read) {
	struct times t;
	auto_place p;

	p.fd = -1;
	int r = read(c, c->args[file_words], &t);
	if (r == 0) {
		r = file_words == 1 ? check_path(c, AT_FDCWD, c->args[0], flags, &p)
				    : check_timed(c, flags, &p);
	}
	return apply(c, &p, r, set_times, &t);
}

long serve_utime(struct call *c) {
	return times_at(c, 1, 0, read_seconds);
}

long serve_utimes(struct call *c) {
	return times_at(c, 1, 0, read_microseconds);
}

long serve_futimesat(struct call *c) {
	return times_at(c, 2, 0, read_microseconds);
}

long serve_utimensat(struct call *c) {
	return times_at(c, 2, call_int(c, 3), read_nanoseconds);
}

/* ---- extended attributes ---- */

static int read_name(const struct call *c, uint64_t address, char *name) {
	int r = caller_string(c, address, name, XATTR_NAME_MAX + 1);

	return r == -ENAMETOOLONG || (r == 0 && name[0] == '\0') ? -ERANGE : r;
}

/* Arguments: (file, name, value, size, flags); the file was checked. */
static long set_attribute(const struct call *c, const struct resolved *p, const void *arg) {
	static char value[XATTR_SIZE_MAX]; /* the guard has one thread */
	char name[XATTR_NAME_MAX + 1];
	struct text path = caller_fd_path(p->fd);
	size_t size = (size_t)c->args[3];
	(void)arg;

	int r = read_name(c, c->args[1], name);
	if (r == 0 && size > sizeof value) {
		r = -E2BIG;
	}
	if (r == 0) {
		r = caller_bytes(c, c->args[2], value, size);
	}
	if (r != 0) {
		return r;
	}
	long set = or_errno(syscall(SYS_setxattr, path.s, name, value, size, call_int(c, 4)));
	struct stat st;
	/* A POSIX ACL changes the mode as well. */
	if (set == 0 && S_ISREG(p->mode) && fstat(p->fd, &st) == 0 &&
	    (st.st_mode & ~p->mode) != 0) {
		created_mode(c, p, st.st_mode & ~p->mode);
	}
	return set;
}

static long remove_attribute(const struct call *c, const struct resolved *p, const void *arg) {
	char name[XATTR_NAME_MAX + 1];
	struct text path = caller_fd_path(p->fd);
	(void)arg;

	int r = read_name(c, c->args[1], name);

	return r != 0 ? r : or_errno(syscall(SYS_removexattr, path.s, name));
}

static long attribute_at(const struct call *c, int flags, change *set) {
	auto_place p;
	int r = check_path(c, AT_FDCWD, c->args[0], flags, &p);

	return apply(c, &p, r, set, NULL);
}

static long attribute_of(const struct call *c, change *set) {
	auto_place p;
	int r = check_fd(c, call_int(c, 0), &p);

	return apply(c, &p, r, set, NULL);
}

long serve_setxattr(struct call *c) {
	return attribute_at(c, 0, set_attribute);
}

long serve_lsetxattr(struct call *c) {
	return attribute_at(c, AT_SYMLINK_NOFOLLOW, set_attribute);
}

long serve_fsetxattr(struct call *c) {
	return attribute_of(c, set_attribute);
}

long serve_removexattr(struct call *c) {
	return attribute_at(c, 0, remove_attribute);
}

long serve_lremovexattr(struct call *c) {
	return attribute_at(c, AT_SYMLINK_NOFOLLOW, remove_attribute);
}

long serve_fremovexattr(struct call *c) {
	return attribute_of(c, remove_attribute);
}
