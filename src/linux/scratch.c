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

/* ---- killed runs ---- */

static void sweep_one(int parent, const char *name) {
	auto_fd dir = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	/* A live run holds the lock; a young directory may just be in creation. */
	if (dir < 0 || fstat(dir, &st) != 0 || st.st_uid != geteuid() ||
	    time(NULL) - st.st_ctime < 2 || flock(dir, LOCK_EX | LOCK_NB) != 0) {
		return;
	}
	(void)remove_tree(parent, name); /* the next run tries again */
}

void scratch_sweep(const char *run_dir) {
	char parent_path[PATH_MAX];
	const char *name = strrchr(run_dir, '/') + 1;
	size_t dir = (size_t)(name - run_dir), common = (size_t)(strrchr(name, '-') - name) + 1;
	char space[4096];
	long n;

	if (dir >= sizeof parent_path) {
		return;
	}
	memcpy(parent_path, run_dir, dir);
	parent_path[dir] = '\0';
	auto_fd parent = open(parent_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
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
		(void)remove_tree_contents(top); /* the next run sweeps what stays */
		(void)rmdir(run_dir);
	}
}
