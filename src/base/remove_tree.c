/* SPDX-License-Identifier: Apache-2.0 */
/* Removes directory trees by descriptor, of any mode and depth.
 *
 * Should:   remove as much as it can, and go on after an entry that cannot be removed.
 * Must not: follow a symlink, leave the file system, or recurse deeper than DEPTH_MAX: a directory
 *           below that is renamed to the top of the tree and removed from there.
 * Fails:    open: files that stay are in a directory of Corral's own; returns -1. */
#include "base/remove_tree.h"

#include "base/auto.h"
#include "base/dirent64.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* One descriptor and one buffer of 4 KiB a level: threads of a host program have small stacks. */
#define DEPTH_MAX 8

/* Rounds over the top: each removes the directories that the round before moved there. */
#define ROUNDS 100000

struct removal {
	int top;
	uint64_t lifted; /* directories that were renamed to the top */
};

/* prefix + n, in decimal. */
static void numbered(char out[40], const char *prefix, uint64_t n) {
	char digits[20];
	size_t at = strlen(prefix), len = 0;

	do {
		digits[len++] = (char)('0' + n % 10);
	} while ((n /= 10) > 0);
	memcpy(out, prefix, at);
	while (len > 0) {
		out[at++] = digits[--len];
	}
	out[at] = '\0';
}

static int open_beneath(int dir, const char *name, int flags) {
	struct open_how how = {
		.flags = (uint64_t)(unsigned)flags | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV,
	};
	return (int)syscall(SYS_openat2, dir, name, &how, sizeof how);
}

int remove_tree_open(int dir, const char *name) {
	int fd = open_beneath(dir, name, O_RDONLY);

	if (fd < 0 && errno == EACCES) {
		auto_fd at = open_beneath(dir, name, O_PATH);
		char path[40];

		numbered(path, "/proc/self/fd/", at < 0 ? 0 : (uint64_t)at);
		fd = at >= 0 && chmod(path, 0700) == 0 ? open_beneath(dir, name, O_RDONLY) : -1;
	}
	/* Entries of a read-only directory cannot be removed. */
	if (fd >= 0 && fchmod(fd, 0700) != 0) {
		drop_fd(&fd);
	}
	return fd;
}

/* Renames a directory that lies too deep to the top of the tree. */
static int lift(struct removal *r, int dir, const char *name) {
	char to[40];
	auto_fd sub = remove_tree_open(dir, name); /* renaming needs the right to write into it */

	if (sub < 0) {
		return errno == ENOENT ? 0 : -1;
	}
	do {
		numbered(to, "..corral-", r->lifted++);
		if (renameat(dir, name, r->top, to) == 0) {
			return 0;
		}
	} while (errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR);
	return -1;
}

static int empty(struct removal *r, int dir, int depth);

static int remove_entry(struct removal *r, int dir, const char *name, int depth) {
	if (unlinkat(dir, name, 0) == 0 || errno == ENOENT) {
		return 0;
	}
	if (errno != EISDIR && errno != EPERM) {
		return -1;
	}
	if (unlinkat(dir, name, AT_REMOVEDIR) == 0 || errno == ENOENT) {
		return 0;
	}
	if (depth == DEPTH_MAX) {
		return lift(r, dir, name);
	}
	auto_fd sub = remove_tree_open(dir, name);
	if (sub < 0) {
		return errno == ENOENT ? 0 : -1; /* another process removes the same tree */
	}
	if (empty(r, sub, depth + 1) != 0) {
		return -1;
	}
	return unlinkat(dir, name, AT_REMOVEDIR) == 0 || errno == ENOENT ? 0 : -1;
}

/* Continues after an entry that cannot be removed. */
static int empty(struct removal *r, int dir, int depth) {
	char space[4096];
	long n;
	int rc = 0;

	while ((n = syscall(SYS_getdents64, dir, space, sizeof space)) > 0) {
		for (long at = 0; at < n; at += dirent64_length(space + at)) {
			const char *name = dirent64_name(space + at);

			if (!streq(name, ".") && !streq(name, "..") &&
			    remove_entry(r, dir, name, depth) != 0) {
				rc = -1;
			}
		}
	}
	return n < 0 ? -1 : rc;
}

int remove_tree_contents(int dir) {
	struct removal r = {.top = dir};
	uint64_t before;
	int rounds = 0;

	do {
		before = r.lifted;
		if ((rounds > 0 && lseek(dir, 0, SEEK_SET) < 0) || empty(&r, dir, 0) != 0) {
			return -1;
		}
	} while (r.lifted != before && ++rounds < ROUNDS);
	return 0;
}

int remove_tree(int parent, const char *name) {
	auto_fd top = remove_tree_open(parent, name);

	if (top < 0) {
		return errno == ENOENT ? 0 : -1;
	}
	if (remove_tree_contents(top) != 0) {
		return -1;
	}
	return unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT ? 0 : -1;
}
