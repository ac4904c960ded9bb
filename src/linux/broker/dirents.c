/* SPDX-License-Identifier: Apache-2.0 */
/* Serves system calls that create, remove and rename directory entries: rename, link, unlink,
 * rmdir, symlink, mkdir, mknod.
 *
 * Should:   resolve the directory once, check directory and name, and make the call on
 *           that directory (K3).
 * Must not: follow a symlink that is the last component, or hard-link a file that may not be
 *           written: the new name could be opened for writing.
 * Fails:    closed; errors come in the kernel's order where programs depend on it
 *           (EEXIST before EROFS: "mkdir -p"). */
#include "linux/broker/verdict.h"

#include "base/auto.h"
#include "linux/broker/preexisting.h"
#include "linux/broker/files.h"
#include "linux/broker/hardlinks.h"
#include "linux/broker/created.h"
#include "linux/broker/domain.h"
#include "linux/broker/placeholder.h"
#include "linux/broker/replace.h"
#include "linux/broker/repository.h"
#include "linux/kernel_api.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SET_USER_ID 04000

/* syscall(2)'s result as a value or -errno. */
static long or_errno(long r) {
	return r < 0 ? -errno : r;
}

static int name_at(const struct call *c, int dirfd, uint64_t address, struct resolved *p) {
	char path[PATH_MAX];

	p->fd = -1;
	int r = caller_path(c, address, path);
	return r != 0 ? r : resolve_name(c, dirfd, path, p);
}

static bool exists(const struct resolved *p) {
	struct stat st;

	return syscall(SYS_newfstatat, p->fd, p->name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* A name to create.  The call itself fails with EEXIST if it exists; a refusal comes after that,
 * as in the kernel. */
static int check_new(const struct call *c, const struct resolved *p) {
	int r = verdict_make(c, p);

	return r != 0 && exists(p) ? -EEXIST : r;
}

static int new_name_at(const struct call *c, int dirfd, uint64_t address, struct resolved *p) {
	int r = name_at(c, dirfd, address, p);

	return r != 0 ? r : check_new(c, p);
}

/* ---- rename ---- */

struct pair {
	int from_dir, to_dir;
	uint64_t at[2];
};

/* Source and destination of a rename. */
struct moving {
	const struct resolved *from, *to;
	unsigned flags;
};

static int check_names(const struct call *c, const struct moving *m) {
	int r = verdict_remove(c, m->from);

	if (r == 0) {
		r = verdict_remove(c, m->to); /* rename replaces or exchanges it */
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

/* Without RENAME_EXCHANGE the destination is a file or an empty directory. */
static int check_preexisting(const struct call *c, const struct moving *m, judge_place *judge) {
	int r = judge(c, m->from);

	if (r != 0) {
		return r;
	}
	return (m->flags & RENAME_EXCHANGE) != 0 ? judge(c, m->to) : preexisting_remove(c, m->to);
}

static long rename_name(const struct moving *m) {
	return or_errno(in_domain(SYS_renameat2, m->from->fd, domain_pointer(m->from->name),
				  m->to->fd, domain_pointer(m->to->name), m->flags));
}

static long unlink_name(const struct resolved *p) {
	return or_errno(in_domain(SYS_unlinkat, p->fd, domain_pointer(p->name), 0));
}

/* In a helper, for a large directory.  The journal has the move already; if the rename fails,
 * the supervisor finds no file at the new path and drops the entry. */
static long move_when_known(const struct call *c, int fd, const void *arg) {
	const struct moving *m = arg;
	int r = check_preexisting(c, m, preexisting_search); /* K6 */
	(void)fd;

	return r != 0 ? r : rename_name(m);
}

/* Opens a large file that is about to be unlinked: the kernel frees its blocks in the process
 * that closes the last descriptor, which is a helper of broker_release().  -1: not large. */
static int hold_large(const struct resolved *p) {
	struct stat st;

	if (fstatat(p->fd, p->name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode) ||
	    st.st_blocks < CALL_LARGE || st.st_nlink > 1) {
		return -1;
	}
	return openat(p->fd, p->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
}

/* By its descriptor: the name may belong to another file by now than to the one that was checked.
 */
static long link_as(int fd, int dir, const char *name) {
	struct text path = caller_fd_path(fd);

	return or_errno(in_domain(SYS_linkat, AT_FDCWD, domain_pointer(path.s), dir,
				  domain_pointer(name), AT_SYMLINK_FOLLOW));
}

static long link_file(int fd, const struct resolved *to) {
	return link_as(fd, to->fd, to->name);
}

/* Links the file in that directory and removes the link.  The kernel says EEXIST before it looks
 * whether the file may have another name: without hard links, of another user, or one too many. */
static long link_tried(int fd, const struct resolved *to) {
	struct timespec now = {0};
	struct text name = {.len = 0};

	(void)clock_gettime(CLOCK_MONOTONIC, &now); /* fails only for an unknown clock */
	caller_text_add(&name, ".corral-moved-");
	caller_text_number(&name, (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec);
	long made = link_as(fd, to->fd, name.s);
	return made != 0 ? made
			 : or_errno(in_domain(SYS_unlinkat, to->fd, domain_pointer(name.s), 0));
}

/* The name keeps its file if the link is not possible. */
static long link_instead(int fd, const struct resolved *to) {
	long made = link_tried(fd, to);

	made = made == 0 ? unlink_name(to) : made;
	return made == 0 ? link_file(fd, to) : made;
}

/* A symlink in another directory resolves differently, so check it like a new symlink. */
static int lead_of_link(const struct call *c, int link, const struct resolved *to) {
	char target[PATH_MAX];
	ssize_t n = syscall(SYS_readlinkat, link, "", target, sizeof target - 1);

	if (n < 0) {
		return -errno;
	}
	target[n] = '\0';
	return verdict_lead(c, to, target);
}

static bool is_named(const struct stat *st, const struct resolved *p) {
	struct stat there;

	return syscall(SYS_newfstatat, p->fd, p->name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	       st->st_dev == there.st_dev && st->st_ino == there.st_ino;
}

/* Gives the new name to the file that was checked, by its descriptor, and removes the old one.  Not
 * in one step, and impossible for a directory: EXDEV, so that mv(1) copies it. */
static long move_held(const struct call *c, const struct moving *m) {
	auto_fd held = openat(m->from->fd, m->from->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (held < 0 || fstat(held, &st) != 0) {
		return -errno;
	}
	if ((m->flags & RENAME_EXCHANGE) != 0 || S_ISDIR(st.st_mode)) {
		return -EXDEV;
	}
	int r = S_ISLNK(st.st_mode) ? lead_of_link(c, held, m->to) : 0;
	if (r != 0) {
		return r;
	}
	long made = link_file(held, m->to);
	if (made == -EEXIST && m->flags == 0) {
		if (is_named(&st, m->to)) {
			return 0; /* two names of one file: rename(2) changes nothing */
		}
		made = link_instead(held, m->to);
	}
	if (made == 0 && is_named(&st, m->from)) {
		made = unlink_name(m->from);
	}
	return made == -EPERM || made == -EMLINK ? -EXDEV : made;
}

static long move_now(const struct call *c, const struct moving *m, bool any) {
	const struct resolved *from = m->from, *to = m->to;
	bool searched = hardlinks_moving(c->b, from, to);
	int replaced = (m->flags & RENAME_EXCHANGE) != 0 ? -1 : hold_large(to);
	long moved = any ? rename_name(m) : move_held(c, m);

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

/* Once for all checks of the name: calls that the guard serves change it one by one.  Other runs of
 * the workspace, and the host, may change it any time (moves_any()). */
static void look_at_entry(struct resolved *p) {
	struct stat st;
	bool found = syscall(SYS_newfstatat, p->fd, p->name, &st, AT_SYMLINK_NOFOLLOW) == 0;

	p->entry = found ? st.st_mode : 0;
}

static int names_at(const struct call *c, const struct pair *at, struct resolved *from,
		    struct resolved *to) {
	char source[PATH_MAX], target[PATH_MAX];
	int r = caller_strings(c, at->at, source, target);

	return r != 0 ? r
		      : resolve_names(c,
				      &(struct two_paths){at->from_dir, at->to_dir, source, target},
				      from, to);
}

/* Another run of the workspace has a guard of its own: until this one renames the entries, they may
 * become others.  The same until a helper does. */
static bool moves_any(const struct call *c, const struct moving *m) {
	return verdict_moves_any(c, m->from, m->to) &&
	       ((m->flags & RENAME_EXCHANGE) == 0 || verdict_moves_any(c, m->to, m->from));
}

static long save(const struct call *c, const struct resolved *from, const char *path) {
	auto_place to;

	to.fd = -1;
	int r = resolve_name(c, AT_FDCWD, path, &to);
	return r != 0 ? r : replace_or_refuse(c, from, &to, -EROFS);
}

static long move(const struct call *c, struct pair at, unsigned flags) {
	auto_place from, to;
	struct moving m = {.from = &from, .to = &to, .flags = flags};

	from.fd = to.fd = -1;
	if ((flags & ~(RENAME_NOREPLACE | RENAME_EXCHANGE)) != 0) {
		return -EINVAL; /* RENAME_WHITEOUT creates a device node */
	}
	int r = names_at(c, &at, &from, &to);
	if (r == 0) {
		char granted[PATH_MAX];
		look_at_entry(&from);
		if (flags == 0 && replace_leads_to_grant(c, &to, granted)) {
			return save(c, &from, granted);
		}
		if ((flags & RENAME_EXCHANGE) != 0) {
			look_at_entry(&to);
		}
		r = check_names(c, &m);
		if (r == -EROFS && flags == 0) {
			return replace_or_refuse(c, &from, &to, r);
		}
	}
	if (r == 0) {
		r = check_preexisting(c, &m, preexisting_judge);
	}
	if (r != 0 && r != BEFORE_LATER) {
		return r;
	}
	bool any = moves_any(c, &m);
	if (r == 0) {
		return move_now(c, &m, any);
	}
	if (!any) {
		return -EXDEV;
	}
	created_moving(c, &from, &to);
	return helper_run(c, from.fd, to.fd, move_when_known, &m);
}

long serve_rename(struct call *c) {
	return move(c, (struct pair){AT_FDCWD, AT_FDCWD, {c->args[0], c->args[1]}}, 0);
}

long serve_renameat(struct call *c) {
	return move(c, (struct pair){call_int(c, 0), call_int(c, 2), {c->args[1], c->args[3]}}, 0);
}

long serve_renameat2(struct call *c) {
	return move(c, (struct pair){call_int(c, 0), call_int(c, 2), {c->args[1], c->args[3]}},
		    (unsigned)c->args[4]);
}

/* ---- link ---- */

static int link_names(const struct call *c, struct pair at, int flags, struct resolved *from,
		      struct resolved *to) {
	char source[PATH_MAX], target[PATH_MAX];

	from->fd = to->fd = -1;
	from->lent = to->lent = false;
	int r = caller_strings(c, at.at, source, target);
	if (r != 0) {
		return r;
	}
	if (source[0] == '\0' && (flags & AT_EMPTY_PATH) != 0) {
		r = resolve_fd(c, at.from_dir, from);
	} else {
		r = resolve_file(c, at.from_dir, source, (flags & AT_SYMLINK_FOLLOW) != 0, from);
	}
	if (r == 0) {
		r = resolve_name(c, at.to_dir, target, to);
	}
	return r != 0 ? r : check_new(c, to);
}

/* Whether the file of the descriptor is on the mount of that directory. */
static bool is_on_mount(int fd, int dir) {
	struct file_status file, top;

	return sys_statx(fd, "", AT_EMPTY_PATH, FILE_STATUS_MOUNT, &file) == 0 &&
	       sys_statx(dir, "", AT_EMPTY_PATH, FILE_STATUS_MOUNT, &top) == 0 &&
	       (file.mask & top.mask & FILE_STATUS_MOUNT) != 0 && file.mount == top.mount;
}

static bool is_same_file(int a, int b) {
	struct stat x, y;

	return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

/* Opens a file of the workspace's repository beneath the mount that pins .git, where it is on the
 * mount of the workspace: no hard link leads from one mount to another.  -1 if .git itself does
 * not show the file on its own writable mount: a protected file has a mount of its own. */
static int open_beneath(const struct call *c, const struct resolved *from) {
	static const char name[] = "/.git/";
	const struct broker *b = c->b;
	size_t n = strlen(b->plan->workspace_at);
	int fd = -1;

	if (b->beneath < 0 || !S_ISREG(from->mode) ||
	    strncmp(from->real, b->plan->workspace_at, n) != 0 ||
	    strncmp(from->real + n, name, sizeof name - 1) != 0) {
		return -1;
	}
	char path[PATH_MAX];
	memcpy(path, from->real, n + sizeof name - 2);
	path[n + sizeof name - 2] = '\0';
	int top = sys_openat2(b->root, path + 1, O_PATH | O_DIRECTORY, RESOLVE_NO_SYMLINKS);
	if (top >= 0 && is_on_mount(from->fd, top)) {
		fd = sys_openat2(b->beneath, from->real + n + sizeof name - 1, O_PATH | O_NOFOLLOW,
				 RESOLVE_BENEATH | RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS);
	}
	drop_fd(&top);
	if (fd >= 0 && !is_same_file(fd, from->fd)) {
		drop_fd(&fd); /* it was renamed meanwhile */
	}
	return fd;
}

static long make_link(const struct call *c, struct pair at, int flags) {
	if ((flags & ~(AT_SYMLINK_FOLLOW | AT_EMPTY_PATH)) != 0) {
		return -EINVAL;
	}
	auto_place from, to;
	int r = link_names(c, at, flags, &from, &to);
	if (r == 0 && from.nlink > 0) { /* 0: O_TMPFILE, the caller's own */
		r = verdict_change(c, &from);
	}
	if (r == 0) {
		r = hardlinks_judge_removed(c, &from);
	}
	if (r == 0) {
		r = hardlinks_judge_copied(c, &from);
	}
	if (r == 0 && S_ISLNK(from.mode)) {
		r = lead_of_link(c, from.fd, &to);
	}
	if (r != 0) {
		return r == -EROFS && to.fd >= 0 && verdict_make(c, &to) == 0
			       ? -EXDEV /* as between two mounts */
			       : r;
	}
	long made = link_file(from.fd, &to);
	if (made == -EXDEV) {
		int beneath = open_beneath(c, &from);

		made = beneath < 0 ? made : link_file(beneath, &to);
		drop_fd(&beneath);
	}
	if (made == 0) {
		preexisting_made(c->b, &to);
	}
	if (made == 0 && S_ISREG(from.mode)) {
		created_link(c, &from, &to);
	}
	return made;
}

long serve_link(struct call *c) {
	return make_link(c, (struct pair){AT_FDCWD, AT_FDCWD, {c->args[0], c->args[1]}}, 0);
}

long serve_linkat(struct call *c) {
	return make_link(c, (struct pair){call_int(c, 0), call_int(c, 2), {c->args[1], c->args[3]}},
			 call_int(c, 4));
}

/* ---- unlink, rmdir ---- */

static long remove_entry(const struct call *c, int dirfd, uint64_t address, int flags) {
	auto_place p;
	int r = name_at(c, dirfd, address, &p);

	if (r == 0) {
		r = verdict_remove(c, &p);
		r = r == -EROFS && placeholder_is(&p) ? 0 : r;
	}
	if (r == 0) {
		r = preexisting_remove(c, &p);
	}
	if (r != 0) {
		return r;
	}
	int large = (flags & AT_REMOVEDIR) != 0 ? -1 : hold_large(&p);
	long removed = or_errno(in_domain(SYS_unlinkat, p.fd, domain_pointer(p.name), flags));
	broker_release(large);
	return call_done(c, removed);
}

long serve_unlink(struct call *c) {
	return remove_entry(c, AT_FDCWD, c->args[0], 0);
}

long serve_rmdir(struct call *c) {
	return remove_entry(c, AT_FDCWD, c->args[0], AT_REMOVEDIR);
}

long serve_unlinkat(struct call *c) {
	int flags = call_int(c, 2);

	return (flags & ~AT_REMOVEDIR) != 0 ? -EINVAL
					    : remove_entry(c, call_int(c, 0), c->args[1], flags);
}

/* ---- symlink, mkdir, mknod ---- */

static long make_symlink(const struct call *c, uint64_t text, int dirfd, uint64_t address) {
	char target[PATH_MAX]; /* may point anywhere: the broker checks each call that follows it */
	auto_place p;

	char path[PATH_MAX];

	p.fd = -1;
	int r = caller_strings(c, (const uint64_t[2]){text, address}, target, path);
	if (r == 0 && target[0] == '\0') {
		r = -ENOENT;
	}
	if (r == 0) {
		r = resolve_name(c, dirfd, path, &p);
	}
	if (r == 0) {
		r = check_new(c, &p);
	}
	if (r == 0) {
		r = verdict_lead(c, &p, target);
	}
	if (r != 0) {
		return r;
	}
	long made = or_errno(
		in_domain(SYS_symlinkat, domain_pointer(target), p.fd, domain_pointer(p.name)));
	if (made == 0) {
		preexisting_made(c->b, &p);
		created_symlink(c, &p, target);
	}
	return made;
}

long serve_symlink(struct call *c) {
	return make_symlink(c, c->args[0], AT_FDCWD, c->args[1]);
}

long serve_symlinkat(struct call *c) {
	return make_symlink(c, c->args[0], call_int(c, 1), c->args[2]);
}

/* Checks a new name, and sets the umask, for a call that creates a file with a mode. */
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
	bool placeholder = placeholder_is_allowed(c, &p, (int)r);

	r = placeholder ? files_take_umask(c) : r;
	if (r == 0) {
		r = or_errno(in_domain(SYS_mkdirat, p.fd, domain_pointer(p.name), mode));
	}
	if (r == 0 && placeholder) {
		placeholder_made(&p);
	} else if (r == 0) {
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
		r = or_errno(in_domain(SYS_mknodat, p.fd, domain_pointer(p.name), mode, dev));
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
