/* SPDX-License-Identifier: Apache-2.0 */
/* Removes the scratch directories of runs without a mount namespace.
 *
 * Should:   remove the directory of a run that ended, and those of killed runs.
 * Must not: remove the directory of a live run, which holds a lock on it.
 * Fails:    open: files stay in a scratch directory, and the next run tries again. */
#include "linux/scratch.h"

#include "base/auto.h"
#include "base/dirent64.h"
#include "base/remove_tree.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

/* The command owns the directory, and may have taken all rights to it from itself. */
static int open_run_dir(int parent, const char *name) {
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 && errno == EACCES ? remove_tree_open(parent, name) : fd;
}

/* The directory of a run's directory. */
static int open_parent(const char *run_dir, int flags) {
	char path[PATH_MAX];
	size_t len = (size_t)(strrchr(run_dir, '/') + 1 - run_dir);

	if (len >= sizeof path) {
		return -1;
	}
	memcpy(path, run_dir, len);
	path[len] = '\0';
	return open(path, flags | O_DIRECTORY | O_CLOEXEC);
}

/* ---- killed runs ---- */

static void sweep_one(int parent, const char *name) {
	struct stat st;
	/* A live run holds the lock; a young directory may just be in creation. */
	if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || st.st_uid != geteuid() ||
	    time(NULL) - st.st_ctime < 2) {
		return;
	}
	auto_fd dir = open_run_dir(parent, name);
	/* Once more: another user may have put it in the place of one that was just removed. */
	if (dir >= 0 && fstat(dir, &st) == 0 && st.st_uid == geteuid() &&
	    flock(dir, LOCK_EX | LOCK_NB) == 0) {
		(void)remove_tree(parent, name); /* the next run tries again */
	}
}

void scratch_sweep(const char *run_dir) {
	const char *name = strrchr(run_dir, '/') + 1;
	size_t common = (size_t)(strrchr(name, '-') - name) + 1;
	char space[4096];
	long n;

	auto_fd parent = open_parent(run_dir, O_RDONLY);
	while (parent >= 0 && (n = syscall(SYS_getdents64, parent, space, sizeof space)) > 0) {
		for (long at = 0; at < n; at += dirent64_length(space + at)) {
			const char *other = dirent64_name(space + at);
			if (strncmp(other, name, common) == 0 && !streq(other, name)) {
				sweep_one(parent, other);
			}
		}
	}
}

void scratch_remove(const char *run_dir) {
	if (run_dir == NULL || rmdir(run_dir) == 0 || errno == ENOENT) {
		return;
	}
	auto_fd top = open(run_dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (top >= 0) {
		(void)remove_tree_contents(top); /* rmdir() fails if something stays */
	}
	if (rmdir(run_dir) == 0 || errno == ENOENT) {
		return;
	}
	auto_fd parent = open_parent(run_dir, O_PATH);
	/* The next run sweeps the rest. */
	(void)remove_tree(parent, strrchr(run_dir, '/') + 1);
}
