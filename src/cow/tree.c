/* SPDX-License-Identifier: Apache-2.0 */
/* Opens files of the upper tree and the workspace by descriptor, and reads overlayfs marks.
 *
 * Should:   open every entry beneath a root, of any mode.
 * Must not: follow a symlink (W1).
 * Fails:    with -1 and errno. */
#include "cow/cow.h"

#include "base/auto.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#define OPAQUE "user.overlay.opaque"
#define TRUE_MODE "user.corral.mode"

static int open_how(int root, const char *path, int flags, uint64_t resolve) {
	struct open_how how = {
		.flags = (uint64_t)(unsigned)flags | O_CLOEXEC | O_NOFOLLOW,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | resolve,
	};
	return (int)syscall(SYS_openat2, root, *path == '\0' ? "." : path, &how, sizeof how);
}

int cow_open_beneath(int root, const char *path, int flags) {
	return open_how(root, path, flags, 0);
}

int cow_chmod(int fd, mode_t mode) {
	char name[40];
	(void)snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
	return chmod(name, mode);
}

/* Opens an entry that its mode closes to the owner.  A directory keeps u+rwx, and an attribute
 * records its mode; a file gets its mode back at once. */
static int open_closed(const struct cow *c, const char *path, int flags) {
	auto_fd at = open_how(c->upper, path, O_PATH, 0);
	struct stat st;
	char mode[16];
	if (at < 0 || fstat(at, &st) != 0 || cow_chmod(at, (st.st_mode & 0777) | 0700) != 0) {
		return -1;
	}
	int fd = open_how(c->upper, path, flags, 0);
	if (!S_ISDIR(st.st_mode)) {
		return cow_chmod(at, st.st_mode & 0777) == 0 ? fd : -1;
	}
	int len = snprintf(mode, sizeof mode, "%o", (unsigned)st.st_mode & 0777);
	if (fd >= 0 && fsetxattr(fd, TRUE_MODE, mode, (size_t)len, XATTR_CREATE) != 0 &&
	    errno != EEXIST) {
		drop_fd(&fd);
	}
	return fd;
}

/* Also true for a directory that can be listed but not searched: its entries have no stat(2). */
static bool is_shut(int fd, int flags) {
	struct stat st;

	if (fd < 0) {
		return errno == EACCES;
	}
	return (flags & O_DIRECTORY) != 0 && fstatat(fd, ".", &st, 0) != 0 && errno == EACCES;
}

int cow_open_upper(const struct cow *c, const char *path, int flags) {
	int fd = open_how(c->upper, path, flags, 0);

	if (!is_shut(fd, flags)) {
		return fd;
	}
	drop_fd(&fd);
	return open_closed(c, path, flags);
}

bool cow_is_opaque(int dir) {
	char value;
	return fgetxattr(dir, OPAQUE, &value, 1) == 1 && value == 'y';
}

mode_t cow_true_mode(int dir, mode_t mode) {
	char value[16];
	ssize_t len = fgetxattr(dir, TRUE_MODE, value, sizeof value - 1);
	if (len <= 0) {
		return mode;
	}
	value[len] = '\0';
	return (mode & S_IFMT) | ((mode_t)strtoul(value, NULL, 8) & 0777);
}

bool cow_is_whiteout(const struct stat *st) {
	return S_ISCHR(st->st_mode) && st->st_rdev == makedev(0, 0);
}
