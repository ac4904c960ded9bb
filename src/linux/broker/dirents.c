/* Names that come, go and move.
 *
 * Should:   find the directory once, judge directory and name, and make the call on
 *           that directory (K3).
 * Must not: follow a symlink that is the name, or make a second name for a file that
 *           may not be written: the name would be a way to write it.
 * Fails:    closed; errors stand in the kernel's order where a program looks at them
 *           (EEXIST before EROFS: "mkdir -p" depends on it). */
#include "linux/broker/verdict.h"

#include "base/auto.h"
#include "linux/broker/preexisting.h"
#include "linux/broker/files.h"
#include "linux/broker/hardlinks.h"
#include "linux/broker/created.h"
#include "linux/broker/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SET_USER_ID 04000

/* The return of a plain system call. */
static long result(long r) {
	return r < 0 ? -errno : r;
}

static int name_at(const struct call *c, int dirfd, uint64_t address, struct resolved *p) {
	char path[PATH_MAX];

	p->fd = -1;
	int r = caller_string(c, address, path, sizeof path);
	return r != 0 ? r : resolve_name(c, dirfd, path, p);
}

static bool exists(const struct resolved *p) {
	struct stat st;

	return syscall(SYS_newfstatat, p->fd, p->name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* A name that is to be made. */
static int new_name_at(const struct call *c, int dirfd, uint64_t address, struct resolved *p) {
	int r = name_at(c, dirfd, address, p);

	if (r == 0 && exists(p)) {
		r = -EEXIST;
	}
	return r != 0 ? r : verdict_make(c, p);
}

/* ---- rename ---- */

struct pair {
	int from_dir, to_dir;
	uint64_t from, to;
};

/* Both ends of a rename, judged or to be. */
struct moving {
	const struct resolved *from, *to;
	unsigned flags;
};

static int judge_names(const struct call *c, const struct moving *m) {
	int r = verdict_remove(c, m->from);

	if (r == 0) {
		r = verdict_remove(c, m->to); /* it may be replaced, or exchanged */
	}
	if (r == 0) {
		r = verdict_move(c, m->from, m->to);
	}
	if (r == 0 && (m->flags & RENAME_EXCHANGE) != 0) {
		r = verdict_move(c, m->to, m->from);
	}
	if (r == 0) {
		r = hardlinks_judge_copied(c, m->from);
	}
	return r == 0 && (m->flags & RENAME_EXCHANGE) != 0 ? hardlinks_judge_copied(c, m->to) : r;
}

typedef int judge_place(const struct call *c, const struct resolved *p);

/* What is replaced is no directory, or an empty one. */
static int judge_kept(const struct call *c, const struct moving *m, judge_place *judge) {
	int r = judge(c, m->from);

	if (r != 0) {
		return r;
	}
	return (m->flags & RENAME_EXCHANGE) != 0 ? judge(c, m->to) : preexisting_remove(c, m->to);
}

/* In a helper, when a directory is large.  What was written down before is true now, or
 * nobody finds it there. */
static long move_when_known(const struct call *c, int fd, const void *arg) {
	const struct moving *m = arg;
	int r = judge_kept(c, m, preexisting_search);
	(void)fd;

	return r != 0 ? r
		      : result(syscall(SYS_renameat2, m->from->fd, m->from->name, m->to->fd,
				       m->to->name, m->flags));
}

/* Holds a large file that is about to lose a name: the kernel frees it where the last
 * descriptor is closed, which broker_release() does elsewhere.  -1: it is not large. */
static int hold_large(const struct resolved *p) {
	struct stat st;

	if (fstatat(p->fd, p->name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode) ||
	    st.st_blocks < CALL_LARGE || st.st_nlink > 1) {
		return -1;
	}
	return openat(p->fd, p->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
}

static long move_now(const struct call *c, const struct moving *m) {
	const struct resolved *from = m->from, *to = m->to;
	bool searched = hardlinks_moving(c->b, from, to);
	int replaced = (m->flags & RENAME_EXCHANGE) != 0 ? -1 : hold_large(to);
	long moved =
		result(syscall(SYS_renameat2, from->fd, from->name, to->fd, to->name, m->flags));

	if (searched) {
		hardlinks_moved(c->b, from, to);
	}
	if (moved == 0) {
		preexisting_made(c->b, to);
		created_moved(c, from, to);
	}
	if (moved == 0 && (m->flags & RENAME_EXCHANGE) != 0) {
		preexisting_made(c->b, from);
		created_moved(c, to, from);
	}
	broker_release(replaced);
	if (moved < 0 && m->flags == 0) {
		moved = replace_or_refuse(c, from, to, moved);
	}
	return moved == CALL_ANSWERED ? moved : call_done(c, moved);
}

static long move(const struct call *c, struct pair at, unsigned flags) {
	auto_place from, to;
	struct moving m = {.from = &from, .to = &to, .flags = flags};

	from.fd = to.fd = -1;
	if ((flags & ~(RENAME_NOREPLACE | RENAME_EXCHANGE)) != 0) {
		return -EINVAL; /* RENAME_WHITEOUT leaves a device */
	}
	int r = name_at(c, at.from_dir, at.from, &from);
	if (r == 0) {
		r = name_at(c, at.to_dir, at.to, &to);
	}
	if (r == 0) {
		r = judge_names(c, &m);
		if (r == -EROFS && flags == 0) {
			return replace_or_refuse(c, &from, &to, r);
		}
	}
	if (r == 0) {
		r = judge_kept(c, &m, preexisting_judge);
	}
	if (r == BEFORE_LATER) {
		created_moving(c, &from, &to);
		return helper_run(c, from.fd, to.fd, move_when_known, &m);
	}
	return r != 0 ? r : move_now(c, &m);
}

long serve_rename(struct call *c) {
	return move(c, (struct pair){AT_FDCWD, AT_FDCWD, c->args[0], c->args[1]}, 0);
}

long serve_renameat(struct call *c) {
	return move(c, (struct pair){call_int(c, 0), call_int(c, 2), c->args[1], c->args[3]}, 0);
}

long serve_renameat2(struct call *c) {
	return move(c, (struct pair){call_int(c, 0), call_int(c, 2), c->args[1], c->args[3]},
		    (unsigned)c->args[4]);
}

/* ---- link ---- */

static int link_source(const struct call *c, struct pair at, int flags, struct resolved *p) {
	char path[PATH_MAX];

	p->fd = -1;
	int r = caller_string(c, at.from, path, sizeof path);
	if (r != 0) {
		return r;
	}
	if (path[0] == '\0' && (flags & AT_EMPTY_PATH) != 0) {
		return resolve_fd(c, at.from_dir, p);
	}
	return resolve_file(c, at.from_dir, path, (flags & AT_SYMLINK_FOLLOW) != 0, p);
}

/* A second name of a symlink leads elsewhere from there, like a new one. */
static int link_of_link(const struct call *c, const struct resolved *from,
			const struct resolved *to) {
	char words[PATH_MAX];
	ssize_t n = syscall(SYS_readlinkat, from->fd, "", words, sizeof words - 1);

	if (n < 0) {
		return -errno;
	}
	words[n] = '\0';
	return verdict_lead(c, to, words);
}

static long make_link(const struct call *c, struct pair at, int flags) {
	auto_place from, to;

	to.fd = -1;
	if ((flags & ~(AT_SYMLINK_FOLLOW | AT_EMPTY_PATH)) != 0) {
		return -EINVAL;
	}
	int r = link_source(c, at, flags, &from);
	if (r == 0) {
		r = new_name_at(c, at.to_dir, at.to, &to);
	}
	if (r == 0 && from.nlink > 0) { /* what has no name yet (O_TMPFILE) is the caller's own */
		r = verdict_change(c, &from);
	}
	if (r == 0) {
		r = hardlinks_judge_removed(c, &from);
	}
	if (r == 0) {
		r = hardlinks_judge_copied(c, &from);
	}
	if (r == 0 && S_ISLNK(from.mode)) {
		r = link_of_link(c, &from, &to);
	}
	if (r != 0) {
		return r == -EROFS && to.fd >= 0 && verdict_make(c, &to) == 0
			       ? -EXDEV /* as between two mounts */
			       : r;
	}
	struct text path = caller_fd_path(from.fd);
	long made =
		result(syscall(SYS_linkat, AT_FDCWD, path.s, to.fd, to.name, AT_SYMLINK_FOLLOW));
	if (made == 0) {
		preexisting_made(c->b, &to);
	}
	if (made == 0 && S_ISREG(from.mode)) {
		created_link(c, &from, &to);
	}
	return made;
}

long serve_link(struct call *c) {
	return make_link(c, (struct pair){AT_FDCWD, AT_FDCWD, c->args[0], c->args[1]}, 0);
}

long serve_linkat(struct call *c) {
	return make_link(c, (struct pair){call_int(c, 0), call_int(c, 2), c->args[1], c->args[3]},
			 call_int(c, 4));
}

/* ---- unlink, rmdir ---- */

static long take_away(const struct call *c, int dirfd, uint64_t address, int flags) {
	auto_place p;
	int r = name_at(c, dirfd, address, &p);

	if (r == 0) {
		r = verdict_remove(c, &p);
	}
	if (r == 0) {
		r = preexisting_remove(c, &p);
	}
	if (r != 0) {
		return r;
	}
	int large = (flags & AT_REMOVEDIR) != 0 ? -1 : hold_large(&p);
	long removed = result(syscall(SYS_unlinkat, p.fd, p.name, flags));
	broker_release(large);
	return call_done(c, removed);
}

long serve_unlink(struct call *c) {
	return take_away(c, AT_FDCWD, c->args[0], 0);
}

long serve_rmdir(struct call *c) {
	return take_away(c, AT_FDCWD, c->args[0], AT_REMOVEDIR);
}

long serve_unlinkat(struct call *c) {
	int flags = call_int(c, 2);

	return (flags & ~AT_REMOVEDIR) != 0 ? -EINVAL
					    : take_away(c, call_int(c, 0), c->args[1], flags);
}

/* ---- symlink, mkdir, mknod ---- */

static long make_symlink(const struct call *c, uint64_t text, int dirfd, uint64_t address) {
	char words[PATH_MAX]; /* they may lead anywhere: who follows them is judged then */
	auto_place p;

	p.fd = -1;
	int r = caller_string(c, text, words, sizeof words);
	if (r == 0 && words[0] == '\0') {
		r = -ENOENT;
	}
	if (r == 0) {
		r = new_name_at(c, dirfd, address, &p);
	}
	if (r == 0) {
		r = verdict_lead(c, &p, words);
	}
	if (r != 0) {
		return r;
	}
	long made = result(syscall(SYS_symlinkat, words, p.fd, p.name));
	if (made == 0) {
		preexisting_made(c->b, &p);
		created_symlink(c, &p, words);
	}
	return made;
}

long serve_symlink(struct call *c) {
	return make_symlink(c, c->args[0], AT_FDCWD, c->args[1]);
}

long serve_symlinkat(struct call *c) {
	return make_symlink(c, c->args[0], call_int(c, 1), c->args[2]);
}

/* Ready for a call that makes a file with a mode. */
static int new_file_at(const struct call *c, int dirfd, uint64_t address, mode_t mode,
		       struct resolved *p) {
	p->fd = -1;
	if ((mode & SET_USER_ID) != 0) {
		return -EPERM;
	}
	int r = new_name_at(c, dirfd, address, p);
	return r != 0 ? r : files_take_umask(c);
}

static long make_directory(const struct call *c, int dirfd, uint64_t address, mode_t mode) {
	auto_place p;
	long r = new_file_at(c, dirfd, address, mode, &p);

	if (r == 0) {
		r = result(syscall(SYS_mkdirat, p.fd, p.name, mode));
	}
	if (r == 0) {
		preexisting_made(c->b, &p);
		created_node(c, p.real, S_IFDIR);
	}
	return r;
}

long serve_mkdir(struct call *c) {
	return make_directory(c, AT_FDCWD, c->args[0], (mode_t)c->args[1]);
}

long serve_mkdirat(struct call *c) {
	return make_directory(c, call_int(c, 0), c->args[1], (mode_t)c->args[2]);
}

static long make_node(const struct call *c, int dirfd, uint64_t address, mode_t mode,
		      unsigned dev) {
	auto_place p;
	long r = new_file_at(c, dirfd, address, mode, &p);

	if (r == 0) {
		r = result(syscall(SYS_mknodat, p.fd, p.name, mode, dev));
	}
	if (r == 0) {
		preexisting_made(c->b, &p);
	}
	if (r == 0 && ((mode & S_IFMT) == 0 || S_ISREG(mode))) {
		created_file(c, p.real, mode);
	} else if (r == 0) {
		created_node(c, p.real, mode);
	}
	return r;
}

long serve_mknod(struct call *c) {
	return make_node(c, AT_FDCWD, c->args[0], (mode_t)c->args[1], (unsigned)c->args[2]);
}

long serve_mknodat(struct call *c) {
	return make_node(c, call_int(c, 0), c->args[1], (mode_t)c->args[2], (unsigned)c->args[3]);
}
