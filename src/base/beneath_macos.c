/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of beneath.h for macOS, which has no O_PATH and no /proc/self/fd.
 *
 * A directory is opened to search it, a regular file to read it, and a symlink itself.  The entry
 * is compared before and after its open, so that an entry that changed meanwhile is not held for
 * another.  fcntl(F_GETPATH) returns a path; the file opened by that path is compared with the held
 * one.
 *
 * Should:   return a descriptor or an errno, without blocking.
 * Must not: follow a symlink, or leave the directory by "..".
 * Fails:    closed, with the kernel's errno: a file that the caller may not read, a FIFO, a socket
 *           and a device cannot be held. */
#include "base/beneath.h"

#include "base/auto.h"
#include "base/path.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#define SEARCH (O_SEARCH | O_DIRECTORY)

static bool same_file(const struct stat *a, const struct stat *b) {
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* How an entry of this type is held; -1: not at all. */
static int flags_of(mode_t mode) {
	switch (mode & S_IFMT) {
	case S_IFDIR:
		return SEARCH | O_NOFOLLOW;
	case S_IFREG:
		return O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
	case S_IFLNK:
		return O_RDONLY | O_SYMLINK;
	default:
		return -1;
	}
}

int beneath_root(void) {
	return open("/", SEARCH | O_CLOEXEC);
}

int beneath_again(int dir) {
	return openat(dir, ".", SEARCH | O_CLOEXEC);
}

int beneath_hold(int dir, const char *name) {
	struct stat named, held;

	if (fstatat(dir, name, &named, AT_SYMLINK_NOFOLLOW) != 0) {
		return -1;
	}
	int flags = flags_of(named.st_mode);
	if (flags < 0) {
		errno = EOPNOTSUPP;
		return -1;
	}
	auto_fd fd = openat(dir, name, flags | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &held) != 0) {
		/* Another type of entry has the name now. */
		errno = errno == ELOOP || errno == ENOTDIR ? EAGAIN : errno;
		return -1;
	}
	if (!same_file(&named, &held)) {
		errno = EAGAIN;
		return -1;
	}
	return take_fd(&fd);
}

ssize_t beneath_read_link(int link, char *out, size_t cap) {
	return freadlink(link, out, cap);
}

/* Copies a path without its trailing slashes, ends it before the last name, and opens that
 * directory, without a symlink in its path.  *ret_slash: there were some. */
static int open_parent(int dir, const char *path, char copy[PATH_MAX], const char **ret_name,
		       bool *ret_slash) {
	size_t all = strlen(path), len = all;

	while (len > 1 && path[len - 1] == '/') {
		len--;
	}
	*ret_slash = len < all;
	if (len >= PATH_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(copy, path, len);
	copy[len] = '\0';
	char *slash = strrchr(copy, '/');
	*ret_name = slash == NULL ? copy : slash + 1;
	if (slash == NULL || slash == copy) {
		return slash == NULL ? beneath_again(dir) : beneath_root();
	}
	*slash = '\0';
	return openat(dir, copy, SEARCH | O_NOFOLLOW_ANY | O_CLOEXEC);
}

static int check_type(int fd, int flags) {
	struct stat st;

	if (fstat(fd, &st) != 0) {
		return -1;
	}
	errno = S_ISLNK(st.st_mode) ? ELOOP : ENOTDIR;
	return S_ISLNK(st.st_mode) || ((flags & O_DIRECTORY) != 0 && !S_ISDIR(st.st_mode)) ? -1 : 0;
}

/* fast: there is one way. */
int beneath_open(int dir, const char *path, int flags, bool fast) {
	char copy[PATH_MAX];
	const char *name;
	bool slash = false;

	(void)fast;
	if (path[0] == '\0') {
		return beneath_again(dir);
	}
	if (path_has_dots(path)) {
		errno = EXDEV;
		return -1;
	}
	auto_fd parent = open_parent(dir, path, copy, &name, &slash);
	auto_fd fd = parent < 0 ? -1 : beneath_hold(parent, name);
	return fd < 0 || check_type(fd, slash ? O_DIRECTORY : flags) != 0 ? -1 : take_fd(&fd);
}

int beneath_real_path(int fd, char *out, size_t cap) {
	char path[PATH_MAX];

	if (fcntl(fd, F_GETPATH, path) != 0) {
		return -1;
	}
	if (strlen(path) >= cap) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(out, path, strlen(path) + 1);
	return 0;
}

/* There is no procfs. */
bool beneath_is_magic(int fd) {
	(void)fd;
	return false;
}

int beneath_reopen(int fd, int flags) {
	char path[PATH_MAX];
	struct stat held, now;

	if (beneath_real_path(fd, path, sizeof path) != 0) {
		return -1;
	}
	auto_fd again = open(path, flags | O_NOFOLLOW_ANY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (again < 0 || fstat(fd, &held) != 0 || fstat(again, &now) != 0) {
		return -1;
	}
	if (!same_file(&held, &now)) {
		errno = ESTALE;
		return -1;
	}
	return take_fd(&again);
}

/* By the file's path, which another file may have by now: for the words of a refusal. */
int beneath_access(int fd, int rights) {
	char path[PATH_MAX];

	return beneath_real_path(fd, path, sizeof path) != 0
		       ? -1
		       : faccessat(AT_FDCWD, path, rights, AT_EACCESS);
}

int beneath_nameless(int dir, mode_t mode) {
	(void)dir;
	(void)mode;
	errno = EOPNOTSUPP;
	return -1;
}

int beneath_link_nameless(int fd, int dir, const char *name) {
	(void)fd;
	(void)dir;
	(void)name;
	errno = EOPNOTSUPP;
	return -1;
}

/* ---- directories and their entries ---- */

/* The root of another mount has another st_dev. */
int beneath_open_directory(int dir, const char *name, bool fast) {
	struct stat above, st;
	auto_fd fd =
		openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	(void)fast;
	if (fd < 0 || fstat(dir, &above) != 0 || fstat(fd, &st) != 0) {
		return -1;
	}
	if (above.st_dev != st.st_dev) {
		errno = EXDEV;
		return -1;
	}
	return take_fd(&fd);
}

int beneath_rename(struct beneath_name from, struct beneath_name to, bool replace) {
	struct stat st;

	if (replace) {
		return renameat(from.dir, from.name, to.dir, to.name);
	}
	if (renameatx_np(from.dir, from.name, to.dir, to.name, RENAME_EXCL) == 0) {
		return 0;
	}
	/* A file system without that flag. */
	if (errno != ENOTSUP) {
		return -1;
	}
	if (fstatat(to.dir, to.name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		errno = EEXIST;
		return -1;
	}
	return errno == ENOENT ? renameat(from.dir, from.name, to.dir, to.name) : -1;
}

/* No call links or renames by descriptor. */
int beneath_rename_held(int fd, struct beneath_name from, struct beneath_name to, bool replace) {
	(void)fd, (void)from, (void)to, (void)replace;
	errno = EXDEV;
	return -1;
}

int beneath_chmod(int fd, mode_t mode) {
	return fchmod(fd, mode);
}

int beneath_lstat(const char *path, struct stat *ret) {
	char copy[PATH_MAX];
	const char *name;
	bool slash = false;
	auto_fd parent = open_parent(AT_FDCWD, path, copy, &name, &slash);

	return parent < 0 ? -1 : fstatat(parent, name, ret, AT_SYMLINK_NOFOLLOW);
}
