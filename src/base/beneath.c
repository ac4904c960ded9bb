/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a path beneath a directory with openat2(2), or name by name; renames and changes entries by
 * descriptor.
 *
 * Should:   return a descriptor or an errno, without blocking.
 * Must not: follow a symlink, or leave the directory by "..".
 * Fails:    closed, with the kernel's errno. */
#include "base/beneath.h"

#include "base/auto.h"
#include "base/random.h"
#include "base/read_link.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

static int open_by_kernel(int dir, const char *path, int flags) {
	struct open_how how = {
		/* Not O_NOFOLLOW, which with O_PATH would open a final symlink itself. */
		.flags = (uint64_t)(O_PATH | O_CLOEXEC | flags),
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	return (int)syscall(SYS_openat2, dir, path[0] == '\0' ? "." : path, &how, sizeof how);
}

/* Opens one name, which may not be a symlink. */
static int open_name(int dir, const char *name, size_t len, int flags) {
	char copy[NAME_MAX + 1];
	struct stat st;

	if (len > NAME_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(copy, name, len);
	copy[len] = '\0';
	if (streq(copy, "..")) {
		errno = EXDEV;
		return -1;
	}
	auto_fd fd = openat(dir, copy, O_PATH | O_NOFOLLOW | O_CLOEXEC | flags);
	if (fd < 0 || fstat(fd, &st) != 0) {
		/* With O_DIRECTORY the kernel returns ENOTDIR for a symlink. */
		bool link = errno == ENOTDIR && fstatat(dir, copy, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
			    S_ISLNK(st.st_mode);
		errno = link ? ELOOP : errno;
		return -1;
	}
	if (S_ISLNK(st.st_mode)) {
		errno = ELOOP;
		return -1;
	}
	return take_fd(&fd);
}

static int open_by_names(int dir, const char *path, int flags) {
	auto_fd at = openat(dir, ".", O_PATH | O_CLOEXEC | O_DIRECTORY);

	while (at >= 0 && *path != '\0') {
		size_t len = strcspn(path, "/");
		size_t skip = len + strspn(path + len, "/");
		bool last = path[skip] == '\0';
		if (len > 0) {
			int next = open_name(at, path, len,
					     !last || path[len] == '/' ? O_DIRECTORY : flags);
			int error = errno;
			drop_fd(&at);
			errno = error;
			at = next;
		}
		path += skip;
	}
	return take_fd(&at);
}

int beneath_root(void) {
	return open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

int beneath_again(int dir) {
	return openat(dir, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

int beneath_hold(int dir, const char *name) {
	return openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
}

ssize_t beneath_read_link(int link, char *out, size_t cap) {
	return readlinkat(link, "", out, cap);
}

int beneath_open(int dir, const char *path, int flags, bool fast) {
	int fd = fast ? open_by_kernel(dir, path, flags) : -1;

	/* ENOSYS: an old kernel; EPERM: an outer seccomp filter; EAGAIN: a concurrent rename. */
	if (fd >= 0 || (fast && errno != ENOSYS && errno != EPERM && errno != EAGAIN)) {
		return fd;
	}
	return open_by_names(dir, path, flags);
}

struct fd_name {
	char text[32];
};

static struct fd_name name_of(int fd) {
	struct fd_name n;
	(void)snprintf(n.text, sizeof n.text, "/proc/self/fd/%d", fd);
	return n;
}

int beneath_real_path(int fd, char *out, size_t cap) {
	struct fd_name name = name_of(fd);

	return read_link(name.text, out, cap) ? 0 : -1;
}

bool beneath_is_magic(int fd) {
	struct statfs fs;
	return fstatfs(fd, &fs) != 0 || fs.f_type == PROC_SUPER_MAGIC;
}

int beneath_reopen(int fd, int flags) {
	struct fd_name name = name_of(fd);
	return open(name.text, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

int beneath_access(int fd, int rights) {
	struct fd_name name = name_of(fd);
	return faccessat(AT_FDCWD, name.text, rights, AT_EACCESS);
}

int beneath_nameless(int dir, mode_t mode) {
	return openat(dir, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
}

int beneath_link_nameless(int fd, int dir, const char *name) {
	struct fd_name from = name_of(fd);
	return linkat(AT_FDCWD, from.text, dir, name, AT_SYMLINK_FOLLOW);
}

/* ---- directories and their entries ---- */

#define DIRECTORY_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK)

/* A mount of the same file system has the same st_dev: only openat2(2) detects that. */
static int open_directory_by_name(int dir, const char *name) {
	struct stat above, st;
	auto_fd fd = openat(dir, name, DIRECTORY_FLAGS | O_CLOEXEC);

	if (fd < 0 || fstat(dir, &above) != 0 || fstat(fd, &st) != 0) {
		return -1;
	}
	if (above.st_dev != st.st_dev) {
		errno = EXDEV;
		return -1;
	}
	return take_fd(&fd);
}

int beneath_open_directory(int dir, const char *name, bool fast) {
	struct open_how how = {
		.flags = DIRECTORY_FLAGS | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV,
	};
	int fd = fast ? (int)syscall(SYS_openat2, dir, name, &how, sizeof how) : -1;

	if (fd >= 0 || (fast && errno != ENOSYS && errno != EPERM && errno != EAGAIN)) {
		return fd;
	}
	return open_directory_by_name(dir, name);
}

int beneath_rename(struct beneath_name from, struct beneath_name to, bool replace) {
	struct stat st;

	if (replace) {
		return renameat(from.dir, from.name, to.dir, to.name);
	}
	if (syscall(SYS_renameat2, from.dir, from.name, to.dir, to.name, RENAME_NOREPLACE) == 0) {
		return 0;
	}
	/* An old kernel, an outer seccomp filter, or a file system without that flag. */
	if (errno != ENOSYS && errno != EINVAL && errno != EPERM) {
		return -1;
	}
	if (fstatat(to.dir, to.name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		errno = EEXIST;
		return -1;
	}
	return errno == ENOENT ? renameat(from.dir, from.name, to.dir, to.name) : -1;
}

static bool is_named(int fd, struct beneath_name at) {
	struct stat held, named;

	return fstat(fd, &held) == 0 &&
	       fstatat(at.dir, at.name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	       held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

static int link_held(int fd, struct beneath_name to) {
	struct fd_name held = name_of(fd);

	return linkat(AT_FDCWD, held.text, to.dir, to.name, AT_SYMLINK_FOLLOW);
}

/* Links the file in that directory and removes the link.  The kernel says EEXIST before it looks
 * whether the file may have another name: without hard links, of another user, or one too many. */
static int link_tried(int fd, int dir) {
	uint64_t number;
	char name[48];

	if (random_fill(&number, sizeof number) != 0) {
		return -1;
	}
	(void)snprintf(name, sizeof name, ".corral-moved-%016" PRIx64, number);
	return link_held(fd, (struct beneath_name){dir, name}) == 0 ? unlinkat(dir, name, 0) : -1;
}

/* The name keeps its file if the link is not possible. */
static int link_instead(int fd, struct beneath_name to) {
	return link_tried(fd, to.dir) == 0 && unlinkat(to.dir, to.name, 0) == 0 ? link_held(fd, to)
										: -1;
}

int beneath_rename_held(int fd, struct beneath_name from, struct beneath_name to, bool replace) {
	int made = link_held(fd, to);

	if (made != 0 && errno == EEXIST && replace) {
		if (is_named(fd, to)) {
			return 0; /* two names of one file: rename(2) changes nothing */
		}
		made = link_instead(fd, to);
	}
	if (made != 0) {
		errno = errno == EPERM || errno == EMLINK ? EXDEV : errno;
		return -1;
	}
	return is_named(fd, from) ? unlinkat(from.dir, from.name, 0) : 0;
}

int beneath_chmod(int fd, mode_t mode) {
	struct fd_name name = name_of(fd);
	return chmod(name.text, mode);
}

/* ---- lstat(2) ---- */

/* Component by component, where an outer seccomp filter answers openat2() with ENOSYS. */
static int open_by_components(const char *path) {
	auto_fd at = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (const char *p = path + 1; at >= 0; p++) {
		char name[NAME_MAX + 1];
		size_t n = strcspn(p, "/");
		if (n > NAME_MAX) {
			return -1;
		}
		memcpy(name, p, n);
		name[n] = '\0';
		p += n;
		int next = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		drop_fd(&at);
		at = next;
		if (*p == '\0') {
			break;
		}
	}
	return take_fd(&at);
}

int beneath_lstat(const char *path, struct stat *ret) {
	struct open_how how = {
		.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	auto_fd fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);

	if (fd < 0 && errno == ENOSYS) {
		fd = open_by_components(path);
	}
	return fd < 0 ? -1 : fstat(fd, ret);
}
