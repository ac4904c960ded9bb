/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the path in the run's own view of a file that a caller names in a namespace of its own.
 *
 * Theory.  With --allow-nested a process may create a user namespace, and has every capability in
 * it: it can create a mount namespace, mount, and change its root.  The kernel locks the run's
 * mounts there: none can be removed alone, moved or made writable, so that what they hide stays
 * hidden.  Three things are left to the broker:
 *
 *  - A bind mount gives a file another path, and rules are about paths.  The broker resolves a
 *    path from the caller's root, and asks the kernel for the text of the path of the result.
 *    Only if the same text leads to the same file (device and inode) in the guard's own view, it
 *    is the path that the rules are about.  So the caller can do there what a process of the run
 *    could do with that path, and no more.  Any other file is refused.
 *  - A process that has lost the run's mounts (pivot_root, MNT_DETACH) could rename or unlink the
 *    file that a mount covers.  The guard makes these calls in its own mount namespace, where the
 *    kernel refuses them with EBUSY; and where the name is a mount point in the caller's
 *    namespace, we do (struct resolved, mounted).
 *  - A file system that was mounted inside may store its files in another tree (overlayfs) or be
 *    the kernel's (cgroup, procfs).  Only file systems whose files are their own, in memory, and
 *    that are not mounted in the guard's view are free of rules.
 *
 * The call is then made on the descriptor that was resolved in the caller's view, so the
 * caller's own read-only mounts hold, too.
 *
 * A process leaves the run's user namespace for ever: setns(2) to it needs a capability in it.  And
 * in it no process has one, so all of them have the guard's root and mounts.  But they can be given
 * a descriptor or a working directory of another mount namespace, or use /proc/PID/root: so each
 * place is settled, whichever process names it.
 *
 * Should:   never settle a place whose path in the guard's view is in doubt.
 * Must not: follow a magic link of another process (procfs) for such a caller.
 * Fails:    closed, with EACCES. */
#include "linux/broker/view.h"

#include "base/auto.h"
#include "base/path.h"
#include "base/str.h"
#include "linux/broker/verdict.h"
#include "linux/broker/walk.h"
#include "linux/kernel_api.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#define MQUEUE_MAGIC 0x19800202      /* ipc/mqueue.c */
#define ATTRIBUTE_MOUNT_ROOT 0x2000U /* STATX_ATTR_MOUNT_ROOT */
#define PROC_ROOT_INODE 1
#define READ_ONLY 1 /* ST_RDONLY, of struct statfs */

static struct text proc_path(pid_t tid, const char *rest) {
	struct text t = {.len = 0};

	caller_text_number(&t, (uint64_t)tid);
	caller_text_add(&t, rest);
	return t;
}

int view_begin(const struct call *c) {
	struct broker *b = c->b;
	struct stat st;
	struct text ns = proc_path(c->tid, "/ns/user"), root = proc_path(c->tid, "/root");

	b->view = b->root;
	if (syscall(SYS_newfstatat, b->proc, ns.s, &st, 0) != 0) {
		return errno == ENOENT ? -ESRCH : -EPERM;
	}
	if (st.st_ino != b->userns) {
		int fd = openat(b->proc, root.s, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0) {
			return errno == ENOENT ? -ESRCH : -EPERM;
		}
		b->view = fd;
	}
	return caller_waits(c) ? 0 : -ESRCH; /* then all of this belongs to the caller */
}

void view_end(struct broker *b) {
	if (view_is_foreign(b)) {
		(void)close(b->view); /* an error cannot be handled */
		b->view = b->root;
	}
}

/* ---- procfs ---- */

static bool mount_of(int fd, uint64_t *ret) {
	struct file_status s;

	*ret = 0;
	if (sys_statx(fd, "", AT_EMPTY_PATH, FILE_STATUS_MOUNT, &s) != 0 ||
	    (s.mask & FILE_STATUS_MOUNT) == 0) {
		return false;
	}
	*ret = s.mount;
	return true;
}

bool view_is_root(const struct broker *b, int fd) {
	struct stat here, root;
	uint64_t mount, whole;

	return fstat(fd, &here) == 0 && fstat(b->view, &root) == 0 && here.st_dev == root.st_dev &&
	       here.st_ino == root.st_ino && mount_of(fd, &mount) && mount_of(b->view, &whole) &&
	       mount == whole;
}

/* The procfs at the caller's /proc. */
static int open_proc(const struct broker *b, struct stat *ret) {
	auto_fd fd = sys_openat2(b->view, "proc", O_PATH | O_DIRECTORY, RESOLVE_NO_SYMLINKS);

	if (fd < 0 || fstat(fd, ret) != 0 || !resolved_in_proc(fd) ||
	    ret->st_ino != PROC_ROOT_INODE) {
		return -1;
	}
	return take_fd(&fd);
}

bool view_is_inner_proc(const struct broker *b, uint64_t dev) {
	struct stat st;
	char word;

	if (!view_is_foreign(b)) {
		return false;
	}
	auto_fd proc = open_proc(b, &st);
	/* "self" is the process that reads it; there is none for a process that has no id there. */
	return proc >= 0 && st.st_dev == dev && dev != b->proc_dev &&
	       syscall(SYS_readlinkat, proc, "self", &word, 1) < 0 && errno == ENOENT;
}

/* The last number of a line of /proc/TID/status: the id in the innermost pid namespace. */
static long last_number(const char *line) {
	long value = -1;

	while (*line != '\0' && *line != '\n') {
		if (*line < '0' || *line > '9') {
			line++;
			continue;
		}
		value = 0;
		for (; *line >= '0' && *line <= '9' && value < INT_MAX; line++) {
			value = value * 10 + (*line - '0');
		}
	}
	return value;
}

static long innermost_id(const struct call *c) {
	char text[2048];
	struct text path = proc_path(c->tid, "/status");
	auto_fd fd = openat(c->b->proc, path.s, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);

	if (n < 0) {
		return -ESRCH;
	}
	text[n] = '\0';
	const char *line = strstr(text, "\nNStgid:");
	return line == NULL ? -ESRCH : last_number(line + sizeof "\nNStgid:" - 1);
}

long view_process(const struct call *c, uint64_t dev) {
	return dev == c->b->proc_dev ? caller_status(c, caller_entry(c), "Tgid:", 10)
				     : innermost_id(c);
}

/* The path is that of the caller's own process, in the procfs at its /proc. */
static bool is_own_path(const struct call *c, uint64_t dev, const char *path) {
	struct text own = {.len = 0};
	long process = view_process(c, dev);

	caller_text_add(&own, "/proc/");
	caller_text_number(&own, (uint64_t)process);
	return process > 0 && path_within(path, own.s);
}

/* On the mount at /proc itself, the caller's or the guard's: no mount within it gives a file
 * another path. */
static bool is_on_proc_mount(const struct broker *b, int fd) {
	struct stat st;
	uint64_t whole, here;
	auto_fd proc = open_proc(b, &st);

	return mount_of(fd, &here) && ((proc >= 0 && mount_of(proc, &whole) && whole == here) ||
				       (mount_of(b->proc, &whole) && whole == here));
}

bool view_is_own_proc(const struct call *c, int fd) {
	char path[REAL_MAX];
	struct stat st;

	return fstat(fd, &st) == 0 && is_on_proc_mount(c->b, fd) &&
	       resolved_real_path(c->b, fd, path, sizeof path) == 0 &&
	       is_own_path(c, st.st_dev, path);
}

/* /proc/12 and everything beneath it. */
static bool is_of_process(const char *path) {
	static const char proc[] = "/proc/";

	return str_starts(path, proc) && path[sizeof proc - 1] >= '0' &&
	       path[sizeof proc - 1] <= '9';
}

/* The caller's own process; and the files that belong to no process, to read them. */
static int settle_proc(const struct call *c, struct resolved *p, const struct stat *st) {
	const char *path = p->has_name ? p->dir : p->real;
	bool known = st->st_dev == c->b->proc_dev || view_is_inner_proc(c->b, st->st_dev);

	if (!known || p->has_name || !path_within(path, "/proc")) {
		return -EACCES;
	}
	if (!is_of_process(path)) {
		p->kernels = true;
		return 0;
	}
	return is_on_proc_mount(c->b, p->fd) && is_own_path(c, st->st_dev, path) ? 0 : -EACCES;
}

int view_userns_of(const struct call *c, const struct resolved *p) {
	static const char *const maps[] = {"/uid_map", "/gid_map", "/setgroups", "/projid_map"};
	struct text ns = proc_path(c->tid, "/ns/user");
	size_t len = strlen(p->real);

	if (!view_is_foreign(c->b) || !is_of_process(p->real)) {
		return -1;
	}
	for (size_t i = 0; i < ARRAY_LEN(maps); i++) {
		size_t n = strlen(maps[i]);
		if (len > n && streq(p->real + len - n, maps[i])) {
			return openat(c->b->proc, ns.s, O_RDONLY | O_CLOEXEC);
		}
	}
	return -1;
}

/* ---- other file systems ---- */

/* File systems whose files are in memory, and not in another tree. */
static bool keeps_its_own_files(int fd) {
	struct statfs fs;

	if (syscall(SYS_fstatfs, fd, &fs) != 0) {
		return false;
	}
	switch ((unsigned long)fs.f_type) {
	case TMPFS_MAGIC:
	case RAMFS_MAGIC:
	case DEVPTS_SUPER_MAGIC:
	case MQUEUE_MAGIC:
		return true;
	default:
		return false;
	}
}

struct line_scan {
	char wanted[24]; /* " 0:57 " */
	char tail[24];   /* the end of the last block, where a device may be cut */
	size_t ntail;
};

static bool block_has(struct line_scan *s, const char *block, size_t len) {
	char space[4096 + sizeof s->tail + 1];

	memcpy(space, s->tail, s->ntail);
	memcpy(space + s->ntail, block, len);
	size_t n = s->ntail + len;
	space[n] = '\0';
	s->ntail = n < sizeof s->tail - 1 ? n : sizeof s->tail - 1;
	memcpy(s->tail, space + n - s->ntail, s->ntail);
	return strstr(space, s->wanted) != NULL;
}

/* Whether the guard's mount namespace has a mount of this device; true when in doubt. */
static bool is_mounted_here(const struct broker *b, dev_t dev) {
	struct line_scan s = {.ntail = 0};
	struct text device = {.len = 0}, path = {.len = 0};
	char block[4096];
	ssize_t n;

	caller_text_add(&device, " ");
	caller_text_number(&device, (uint64_t)(dev >> 8 & 0xfff)); /* new_encode_dev() */
	caller_text_add(&device, ":");
	caller_text_number(&device, (uint64_t)((dev & 0xff) | (dev >> 12 & 0xfff00)));
	caller_text_add(&device, " ");
	if (device.len >= sizeof s.wanted) {
		return true;
	}
	memcpy(s.wanted, device.s, device.len + 1);
	caller_text_number(&path, (uint64_t)b->self);
	caller_text_add(&path, "/mountinfo");
	auto_fd fd = openat(b->proc, path.s, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		return true;
	}
	while ((n = read(fd, block, sizeof block)) > 0) {
		if (block_has(&s, block, (size_t)n)) {
			return true;
		}
	}
	return n != 0;
}

/* ---- the same file in the guard's view ---- */

static bool is_read_only(int fd) {
	struct statfs fs;

	return syscall(SYS_fstatfs, fd, &fs) != 0 || (fs.f_flags & READ_ONLY) != 0;
}

/* The text leads to the same file here.  And no mount that is read-only here is writable there: the
 * same file may be mounted twice in the guard's view. */
static bool leads_here(const struct broker *b, const char *path, int fd, const struct stat *st) {
	struct stat here;
	auto_fd own = path[0] != '/' ? -1
				     : sys_openat2(b->root, path, O_PATH | O_NOFOLLOW,
						   RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);

	return own >= 0 && fstat(own, &here) == 0 && here.st_dev == st->st_dev &&
	       here.st_ino == st->st_ino && (!is_read_only(own) || is_read_only(fd));
}

/* The name is a mount point in the caller's view: the kernel would refuse to rename or remove it.
 */
static bool is_mount_point(const struct resolved *p) {
	struct file_status s;

	return sys_statx(p->fd, p->name, AT_SYMLINK_NOFOLLOW, FILE_STATUS_MOUNT, &s) == 0 &&
	       (s.attributes & ATTRIBUTE_MOUNT_ROOT) != 0;
}

/* Finds the path here.  A sandbox that is being set up has the run's tree beneath a directory, as
 * bubblewrap's /newroot: so without the first components, too.  Which of them it is does not matter
 * for safety, because each has to lead to the same file. */
static bool find_here(const struct broker *b, struct resolved *p, const struct stat *st) {
	char *path = p->has_name ? p->dir : p->real;
	size_t skip = 0;

	while (!leads_here(b, path + skip, p->fd, st)) {
		const char *next = strchr(path + skip + 1, '/');
		if (path[skip] != '/' || next == NULL) {
			return false;
		}
		skip = (size_t)(next - path);
	}
	if (skip > 0) {
		memmove(path, path + skip, strlen(path + skip) + 1);
	}
	if (skip > 0 && p->has_name) {
		memmove(p->real, p->real + skip, strlen(p->real + skip) + 1);
	}
	return true;
}

/* A place that no rule is about: with a path that no file has in the guard's view. */
static void name_inner(struct resolved *p) {
	static const char nowhere[] = "/[inner]";

	p->inner = true;
	memcpy(p->real, nowhere, sizeof nowhere);
	memcpy(p->dir, nowhere, sizeof nowhere);
	if (p->has_name) {
		p->real[sizeof nowhere - 1] = '/';
		memcpy(p->real + sizeof nowhere, p->name, strlen(p->name) + 1);
	}
}

int view_settle(const struct call *c, struct resolved *p) {
	struct stat st;

	if (verdict_is_nowhere(p)) {
		return 0;
	}
	if (fstat(p->fd, &st) != 0) {
		return -EACCES;
	}
	if (resolved_in_proc(p->fd)) {
		return view_is_foreign(c->b)           ? settle_proc(c, p, &st)
		       : is_on_proc_mount(c->b, p->fd) ? 0
						       : -EACCES;
	}
	p->mounted = p->has_name && is_mount_point(p);
	if (find_here(c->b, p, &st)) {
		return 0;
	}
	if (!keeps_its_own_files(p->fd) || is_mounted_here(c->b, st.st_dev)) {
		return -EACCES;
	}
	name_inner(p);
	return 0;
}
