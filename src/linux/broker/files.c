/* SPDX-License-Identifier: Apache-2.0 */
/* Serves open, openat, creat, truncate and umask.
 *
 * Should:   open the checked file by its descriptor (K3), with the caller's flags and umask,
 *           and install the new descriptor in the caller.
 * Must not: give the guard a controlling terminal, or wait for a FIFO's other end or a lease
 *           (K5).
 * Fails:    closed: if the path changes between check and open, it is resolved again, at most
 *           TRIES_MAX times, and then refused. */
#include "linux/broker/files.h"

#include "base/auto.h"
#include "base/str.h"
#include "linux/broker/preexisting.h"
#include "linux/broker/hardlinks.h"
#include "linux/broker/created.h"
#include "linux/broker/domain.h"
#include "linux/broker/placeholder.h"
#include "linux/broker/verdict.h"
#include "linux/broker/view.h"
#include "linux/broker/watched.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Reached only if another process creates and removes the same name in a loop. */
#define TRIES_MAX 16

/* Opens with these flags are redirected from /tmp and /dev/shm to the run's own directory:
 * shm_open(3) and mkstemp(3) use them.  Other opens are not: the filter does not send all of
 * them to the broker, so that a later read would not find the file. */
#define REDIRECTED_FLAGS (O_NOFOLLOW | O_EXCL)

#define SET_IDS 06000
#define TTY_DEVICE 0x500 /* character device 5, 0 */

static bool creates(int flags) {
	return (flags & (O_CREAT | TMPFILE_BIT)) != 0;
}

/* The guard's umask is the caller's: the pidfd shows that the pid was not reused, and no umask(2)
 * came since. */
static bool umask_is_kept(const struct call *c) {
	const struct broker *b = c->b;

	return b->umask_of == c->tid && b->umask_holder >= 0 &&
	       syscall(SYS_pidfd_send_signal, b->umask_holder, 0, NULL, 0U) == 0;
}

static void umask_forget(struct broker *b) {
	drop_fd(&b->umask_holder);
	b->umask_of = 0;
}

/* Only for the thread that called umask(2) last, if it is the thread group leader. */
static void umask_keep(const struct call *c) {
	struct broker *b = c->b;

	umask_forget(b);
	if (b->watches_umask && c->tid == b->umask_setter) {
		b->umask_holder = (int)syscall(SYS_pidfd_open, c->tid, 0U); /* -1: not a leader */
		b->umask_of = c->tid;
	}
}

/* The guard creates files with the caller's umask.  As long as no process has called umask(2)
 * with another value, all have the one that the command started with. */
int files_take_umask(const struct call *c) {
	const struct broker *b = c->b;

	if ((b->watches_umask && !b->umask_differs) || umask_is_kept(c)) {
		return 0;
	}
	long mask = caller_status(c, caller_entry(c), "Umask:", 8);

	if (mask < 0) {
		return (int)mask;
	}
	if (!caller_waits(c)) {
		return -ESRCH;
	}
	(void)umask((mode_t)mask);
	umask_keep(c);
	return 0;
}

/* ---- a file that exists ---- */

/* The flags for reopening an O_PATH descriptor: the path is resolved, and the file exists. */
static int reopen_flags(const struct opening *o) {
	int drop = O_CREAT | O_NOFOLLOW | ((o->flags & TMPFILE_BIT) != 0 ? 0 : O_EXCL);

	return (o->flags & ~drop) | O_NOCTTY;
}

/* In a helper: blocks as long as the caller would. */
long files_open_waiting(const struct call *c, int fd, const void *arg) {
	const struct opening *o = arg;
	struct text path = caller_fd_path(fd);
	int got = open(path.s, reopen_flags(o) | O_CLOEXEC, o->mode);

	if (got < 0) {
		return -errno;
	}
	helper_finish();
	return call_give(c, got, (o->flags & O_CLOEXEC) != 0, opening_writes(o->flags));
}

/* In a helper: waits until the search for hard links has ended, then opens. */
static long open_when_known(const struct call *c, int fd, const void *arg) {
	long r = hardlinks_wait(c, fd);

	return r != 0 ? r : files_open_waiting(c, fd, arg);
}

static bool is_large(int fd) {
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_blocks >= CALL_LARGE;
}

static bool may_block(const struct resolved *p, int flags) {
	/* O_RDWR on a FIFO does not block. */
	return S_ISFIFO(p->mode) && (flags & O_NONBLOCK) == 0 && (flags & O_ACCMODE) != O_RDWR;
}

/* Opens the file of an O_PATH descriptor.  Under a domain a child does, which may not look at the
 * guard's own /proc directory. */
static int reopen_now(const struct call *c, const struct resolved *p, int flags, mode_t mode) {
	struct text number = {.len = 0}, path = caller_fd_path(p->fd);
	auto_fd userns = view_userns_of(c, p);

	if (userns >= 0 || domain_is_set()) {
		domain_lend_userns(userns);
		return (int)in_domain(SYS_openat, AT_FDCWD, domain_pointer(path.s),
				      flags | O_CLOEXEC, (long)mode);
	}
	caller_text_number(&number, (uint64_t)p->fd);
	return openat(c->b->fds, number.s, flags | O_CLOEXEC, mode);
}

static long reopen(const struct call *c, const struct resolved *p, const struct opening *o) {
	int flags = reopen_flags(o);

	if (may_block(p, o->flags)) {
		return helper_run_waiting(c, p->fd, -1, files_open_waiting, o);
	}
	if ((flags & O_TRUNC) != 0 && is_large(p->fd)) {
		return helper_run(c, p->fd, -1, files_open_waiting, o);
	}
	/* O_NONBLOCK: open(2) would wait for the holder of a lease, which may be the caller. */
	int extra = S_ISREG(p->mode) ? O_NONBLOCK : 0;
	auto_fd got = reopen_now(c, p, flags | extra, o->mode);
	if (got < 0 && errno == EWOULDBLOCK && (flags & O_NONBLOCK) == 0 && extra != 0) {
		return helper_run_waiting(c, p->fd, -1, files_open_waiting, o);
	}
	if (got < 0) {
		return -errno;
	}
	if ((extra & ~flags) != 0 && fcntl(got, F_SETFL, flags & ~O_CREAT) != 0) {
		return -errno;
	}
	return call_give(c, take_fd(&got), (o->flags & O_CLOEXEC) != 0,
			 opening_is_of_program(o->flags, p->mode));
}

/* /dev/tty is the controlling terminal of the process that opens it.  A caller in another
 * session has another one, or none. */
static bool is_our_terminal(const struct call *c, const struct resolved *p) {
	return S_ISCHR(p->mode) && p->rdev == TTY_DEVICE &&
	       syscall(SYS_getsid, c->tid) != syscall(SYS_getsid, 0);
}

static long open_own_terminal(const struct call *c, const struct opening *o) {
	struct text path;
	int r = own_terminal_path(c, &path);
	int got = r != 0 ? -1 : open(path.s, reopen_flags(o) | O_CLOEXEC);

	if (got < 0) {
		return -ENXIO;
	}
	return call_give(c, got, (o->flags & O_CLOEXEC) != 0, false);
}

/* The copy that the plan shows instead of this file, or NULL. */
static const struct mount *copy_of(const struct plan *plan, const struct resolved *p) {
	for (size_t i = 0; i < plan->nmounts; i++) {
		const struct mount *m = &plan->mounts[i];
		if (m->kind == MOUNT_TEXT && streq(m->target, p->real)) {
			return m;
		}
	}
	return NULL;
}

/* The copy is in the run's directory, where the command can overwrite it, which affects only
 * this run; a symlink in its place is not followed. */
static long open_copy(const struct call *c, const struct resolved *p, const struct opening *o,
		      const struct mount *m) {
	auto_fd fd = open(m->source, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct resolved copy = *p;

	if (fd < 0) {
		return -errno;
	}
	copy.fd = fd;
	return reopen(c, &copy, o);
}

static long open_found(const struct call *c, const struct resolved *p, const struct opening *o) {
	int r = verdict_look(c, p);
	bool holds_data = S_ISREG(p->mode) || S_ISDIR(p->mode);

	if (r != 0) {
		return r;
	}
	if (is_our_terminal(c, p)) {
		return open_own_terminal(c, o); /* K4 */
	}
	if ((o->flags & O_CREAT) != 0 && S_ISDIR(p->mode)) {
		return -EISDIR;
	}
	/* Devices and FIFOs hold no data of the tree: a read-only mount allows writing to them,
	 * too, and Landlock decides which may be opened. */
	if (opening_writes(o->flags) && holds_data) {
		r = verdict_change(c, p);
	}
	if (r == 0 && (o->flags & TMPFILE_BIT) != 0) {
		r = files_take_umask(c);
	}
	const struct mount *copy = r == 0 ? copy_of(c->b->plan, p) : NULL;
	if (copy != NULL) {
		return open_copy(c, p, o, copy);
	}
	r = r != 0 ? r : hardlinks_judge(c, p);
	if (r == LINKS_LATER) {
		return helper_run(c, p->fd, -1, open_when_known, o);
	}
	return r != 0 ? r : reopen(c, p, o);
}

/* ---- a new file ---- */

static long open_new(const struct call *c, const struct resolved *p, const struct opening *o) {
	int r = p->slash ? -EISDIR : verdict_make(c, p);

	bool placeholder = placeholder_is_allowed(c, p, r);

	if (r == 0 || placeholder) {
		r = files_take_umask(c);
	}
	if (r != 0) {
		return r;
	}
	/* O_EXCL: this call creates the file, or fails. */
	int flags = (placeholder ? O_CREAT | O_RDONLY : o->flags) | O_EXCL | O_NOFOLLOW |
		    O_CLOEXEC | O_NOCTTY;
	int got = (int)in_domain(SYS_openat, p->fd, domain_pointer(p->name), flags, (long)o->mode);
	if (got < 0) {
		return -errno;
	}
	if (placeholder) {
		placeholder_made(p);
		return call_give(c, got, (o->flags & O_CLOEXEC) != 0, false);
	}
	preexisting_made(c->b, p);
	created_file(c, p->real, o->mode);
	return call_give(c, got, (o->flags & O_CLOEXEC) != 0,
			 opening_is_of_program(o->flags, o->mode));
}

static long made_or_stale(long made, bool exclusive) {
	return made == -EEXIST && !exclusive ? -ESTALE : made;
}

/* One try; -ESTALE when the name changed between its steps. */
static long open_or_make(const struct call *c, int dirfd, const char *path,
			 const struct opening *o) {
	bool exclusive = (o->flags & O_EXCL) != 0;
	bool follow = !exclusive && (o->flags & O_NOFOLLOW) == 0;
	auto_place p;

	/* First as the last such call ended: a program overwrites many files, or creates many. */
	p.fd = -1;
	if ((exclusive || !c->b->exists) && resolve_absent(c, dirfd, path, &p) == 0) {
		return made_or_stale(open_new(c, &p, o), exclusive);
	}
	int r = resolve_file(c, dirfd, path, follow, &p);
	c->b->exists = r == 0;
	if (r == 0) {
		return exclusive ? -EEXIST : open_found(c, &p, o);
	}
	if (r != -ENOENT) {
		return r;
	}
	drop_fd(&p.fd);
	r = follow ? resolve_missing(c, dirfd, path, &p) : resolve_name(c, dirfd, path, &p);
	if (r != 0) {
		return r == -EEXIST ? -ESTALE : r;
	}
	return made_or_stale(open_new(c, &p, o), exclusive);
}

static long open_at(const struct call *c, int dirfd, const char *path, const struct opening *o) {
	auto_place p;

	if ((o->flags & O_CREAT) == 0) {
		int r = resolve_file(c, dirfd, path, (o->flags & O_NOFOLLOW) == 0, &p);
		return r != 0 ? verdict_missing(c, &p, r) : open_found(c, &p, o);
	}
	p.fd = -1;
	long got = -ESTALE;
	for (int i = 0; got == -ESTALE && i < TRIES_MAX; i++) {
		got = open_or_make(c, dirfd, path, o);
	}
	return got;
}

static long serve_opening(struct call *c, int dirfd, uint64_t address, struct opening o) {
	char path[PATH_MAX];

	c->as_written = (o.flags & REDIRECTED_FLAGS) == 0;

	/* ADDFD refuses O_PATH descriptors with EBADF, so the caller opens it itself.  There is
	 * no check to bypass: the flag is in a register, which does not change, and an O_PATH
	 * descriptor gives no more than stat(2); the broker checks later calls on it by its
	 * real path. */
	if ((o.flags & O_PATH) != 0) {
		return call_let_pass(c);
	}
	bool redirected = !c->as_written && c->b->plan->stand_in != NULL;
	if (!creates(o.flags) && !opening_writes(o.flags) && !redirected &&
	    (c->b->plan->traits & (TRAIT_WATCH | TRAIT_READS)) == TRAIT_WATCH) {
		return watched_pass(c, dirfd, address, DENIAL_READ);
	}
	int r = caller_copy(c, address, path, sizeof path);
	if (r != 0) {
		return r;
	}
	if ((o.flags & O_CREAT) != 0 && (o.flags & O_DIRECTORY) != 0) {
		return -EINVAL;
	}
	if (!creates(o.flags)) {
		o.mode = 0;
	}
	if ((o.mode & SET_IDS) != 0) {
		return -EPERM;
	}
	bool quick = c->b->quick && !c->b->nests && !domain_is_set();
	long got = quick ? resolve_fast_open(c, dirfd, path, &o) : QUICK_NOT;
	if (got != QUICK_NOT) {
		return got;
	}
	/* For a relative path caller_fd() finds that out, after reading more of the caller. */
	return path[0] != '/' || caller_waits(c) ? open_at(c, dirfd, path, &o) : -ESRCH;
}

/* Checks nothing: from now on files_take_umask() has to read the caller's umask. */
long serve_umask(struct call *c) {
	struct broker *b = c->b;

	if ((c->args[0] & 0777) != b->umask) {
		b->umask_differs = true;
	}
	umask_forget(b);
	b->umask_setter = c->tid;
	return call_let_pass(c);
}

long serve_open(struct call *c) {
	return serve_opening(c, AT_FDCWD, c->args[0],
			     (struct opening){call_int(c, 1), (mode_t)c->args[2] & 07777});
}

long serve_openat(struct call *c) {
	return serve_opening(c, call_int(c, 0), c->args[1],
			     (struct opening){call_int(c, 2), (mode_t)c->args[3] & 07777});
}

long serve_creat(struct call *c) {
	return serve_opening(
		c, AT_FDCWD, c->args[0],
		(struct opening){O_CREAT | O_WRONLY | O_TRUNC, (mode_t)c->args[1] & 07777});
}

/* ---- truncate ---- */

static long truncate_fd(const struct call *c, int fd, const void *arg) {
	const uint64_t *args = arg;
	(void)c;

	return syscall(SYS_ftruncate, fd, args[1]) != 0 ? -errno : 0;
}

static long truncate_waiting(const struct call *c, int fd, const void *arg) {
	struct text path = caller_fd_path(fd);
	auto_fd file = open(path.s, O_WRONLY | O_CLOEXEC | O_NOCTTY);

	return file < 0 ? -errno : truncate_fd(c, file, arg);
}

static long truncate_when_known(const struct call *c, int fd, const void *arg) {
	long r = hardlinks_wait(c, fd);

	return r != 0 ? r : truncate_waiting(c, fd, arg);
}

long serve_truncate(struct call *c) {
	char path[PATH_MAX];
	auto_place p;

	p.fd = -1;
	int r = caller_string(c, c->args[0], path, sizeof path);
	if (r == 0) {
		r = resolve_file(c, AT_FDCWD, path, true, &p);
	}
	if (r == 0 && !S_ISREG(p.mode)) {
		r = S_ISDIR(p.mode) ? -EISDIR : -EINVAL;
	}
	if (r == 0) {
		r = verdict_change(c, &p);
	}
	if (r == 0) {
		r = hardlinks_judge(c, &p);
	}
	if (r == LINKS_LATER) {
		return helper_run(c, p.fd, -1, truncate_when_known, c->args);
	}
	if (r != 0) {
		return r;
	}
	if (is_large(p.fd)) {
		return helper_run(c, p.fd, -1, truncate_waiting, c->args);
	}
	auto_fd file = reopen_now(c, &p, O_WRONLY | O_NONBLOCK | O_NOCTTY, 0);
	if (file < 0 && errno == EWOULDBLOCK) {
		return helper_run(c, p.fd, -1, truncate_waiting, c->args);
	}
	return file < 0 ? -errno : truncate_fd(c, file, c->args);
}
