/* SPDX-License-Identifier: Apache-2.0 */
/* Serves common opens, of which a build makes thousands, with as few system calls as possible.
 *
 * In an own mount namespace a path means the same to the guard as to the caller, except in
 * /proc; so openat2() resolves it.  Opens of other than regular files, refusals, and errors
 * that need a closer look are left to files.c.
 *
 * Most paths have no symlink, no ".." and no rule.  Then the guard makes the path absolute, checks
 * that text, and opens the same text with RESOLVE_NO_SYMLINKS: the file that is opened or created
 * has the path that was checked, also if a directory is renamed meanwhile, because the kernel looks
 * up each name of it.  Where a rule depends on the file (verdict_is_free()), the directory is held
 * by a descriptor first.
 *
 * Should:   open the checked file by its descriptor or by that text (K3); a file that exists is
 *           opened first and checked then, because the caller does not get the descriptor
 *           before.
 * Must not: create or truncate a file before the path was checked, or decide otherwise than
 *           files.c.
 * Fails:    safe: leaves the call to files.c (QUICK_NOT). */
#include "linux/broker/files.h"

#include "base/auto.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/str.h"
#include "linux/broker/preexisting.h"
#include "linux/broker/hardlinks.h"
#include "linux/broker/created.h"
#include "linux/broker/verdict.h"
#include "linux/broker/walk.h"
#include "linux/kernel_api.h"

#include <errno.h>
#include <string.h>

/* ---- resolving a path ---- */

/* In /proc "self" depends on the process that opens it. */
static bool is_proc(const char *real) {
	return path_within(real, "/proc") || real[0] != '/';
}

/* The text that the kernel adds to the path of a removed directory.  Another directory may have
 * that name. */
static bool is_removed(const char *path, size_t len) {
	static const char mark[] = " (deleted)";
	size_t n = sizeof mark - 1;

	return len >= n && memcmp(path + len - n, mark, n) == 0;
}

/* The path of the caller's working directory, without a NUL: its length, or -1. */
static ssize_t working_directory(const struct call *c, char out[PATH_MAX]) {
	struct cwd_text *kept = &c->b->cwd;
	struct text link = {.len = 0};

	if (kept->len > 0 && kept->id == c->id) {
		memcpy(out, kept->text, kept->len);
		return (ssize_t)kept->len;
	}
	caller_text_number(&link, (uint64_t)caller_entry(c));
	caller_text_add(&link, "/cwd");
	ssize_t n = syscall(SYS_readlinkat, c->b->proc, link.s, out, PATH_MAX);
	kept->len = 0;
	if (n > 0 && (size_t)n <= sizeof kept->text) {
		memcpy(kept->text, out, (size_t)n);
		kept->len = (size_t)n;
		kept->id = c->id;
	}
	return n;
}

/* Makes a relative path absolute with the caller's working directory, which "." is alone; false
 * when it does not fit, or the directory has no path.  A rename by a host process at the same
 * moment takes effect before or after, as it would in the kernel. */
static bool from_directory(const struct call *c, const char *path, char out[PATH_MAX]) {
	ssize_t n = working_directory(c, out);

	path += streq(path, ".") ? 1 : str_starts(path, "./") ? 2 : 0;
	size_t len = strlen(path);
	if (n <= 0 || (size_t)n + len + 2 > PATH_MAX || out[0] != '/' ||
	    is_removed(out, (size_t)n)) {
		return false;
	}
	if (n > 1 && len > 0) {
		out[n++] = '/';
	}
	memcpy(out + n, path, len + 1);
	return true;
}

/* The path as an absolute text of at most PATH_MAX bytes, which is its real path if it has no
 * symlink; false when it has "..", or is in /proc, or depends on a descriptor. */
static bool is_straight(const struct call *c, int dirfd, const char *path, char out[PATH_MAX]) {
	if (path[0] == '/') {
		memcpy(out, path, strlen(path) + 1);
	} else if (dirfd != AT_FDCWD || !from_directory(c, path, out)) {
		return false;
	}
	return path_is_normal(out) && !path_within(out, "/proc");
}

/* Resolves a path without symlinks.  -ELOOP: it may have some.  -ESRCH: the file is missing. */
static int find_straight(const struct call *c, int dirfd, const char *path, int flags,
			 struct resolved *p) {
	place_reset(p);
	if (!is_straight(c, dirfd, path, p->real)) {
		return -ELOOP;
	}
	p->fd = sys_openat2(c->b->root, p->real, (uint64_t)flags, RESOLVE_NO_SYMLINKS);
	if (p->fd < 0) {
		return errno == ENOENT ? -ESRCH : -errno; /* no symlink was followed */
	}
	return 0;
}

/* The start of a path, as a descriptor of our own. */
static int base_for(const struct call *c, int dirfd, const char *path) {
	if (path[0] != '/') {
		return caller_fd(c, dirfd);
	}
	int fd = fd_duplicate(c->b->root, 0);
	return fd < 0 ? -errno : fd;
}

static int find(const struct call *c, int dirfd, const char *path, int flags, struct resolved *p) {
	int r = find_straight(c, dirfd, path, flags, p);
	if (r != -ELOOP) {
		return r;
	}
	auto_fd base = base_for(c, dirfd, path);
	if (base < 0) {
		p->fd = -1;
		return base;
	}
	p->fd = sys_openat2(base, path, (uint64_t)flags, RESOLVE_NO_MAGICLINKS);
	return p->fd < 0 ? -errno : resolved_real_path(c->b, p->fd, p->real, sizeof p->real);
}

/* Copies the directory part of a path to dir; returns the last component. */
static const char *split(const char *path, char dir[PATH_MAX]) {
	const char *slash = strrchr(path, '/');
	size_t len = slash == NULL ? 0 : (size_t)(slash - path);

	memcpy(dir, path, len);
	if (len == 0) {
		dir[len++] = slash == NULL ? '.' : '/';
	}
	dir[len] = '\0';
	return slash == NULL ? path : slash + 1;
}

/* ---- missing files ---- */

/* For paths that find_straight() does not handle, with a symlink or "..": linkers and loaders try
 * hundreds of them.  In files.c a miss takes twice as long. */

/* Never 0. */
static uint64_t hash_of(const char *text) {
	return hash_fnv64(HASH_FNV64, text, strlen(text)) | 1;
}

/* The directory of the missing name exists, and is not in /proc.  The cache may be stale: then
 * the caller gets ENOENT for a file that it has just moved behind a symlink to /proc. */
static bool is_plain(const struct call *c, int dirfd, const char *path, struct resolved *p) {
	char dir[PATH_MAX];

	(void)split(path, dir);
	uint64_t hash = hash_of(dir), *slot = &c->b->plain[hash % BROKER_PLAIN];
	if (dir[0] == '/' && *slot == hash) {
		return true;
	}
	bool plain = find(c, dirfd, dir, O_PATH | O_DIRECTORY, p) == 0 && !is_proc(p->real);
	drop_fd(&p->fd);
	if (plain && dir[0] == '/') {
		*slot = hash;
	}
	return plain;
}

/* The last component does not exist, not even as a dangling symlink. */
static bool is_absent(const struct call *c, int dirfd, const char *path) {
	struct stat st;
	auto_fd base = base_for(c, dirfd, path);

	return base >= 0 && syscall(SYS_newfstatat, base, path, &st, AT_SYMLINK_NOFOLLOW) != 0 &&
	       errno == ENOENT;
}

static long missing(const struct call *c, int dirfd, const char *path, struct resolved *p) {
	return is_absent(c, dirfd, path) && is_plain(c, dirfd, path, p) ? -ENOENT : QUICK_NOT;
}

/* ---- no symlinks ---- */

/* realpath(3) calls readlink(2) for each directory of a path: gcc does it a thousand times for one
 * file.  Also without an own mount namespace, whose root is that of the run. */
long resolve_fast_no_symlink(const struct call *c, int dirfd, const char *path) {
	char real[PATH_MAX];

	if (!c->b->fast || c->b->nests || path[0] == '\0' || !is_straight(c, dirfd, path, real)) {
		return QUICK_NOT;
	}
	auto_fd fd = sys_openat2(c->b->root, real, O_PATH | O_DIRECTORY | O_NOFOLLOW,
				 RESOLVE_NO_SYMLINKS);
	if (fd >= 0) {
		return -EINVAL;
	}
	return errno == ENOENT ? -ENOENT : QUICK_NOT; /* no symlink was followed */
}

/* ---- opens for reading ---- */

/* Clears the O_NONBLOCK that keeps an open from waiting for the holder of a lease (K5). */
static bool restore_flags(int fd, const struct opening *o) {
	return (o->flags & O_NONBLOCK) != 0 ||
	       fcntl(fd, F_SETFL, o->flags & ~(O_CREAT | O_TRUNC)) == 0;
}

static long give_file(const struct call *c, struct resolved *p, const struct opening *o) {
	struct stat st;

	if (fstat(p->fd, &st) != 0) {
		return QUICK_NOT;
	}
	p->mode = st.st_mode;
	p->nlink = st.st_nlink;
	if (hardlinks_judge(c, p) != 0) {
		return QUICK_NOT;
	}
	if (S_ISFIFO(st.st_mode) && (o->flags & O_NONBLOCK) == 0) {
		/* Our end has let a writer's open succeed: keep it until the caller has one. */
		return caller_waits(c) ? helper_run_waiting(c, p->fd, -1, files_open_waiting, o)
				       : -ESRCH;
	}
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
		return QUICK_NOT;
	}
	if (!restore_flags(p->fd, o)) {
		return -errno;
	}
	return call_give(c, take_fd(&p->fd), (o->flags & O_CLOEXEC) != 0, false);
}

/* O_DIRECTORY: neither a FIFO, nor a lease, nor a hard link has to be looked for. */
static long give_read(const struct call *c, struct resolved *p, const struct opening *o) {
	if (is_proc(p->real) || verdict_look(c, p) != 0) {
		return QUICK_NOT;
	}
	return (o->flags & O_DIRECTORY) == 0
		       ? give_file(c, p, o)
		       : call_give(c, take_fd(&p->fd), (o->flags & O_CLOEXEC) != 0, false);
}

/* The file at this real path does not exist. */
static long miss(const struct call *c, const char *real) {
	return c->b->ask < 0 && !plan_hides_host(c->b->plan, real) ? call_missing(c) : -ENOENT;
}

static long open_reading(const struct call *c, int dirfd, const char *path,
			 const struct opening *o) {
	auto_place p;
	/* O_NONBLOCK: neither a FIFO nor a lease blocks us. */
	int more = (o->flags & O_DIRECTORY) == 0 ? O_NONBLOCK | O_NOCTTY : 0;
	int r = find(c, dirfd, path, o->flags | more, &p);

	if (r == -ESRCH) {
		return miss(c, p.real);
	}
	if (r == -ENOENT) {
		return missing(c, dirfd, path, &p);
	}
	return r != 0 ? QUICK_NOT : give_read(c, &p, o);
}

/* ---- names in a directory ---- */

/* Turns p, a directory, into a name in it; false for "", "." and "..". */
static bool add_name(struct resolved *p, const char *name) {
	size_t len = strlen(name);

	p->mode = S_IFDIR;
	return len != 0 && !path_is_dots(name, len) && resolved_add_name(p, name, len, false) == 0;
}

/* Opens the directory of a name, which is a descriptor of the caller. */
static int find_given(const struct call *c, int dirfd, struct resolved *p) {
	place_reset(p);
	p->fd = caller_fd(c, dirfd);
	return p->fd < 0 ? p->fd : resolved_real_path(c->b, p->fd, p->real, sizeof p->real);
}

int resolve_fast_name(const struct call *c, int dirfd, const char *path, struct resolved *p) {
	char dir[PATH_MAX];
	const char *name = split(path, dir);

	p->fd = -1;
	int r = name == path && dirfd != AT_FDCWD ? find_given(c, dirfd, p)
						  : find(c, dirfd, dir, O_PATH | O_DIRECTORY, p);
	if (r != 0 || is_proc(p->real) || !add_name(p, name)) {
		drop_fd(&p->fd);
		return -EAGAIN;
	}
	return 0;
}

int resolve_fast_file(const struct call *c, int dirfd, const char *path, bool follow,
		      struct resolved *p) {
	struct stat st;

	if (find_straight(c, dirfd, path, O_PATH | (follow ? 0 : O_NOFOLLOW), p) != 0) {
		return -EAGAIN;
	}
	if (fstat(p->fd, &st) != 0) {
		drop_fd(&p->fd);
		return -EAGAIN;
	}
	p->mode = st.st_mode;
	p->nlink = st.st_nlink;
	p->rdev = st.st_rdev;
	return 0;
}

/* ---- opens for writing, and with O_CREAT ---- */

/* A path that was checked: a name in p->fd, or p->real from the root. */
static int open_checked(const struct call *c, const struct resolved *p, int flags, mode_t mode) {
	const struct open_how how = {
		.flags = (uint64_t)(unsigned)(flags | O_NOFOLLOW | O_NOCTTY),
		.mode = mode,
		.resolve = RESOLVE_NO_SYMLINKS,
	};

	return p->fd < 0 ? sys_openat2_how(c->b->root, p->real, how)
			 : sys_openat2_how(p->fd, p->name, how);
}

/* Truncates after the check of the hard links, and only a small file (K5). */
static bool truncate_checked(int fd, const struct stat *st, const struct opening *o) {
	return (o->flags & O_TRUNC) == 0 ||
	       (st->st_blocks < CALL_LARGE && syscall(SYS_ftruncate, fd, 0L) == 0);
}

/* Devices are left to files.c unopened, and so is every file that this open would copy up: the copy
 * has one hard link. */
static bool may_open_existing(const struct call *c, const struct resolved *p,
			      const struct opening *o) {
	return (o->flags & O_ACCMODE) != O_RDONLY && !path_within(p->real, "/dev") &&
	       !links_copied(c->b);
}

/* Opens a file that exists already: a descriptor, -ENOENT, or -EAGAIN: files.c decides.  A regular
 * file is at the path that was checked; one with several hard links is left to files.c.  A FIFO
 * that has no reader is ENXIO here; if it has one, the caller's own open would not wait either. */
static int open_existing(const struct call *c, const struct resolved *p, const struct opening *o,
			 mode_t *ret_mode) {
	struct stat st;

	auto_fd got = open_checked(c, p, (o->flags & ~(O_CREAT | O_TRUNC)) | O_NONBLOCK, 0);
	if (got < 0 && errno == ENOENT) {
		return -ENOENT;
	}
	if (got < 0 || fstat(got, &st) != 0 ||
	    !(S_ISFIFO(st.st_mode) || (S_ISREG(st.st_mode) && !links_concern(c->b, &st) &&
				       truncate_checked(got, &st, o))) ||
	    !restore_flags(got, o)) {
		return -EAGAIN;
	}
	*ret_mode = st.st_mode;
	return take_fd(&got);
}

/* O_EXCL: this call creates the file, or fails. */
static int make_new(const struct call *c, const struct resolved *p, const struct opening *o) {
	int got = open_checked(c, p, o->flags | O_EXCL, o->mode);

	if (got < 0) {
		return errno == ELOOP || errno == EINVAL ? -EAGAIN : -errno;
	}
	if (p->fd >= 0) {
		preexisting_made(c->b, p); /* a free path does not concern it */
	}
	created_file(c, p->real, o->mode);
	return got;
}

/* Creates the file, or opens it if it exists: a descriptor, -errno, or -EAGAIN: files.c decides.
 * First as the last such call ended: a program overwrites many files, or creates many. */
static int make_or_open(const struct call *c, const struct resolved *p, const struct opening *o,
			mode_t *ret_mode) {
	bool creates = (o->flags & O_CREAT) != 0, only = creates && (o->flags & O_EXCL) != 0;
	bool opens = !only && may_open_existing(c, p, o);
	int got = -EAGAIN;

	*ret_mode = o->mode;
	if (opens && (!creates || c->b->exists)) {
		got = open_existing(c, p, o, ret_mode);
		if (got != -ENOENT || !creates) {
			return got == -ENOENT ? -EAGAIN : got;
		}
		c->b->exists = false;
	}
	if (creates) {
		got = make_new(c, p, o);
	}
	if (got != -EEXIST || only) {
		return got;
	}
	c->b->exists = true;
	got = opens ? open_existing(c, p, o, ret_mode) : -EAGAIN;
	return got == -ENOENT ? -EAGAIN : got;
}

/* By its text where no rule is about the path; else by its directory. */
static bool check_name(const struct call *c, int dirfd, const char *path, struct resolved *p) {
	place_reset(p);
	if (is_straight(c, dirfd, path, p->real) && verdict_is_free(c, p->real)) {
		return true;
	}
	return resolve_fast_name(c, dirfd, path, p) == 0 && verdict_make(c, p) == 0;
}

static long open_writing(const struct call *c, int dirfd, const char *path,
			 const struct opening *o) {
	auto_place p;
	mode_t mode;

	if (!check_name(c, dirfd, path, &p) ||
	    ((o->flags & O_CREAT) != 0 && files_take_umask(c) != 0)) {
		return QUICK_NOT;
	}
	int got = make_or_open(c, &p, o, &mode);
	if (got < 0) {
		return got == -EAGAIN ? QUICK_NOT : got;
	}
	return call_give(c, got, (o->flags & O_CLOEXEC) != 0,
			 opening_is_of_program(o->flags, mode));
}

long resolve_fast_open(const struct call *c, int dirfd, const char *path, const struct opening *o) {
	if (path[0] == '\0' || (o->flags & TMPFILE_BIT) != 0 || path_within(path, "/proc")) {
		return QUICK_NOT;
	}
	return (o->flags & O_CREAT) != 0 || opening_writes(o->flags)
		       ? open_writing(c, dirfd, path, o)
		       : open_reading(c, dirfd, path, o);
}
