/* What is read of a file without opening it: its attributes, and the words of a link.
 *
 * Landlock has no right for either, and no mount covers a name that a pattern denies.
 *
 * Should:   find the file once, judge it as an open for reading is judged, and ask its
 *           descriptor (K3).
 * Must not: tell of /proc/self what is true of the guard (K4).
 * Fails:    closed: what is not shown has no attributes, and its words are refused. */
#include "linux/broker/verdict.h"

#include "base/auto.h"
#include "base/path.h"
#include "base/str.h"
#include "linux/broker/hardlinks.h"
#include "linux/broker/walk.h"
#include "linux/kernel_api.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* Into the caller's memory; what was asked for is there, or the call fails. */
static long hand_over(const struct call *c, uint64_t address, const char *data, size_t len) {
	int r = len == 0 ? 0 : caller_write(c, address, data, len);

	return r != 0 ? r : (long)len;
}

/* ---- extended attributes ---- */

struct question {
	char name[XATTR_NAME_MAX + 1]; /* empty: all names are asked for */
	uint64_t address;
	uint64_t size; /* 0: the length alone */
};

static long tell_attribute(const struct call *c, int fd, const void *arg) {
	static char value[XATTR_SIZE_MAX]; /* the guard has one thread */
	const struct question *q = arg;
	struct text path = caller_fd_path(fd);
	size_t size = q->size < sizeof value ? (size_t)q->size : sizeof value;

	long n = q->name[0] == '\0' ? syscall(SYS_listxattr, path.s, value, size)
				    : syscall(SYS_getxattr, path.s, q->name, value, size);
	if (n < 0) {
		return -errno;
	}
	return size == 0 ? n : hand_over(c, q->address, value, (size_t)n);
}

/* As of a file system without attributes: who lists a directory asks about every name in it,
 * and takes any other error for a fault. */
static long none_if_refused(long r) {
	return r == -EACCES ? -EOPNOTSUPP : r;
}

static long tell_when_known(const struct call *c, int fd, const void *arg) {
	long r = hardlinks_wait(c, fd);

	return r != 0 ? none_if_refused(r) : tell_attribute(c, fd, arg);
}

static long attributes_at(struct call *c, bool follow, const struct question *q) {
	char path[PATH_MAX];
	auto_place p;

	p.fd = -1;
	c->as_written = true; /* as stat(2), which is not asked about */
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
		return helper_run(c, p.fd, -1, tell_when_known, q);
	}
	return r != 0 ? none_if_refused(r) : tell_attribute(c, p.fd, q);
}

/* (file, name, value, size) */
static long one_attribute(struct call *c, bool follow) {
	struct question q = {.address = c->args[2], .size = c->args[3]};
	int r = caller_string(c, c->args[1], q.name, sizeof q.name);

	if (r == -ENAMETOOLONG || (r == 0 && q.name[0] == '\0')) {
		return -ERANGE;
	}
	return r != 0 ? r : attributes_at(c, follow, &q);
}

/* (file, list, size) */
static long all_attributes(struct call *c, bool follow) {
	const struct question q = {.address = c->args[1], .size = c->args[2]};

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

/* ---- the words of a link ---- */

static bool is_link(const struct call *c, const struct stat *st, const char *name) {
	struct stat there;

	return syscall(SYS_newfstatat, c->b->proc, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	       there.st_ino == st->st_ino;
}

/* /proc/self and /proc/thread-self say who looks: -EAGAIN for any other link. */
static int words_of_self(const struct call *c, const struct resolved *p, struct text *words) {
	struct stat st;

	if (fstat(p->fd, &st) != 0) {
		return -errno;
	}
	bool thread = is_link(c, &st, "thread-self");
	if (st.st_dev != c->b->proc_dev || !(thread || is_link(c, &st, "self"))) {
		return -EAGAIN;
	}
	long process = caller_status(c, c->tid, "Tgid:", 10);
	if (process < 0) {
		return (int)process;
	}
	caller_text_number(words, (uint64_t)process);
	if (thread) {
		caller_text_add(words, "/task/");
		caller_text_number(words, (uint64_t)c->tid);
	}
	return 0;
}

static long tell_words(const struct call *c, const struct resolved *p, uint64_t address, int size) {
	char words[PATH_MAX];
	struct text self = {.len = 0};
	size_t room = (size_t)size < sizeof words ? (size_t)size : sizeof words;
	int r = resolved_in_proc(p->fd) ? words_of_self(c, p, &self) : -EAGAIN;

	if (r == 0) {
		return hand_over(c, address, self.s, self.len < room ? self.len : room);
	}
	if (r != -EAGAIN) {
		return r;
	}
	ssize_t n = syscall(SYS_readlinkat, p->fd, "", words, room);
	return n < 0 ? -errno : hand_over(c, address, words, (size_t)n);
}

/* Links of the system's own frame, such as /dev/fd and /var/run: paths inside lead through
 * them, and they say the same on every host. */
static bool is_of_frame(const struct resolved *p) {
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

/* A directory above something that is shown. */
static bool holds_shown(const struct plan *plan, const char *dir) {
	for (size_t i = 0; i < plan->nmounts; i++) {
		if (path_within(plan->mounts[i].target, dir)) {
			return true;
		}
	}
	return false;
}

/* Its end is shown, and so are its words no secret: a home that is a link, a current version. */
static bool leads_in(const struct call *c, const struct resolved *p) {
	char end[REAL_MAX];
	auto_fd fd = sys_openat2(AT_FDCWD, p->real, O_PATH, RESOLVE_NO_MAGICLINKS);

	if (fd < 0 || resolved_real_path(c->b, fd, end, sizeof end) != 0) {
		return false;
	}
	enum visibility sight = plan_visibility(c->b->plan, end);
	return sight == VISIBILITY_NONE ? holds_shown(c->b->plan, end) : sight != VISIBILITY_DENIED;
}

/* Not shown itself, but what is shown lies behind it.  With namespaces the plan makes such
 * links, or there are none. */
static bool is_on_the_way(const struct call *c, const struct resolved *p) {
	const struct plan *plan = c->b->plan;

	return plan_lacks_namespaces(plan) &&
	       plan_mount_visibility(plan, p->real) == VISIBILITY_NONE &&
	       (is_of_frame(p) || leads_in(c, p));
}

/* (directory, path, words, size): `first` is the path's place among the arguments. */
static long words_at(struct call *c, int dirfd, int first) {
	char path[PATH_MAX];
	int size = call_int(c, first + 2);
	auto_place p;

	p.fd = -1;
	c->as_written = true; /* a path leads through /tmp as well */
	int r = size <= 0 ? -EINVAL : caller_string(c, c->args[first], path, sizeof path);
	if (r != 0) {
		return r;
	}
	bool own = path[0] == '\0' && first == 1; /* the link that a descriptor stands for */
	r = own ? resolve_fd(c, dirfd, &p) : resolve_file(c, dirfd, path, false, &p);
	if (r == 0 && !S_ISLNK(p.mode)) {
		r = own ? -ENOENT : -EINVAL;
	}
	if (r == 0 && !is_on_the_way(c, &p)) {
		r = verdict_tell(c, &p);
	}
	return r != 0 ? r : tell_words(c, &p, c->args[first + 1], size);
}

long serve_readlink(struct call *c) {
	return words_at(c, AT_FDCWD, 0);
}

long serve_readlinkat(struct call *c) {
	return words_at(c, call_int(c, 0), 1);
}
