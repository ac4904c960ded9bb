/* SPDX-License-Identifier: Apache-2.0 */
/* Walks a directory tree with getdents64, without allocation.
 *
 * Should:   visit every entry once, with its path and its directory's descriptor.
 * Must not: follow a symlink, or run without bounds on depth, entries and time.
 * Fails:    closed: tree_walk() returns false when it has not visited everything. */
#include "linux/broker/tree.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/dirent64.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define TYPE_UNKNOWN 0
#define TYPE_DIRECTORY 4

/* For a file system that returns DT_UNKNOWN. */
static bool is_directory(int dir, const char *name) {
	struct stat st;

	if (syscall(SYS_newfstatat, dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
		return errno != ENOENT; /* openat() will fail with the reason */
	}
	return S_ISDIR(st.st_mode);
}

static bool walk(struct tree *t, int dir, size_t at, size_t depth);

/* at: the length of its path. */
static bool walk_directory(struct tree *t, int dir, const char *name, size_t at, size_t depth) {
	auto_fd fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? t->unreadable(t, dir, name) != TREE_END : walk(t, fd, at, depth);
}

static bool walk_entry(struct tree *t, int dir, const char *entry, size_t at, size_t depth) {
	const char *name = dirent64_name(entry);
	unsigned type = (unsigned char)entry[DIRENT64_TYPE];
	size_t len = strlen(name);

	if (streq(name, ".") || streq(name, "..")) {
		return true;
	}
	if (++t->entries > t->entries_max || at + len + 2 > sizeof t->path) {
		return false;
	}
	t->path[at] = '/';
	memcpy(t->path + at + 1, name, len + 1);
	bool descends = type == TYPE_UNKNOWN ? is_directory(dir, name) : type == TYPE_DIRECTORY;
	enum tree_step step = t->visit(t, dir, name, descends);
	if (step != TREE_ON || !descends) {
		return step != TREE_END;
	}
	return walk_directory(t, dir, name, at + 1 + len, depth + 1);
}

static bool walk(struct tree *t, int dir, size_t at, size_t depth) {
	long n;

	if (depth == TREE_DEPTH) {
		return false;
	}
	char *space = t->space[depth];
	while ((n = syscall(SYS_getdents64, dir, space, TREE_SPACE)) > 0) {
		if (clock_ms() >= t->deadline) {
			return false;
		}
		for (long i = 0; i < n; i += dirent64_length(space + i)) {
			if (!walk_entry(t, dir, space + i, at, depth)) {
				return false;
			}
		}
	}
	return n == 0 || errno == ENOENT;
}

bool tree_walk(struct tree *t, int dir, const char *name, const char *path) {
	size_t len = strlen(path);

	if (len >= sizeof t->path) {
		return false;
	}
	memcpy(t->path, path, len + 1);
	return walk_directory(t, dir, name, len > 1 ? len : 0, 0);
}
