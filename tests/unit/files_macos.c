/* SPDX-License-Identifier: Apache-2.0 */
/* base/beneath_macos.c on Linux, for the tests of the file tools: the calls that only macOS has are
 * made from those of Linux.  The linker takes these functions and leaves base/beneath.c out. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define O_SYMLINK (O_PATH | O_NOFOLLOW)
#define O_SEARCH O_DIRECTORY
#define O_NOFOLLOW_ANY 0x20000000
#define F_GETPATH 50
#define RENAME_EXCL RENAME_NOREPLACE

static int open_at(int dir, const char *path, int flags) {
	struct open_how how = {
		.flags = (uint64_t)(flags & ~O_NOFOLLOW_ANY),
		.resolve = (flags & O_NOFOLLOW_ANY) != 0 ? RESOLVE_NO_SYMLINKS : 0,
	};
	return (int)syscall(SYS_openat2, dir, path, &how, sizeof how);
}

static ssize_t freadlink(int fd, char *out, size_t cap) {
	return readlinkat(fd, "", out, cap);
}

static int get_path(int fd, char *out) {
	char name[32];

	(void)snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
	ssize_t n = readlink(name, out, PATH_MAX - 1);
	out[n < 0 ? 0 : n] = '\0';
	return n < 0 ? -1 : 0;
}

static int renameatx_np(int from_dir, const char *from, int to_dir, const char *to,
			unsigned flags) {
	return (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, flags);
}

#define openat(dir, path, flags) open_at(dir, path, flags)
#define open(path, flags) open_at(AT_FDCWD, path, flags)
#define fcntl(fd, what, out) get_path(fd, out)

#include "base/beneath_macos.c"
