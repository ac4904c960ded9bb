/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces bind mounts of single files when the host replaces the file.
 *
 * Should:   mount, within half a second or so, the host's current file at a granted name, a
 *           mask over the current target of a hidden name, and a generated text over a file
 *           that replaced it; leave open descriptors of the old file alone.
 * Must not: follow a symlink to show a file, show anything but a regular file of the same owner,
 *           root or the caller, or mount it anywhere but over the old one.
 * Fails:    to the old file, which stays readable: a file that is not regular, does not exist
 *           or cannot be mounted is not shown. */
#include "linux/follow.h"

#include "base/signal_mask.h"
#include "base/path.h"
#include "base/str.h"
#include "base/fd.h"
#include "linux/kernel_api.h"
#include "linux/mount_api.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define NS_GET_USERNS _IO(0xb7, 1)

/* Faster than a user notices after saving a file. */
#define LOOK_EVERY_MS 400
/* For masks: a new file of the host is readable until the next check. */
#define LOOK_SOON_MS 50
/* Failed helpers for one file. */
#define TRIES_MAX 8
/* A helper takes about a millisecond. */
#define LOOK_AGAIN_MS 10

#define COVER_ATTRIBUTES (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

/* The identity of a file.  The kernel reuses an inode number once the file is unused, but
 * hardly with the same birth time; a plan has only the number.  Files that are replaced in
 * quick succession can have the same birth time: an O_PATH descriptor keeps the inode. */
struct face {
	int held; /* O_PATH, so that the kernel does not reuse the number; 0: not held */
	uint64_t dev, ino;
	bool dated;
	int64_t born_s;
	uint32_t born_ns;
	uint32_t uid;
	uint32_t kind; /* file type; 0: does not exist */
};

struct followed {
	const struct mount *m;
	struct face shown;   /* the mounted file */
	struct face wanted;  /* the file that a helper mounts */
	struct face refused; /* the file that a helper could not mount; TRIES_MAX attempts, */
	int tries;           /* because the host may have been in the middle of a change */
};

struct follow {
	int view;   /* the sandbox's mount namespace; -1 until follow_begin() */
	int helper; /* its pidfd; -1: none */
	size_t at;  /* the file that it is for */
	int every;  /* ms between two checks */
	const struct plan *plan;
	char target[PATH_MAX]; /* the mount point for the helper */
	int64_t next;          /* the time of the next check */
	size_t n;
	struct followed files[];
};

/* ---- checking ---- */

static uint64_t device(const struct file_status *st) {
	/* The packing of makedev(3), without a call of libc. */
	uint64_t major = st->dev_major, minor = st->dev_minor;
	return (minor & 0xff) | (major & 0xfff) << 8 | (minor & ~0xffULL) << 12 |
	       (major & ~0xfffULL) << 32;
}

static struct face face_of(const struct file_status *st) {
	return (struct face){
		.dev = device(st),
		.ino = st->ino,
		.dated = (st->mask & FILE_STATUS_BORN) != 0,
		.born_s = st->born.sec,
		.born_ns = st->born.nsec,
		.uid = st->uid,
		.kind = st->mode & S_IFMT,
	};
}

static int look(int dir, const char *path, struct file_status *ret) {
	return sys_statx(dir, path, AT_SYMLINK_NOFOLLOW | (path[0] == '\0' ? AT_EMPTY_PATH : 0),
			 FILE_STATUS_BASIC | FILE_STATUS_BORN, ret);
}

/* Whether the mount covers the host's file with a mask or a generated text. */
static bool covers(const struct mount *m) {
	return m->kind == MOUNT_MASK_FILE || m->kind == MOUNT_MASK_DIR || m->kind == MOUNT_TEXT;
}

/* Masks follow symlinks: they cover the target. */
static bool follows_links(const struct mount *m) {
	return covers(m) && !m->steady;
}

static int open_followed(const struct mount *m) {
	return follows_links(m) ? sys_openat2(AT_FDCWD, m->follow, O_PATH, RESOLVE_NO_MAGICLINKS)
				: open(m->follow, O_PATH | O_NOFOLLOW | O_CLOEXEC);
}

static struct face face_at(const struct mount *m) {
	struct file_status st;
	if (look(AT_FDCWD, m->follow, &st) != 0) {
		return (struct face){.kind = 0};
	}
	if ((st.mode & S_IFMT) != S_IFLNK || !follows_links(m)) {
		return face_of(&st); /* symlinks before the last name were followed */
	}
	auto_fd fd = open_followed(m);
	return fd >= 0 && look(fd, "", &st) == 0 ? face_of(&st) : (struct face){.kind = 0};
}

/* The same, with a descriptor, which is above the standard streams: 0 means none. */
static struct face face_held(const struct mount *m) {
	struct file_status st;
	auto_fd fd = open_followed(m);
	auto_fd high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (high < 0 || look(high, "", &st) != 0) {
		return (struct face){.kind = 0};
	}
	struct face found = face_of(&st);
	found.held = take_fd(&high);
	return found;
}

/* Moves a face, and closes the descriptor of the old one. */
static void face_take(struct face *place, struct face *from) {
	if (place->held > 0) {
		drop_fd(&place->held);
	}
	*place = *from;
	*from = (struct face){.kind = 0};
}

static bool same_inode(const struct face *a, const struct face *b) {
	return a->dev == b->dev && a->ino == b->ino;
}

static bool same(const struct face *a, const struct face *b) {
	bool dated = a->dated && b->dated;
	return same_inode(a, b) && (!dated || (a->born_s == b->born_s && a->born_ns == b->born_ns));
}

/* A mask covers any new file; a new file is shown only if it belongs to the old one's owner,
 * root or the caller. */
static bool may_replace(const struct followed *f, const struct face *new) {
	if (f->m->steady) {
		return new->kind == S_IFREG || new->kind == S_IFLNK;
	}
	if (covers(f->m)) {
		return new->kind != 0;
	}
	bool known = f->shown.dated && new->uid == f->shown.uid;
	return new->kind == S_IFREG && (known || new->uid == 0 || new->uid == getuid());
}

/* ---- helper: system calls only, it is a copy of a program that may have threads ---- */

/* Creates the covering file, as layers/mounts.c does. */
static int new_file(int fs, const char *text, uint32_t mode) {
	size_t len = strlen(text);
	auto_fd file = openat(fs, "cover", O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0);
	/* fchmod last: the umask does not apply. */
	if (file < 0 || write(file, text, len) != (ssize_t)len || fchmod(file, mode) != 0) {
		return -1;
	}
	/* open_tree(2) can clone a part only of an attached tree: attach it to our private copy
	 * of the host's mounts. */
	if (syscall(SYS_move_mount, fs, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) != 0) {
		return -1;
	}
	return mount_tree_clone(file, COVER_ATTRIBUTES | MOUNT_ATTR_RDONLY);
}

static int new_cover(const struct mount *m, bool directory) {
	/* A text is not longer than the file from which its lines were taken. */
	const struct fs_option options[] = {{"mode", directory ? "0111" : "0000"},
					    {"size", "128k"}};
	auto_fd fs = tree_new("tmpfs", options, ARRAY_LEN(options), COVER_ATTRIBUTES);
	if (fs < 0 || directory) {
		return fs < 0 || mount_tree_restrict(fs, MOUNT_ATTR_RDONLY, 0) != 0 ? -1
										    : take_fd(&fs);
	}
	return m->steady ? new_file(fs, m->text, m->mode) : new_file(fs, "", 0);
}

/* Clones the new file from the host's mounts; -1 if it is another file now. */
static int clone_wanted(const struct followed *f) {
	struct file_status st;

	if (covers(f->m)) {
		return new_cover(f->m, f->wanted.kind == S_IFDIR);
	}
	auto_fd fd = sys_openat2(AT_FDCWD, f->m->follow, O_PATH,
				 RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
	if (fd < 0 || look(fd, "", &st) != 0) {
		return -1;
	}
	struct face now = face_of(&st);
	return same(&now, &f->wanted) ? mount_tree_clone(fd, tree_attributes(f->m)) : -1;
}

/* The target's parent directory, without following symlinks: a command can create some in its
 * private home. */
static int open_parent(int root, const char *target, const char **ret_name) {
	char dir[PATH_MAX];
	size_t len = (size_t)(strrchr(target, '/') - target);

	if (len >= sizeof dir) {
		return -1;
	}
	*ret_name = target + len + 1;
	memcpy(dir, len == 0 ? "/." : target, len == 0 ? 2 : len);
	dir[len == 0 ? 2 : len] = '\0';
	return sys_openat2(root, dir + 1, O_PATH | O_DIRECTORY, BENEATH);
}

static int open_place(int dir, const char *name) {
	return sys_openat2(dir, name, O_PATH | O_NOFOLLOW, BENEATH);
}

/* Mounts the new file beneath the old one (MOVE_MOUNT_BENEATH), so that there is no moment
 * without either.  Before Linux 6.5 an empty file is visible for a moment. */
static int replace(int tree, int dir, const char *name, int at) {
	bool beneath = tree_move(tree, at, TREE_UNDERNEATH) == 0;

	if ((!beneath && errno != EINVAL) || fchdir(dir) != 0 ||
	    umount2(name, MNT_DETACH | UMOUNT_NOFOLLOW) != 0) {
		return -1;
	}
	auto_fd bare = beneath ? -1 : open_place(dir, name);
	return beneath ? 0 : mount_tree_attach(tree, bare);
}

static int put(const struct followed *f, const char *target, int tree) {
	const char *name;
	struct file_status st;
	auto_fd root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	auto_fd dir = open_parent(root, target, &name);
	auto_fd at = dir < 0 ? -1 : open_place(dir, name);

	if (at < 0 || look(at, "", &st) != 0) {
		return -1; /* the command removed the mount point */
	}
	struct face now = face_of(&st);
	bool mounted = (st.attributes & FILE_ATTRIBUTE_MOUNT_ROOT) != 0;
	if (!mounted && (f->m->create || same_inode(&now, &f->wanted))) {
		/* Not a mount point: the kernel removed the mount with the old name, or the
		 * file did not exist at set-up. */
		return mount_tree_attach(tree, at);
	}
	if (same_inode(&now, &f->wanted)) {
		return covers(f->m) ? mount_tree_attach(tree, at) : 0;
	}
	/* In a directory of the sandbox only helpers mount: it is left by an interrupted one. */
	bool ours = f->m->create || same_inode(&now, &f->shown);
	return mounted && ours ? replace(tree, dir, name, at) : -1;
}

static _Noreturn void follow_help(const struct follow *f, pid_t parent) {
	const struct followed *file = &f->files[f->at];

	fd_close_all_but(&f->view, 1);
	/* A copy of the host's mounts, owned by the sandbox's user namespace. */
	int user = (int)syscall(SYS_ioctl, f->view, NS_GET_USERNS);
	if (user < 0 || syscall(SYS_setns, user, CLONE_NEWUSER) != 0 ||
	    syscall(SYS_unshare, CLONE_NEWNS) != 0) {
		_exit(1);
	}
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* after setns(2): new credentials clear it */
	int tree = getppid() == parent ? clone_wanted(file) : -1;
	bool done = tree >= 0 && syscall(SYS_setns, f->view, CLONE_NEWNS) == 0 &&
		    put(file, f->target, tree) == 0;
	_exit(done ? 0 : 1);
}

/* ---- supervisor ---- */

/* Without an exit signal: the caller's own wait(2) never returns it. */
static void start_helper(struct follow *f) {
	int pidfd = -1;
	pid_t self = getpid();
	sigset_t all, before;

	sigfillset(&all);
	signal_mask(SIG_SETMASK, &all, &before); /* no handler runs in the copy */
	long pid = syscall(SYS_clone, CLONE_PIDFD, NULL, &pidfd, NULL, NULL);
	if (pid == 0) {
		follow_help(f, self);
	}
	signal_mask(SIG_SETMASK, &before, NULL);
	f->helper = pid < 0 ? -1 : pidfd;
}

/* True when no helper is running. */
static bool helper_ended(struct follow *f, int flags) {
	struct followed *file = &f->files[f->at];
	siginfo_t info = {.si_pid = 0};
	long r;

	if (f->helper < 0) {
		return true;
	}
	do {
		r = syscall(SYS_waitid, WAIT_PIDFD, f->helper, &info, WEXITED | __WALL | flags,
			    NULL);
	} while (r != 0 && errno == EINTR);
	if (r == 0 && info.si_pid == 0) {
		return false;
	}
	drop_fd(&f->helper);
	bool done = r == 0 && info.si_code == CLD_EXITED && info.si_status == 0;
	file->tries = done || !same(&file->wanted, &file->refused) ? 1 : file->tries + 1;
	face_take(done ? &file->shown : &file->refused, &file->wanted);
	return true;
}

static void add(struct follow *f, const struct mount *m) {
	if (m == NULL || m->follow == NULL) {
		return;
	}
	struct face planned = {.dev = m->dev, .ino = m->ino}, now = face_at(m);
	/* With its birth time, as long as the file exists: its number may be reused soon. */
	f->files[f->n++] =
		(struct followed){.m = m, .shown = same_inode(&planned, &now) ? now : planned};
	f->every = covers(m) ? LOOK_SOON_MS : f->every;
}

int follow_new(const struct plan *plan, struct follow **ret, struct err *e) {
	size_t n = plan->standby != NULL;
	for (size_t i = 0; i < plan->nmounts; i++) {
		n += plan->mounts[i].follow != NULL;
	}
	*ret = NULL;
	if (n == 0) {
		return 0;
	}
	struct follow *f = calloc(1, sizeof *f + n * sizeof *f->files);
	if (f == NULL) {
		return err_memory(e, "follow");
	}
	*f = (struct follow){.view = -1, .helper = -1, .every = LOOK_EVERY_MS, .plan = plan};
	for (size_t i = 0; i < plan->nmounts; i++) {
		add(f, &plan->mounts[i]);
	}
	add(f, plan->standby);
	*ret = f;
	return 0;
}

void follow_free(struct follow *f) {
	if (f == NULL) {
		return;
	}
	if (f->helper >= 0) {
		/* It may have ended by itself. */
		(void)syscall(SYS_pidfd_send_signal, f->helper, SIGKILL, NULL, 0);
		(void)helper_ended(f, 0); /* waits: it has been killed */
	}
	for (size_t i = 0; i < f->n; i++) {
		struct face none = {.kind = 0};
		face_take(&f->files[i].shown, &none);
		face_take(&f->files[i].wanted, &none);
		face_take(&f->files[i].refused, &none);
	}
	drop_fd(&f->view);
	free(f);
}

void follow_begin(struct follow *f, int view) {
	if (f == NULL) {
		drop_fd(&view);
		return;
	}
	drop_fd(&f->view);
	f->view = view;
}

int64_t follow_wake(const struct follow *f) {
	return f == NULL || f->view < 0 ? -1 : f->next;
}

static bool may_try(const struct followed *f, const struct face *new) {
	return !same(new, &f->refused) || f->tries < TRIES_MAX;
}

/* The path in the sandbox of a path of the host; false if the sandbox does not show it. */
static bool find_inside(const struct plan *plan, const char *path, char out[PATH_MAX]) {
	for (size_t i = plan->nmounts; i-- > 0;) { /* L1: deeper ones follow */
		const struct mount *m = &plan->mounts[i];
		if (m->kind != MOUNT_BIND || !path_within(path, m->source)) {
			continue;
		}
		return path_rebase(path, m->source, m->target, out, PATH_MAX);
	}
	return false;
}

/* The target of a hidden name may have moved, behind a symlink; a target that the sandbox does
 * not show needs no mask. */
static bool find_target(struct follow *f, struct followed *file) {
	char number[32], path[PATH_MAX];
	size_t len = strlen(file->m->target);
	if (!follows_links(file->m)) {
		memcpy(f->target, file->m->target, len < PATH_MAX ? len + 1 : 0);
		return len < PATH_MAX;
	}
	(void)snprintf(number, sizeof number, "/proc/self/fd/%d", file->wanted.held); /* it fits */
	ssize_t n = readlink(number, path, sizeof path);
	if (n <= 0 || (size_t)n == sizeof path) {
		return false;
	}
	path[n] = '\0';
	bool seen = find_inside(f->plan, path, f->target);
	if (!seen) {
		face_take(&file->shown, &file->wanted);
	}
	return seen;
}

/* Finds the first file that the host has replaced. */
static bool find_new(struct follow *f) {
	for (size_t i = 0; i < f->n; i++) {
		struct followed *file = &f->files[i];
		struct face now = face_at(file->m);
		if (same(&now, &file->shown)) {
			now.held = file->shown.held;
			file->shown = now; /* with its birth time and owner */
		} else if (may_try(file, &now) && may_replace(file, &now)) {
			now = face_held(file->m); /* or an even newer one */
			face_take(&file->wanted, &now);
			f->at = i;
			return file->wanted.kind != 0 && may_replace(file, &file->wanted) &&
			       find_target(f, file);
		}
	}
	return false;
}

void follow_look(struct follow *f, int64_t now) {
	if (f == NULL || f->view < 0 || now < f->next) {
		return;
	}
	f->next = now + f->every;
	bool free = helper_ended(f, WNOHANG);
	if (free && find_new(f)) {
		start_helper(f);
	}
	if (f->helper >= 0) {
		f->next = now + LOOK_AGAIN_MS;
	}
}
