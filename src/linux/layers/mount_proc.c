/* SPDX-License-Identifier: Apache-2.0 */
/* Mounts a procfs that no path leads to, so that a nested sandbox can mount its own; and clones the
 * caller's for a run that can mount none (plan.shares_proc).
 *
 * The kernel lets a user namespace mount a procfs only if its mount namespace has one that no
 * mount covers in part; the run's /proc has covered entries.  This one has none, and is itself
 * beneath an empty directory that the kernel does not let a nested sandbox unmount.  So a nested
 * sandbox sees entries in its own /proc that the run's hides: for an ordinary user lists of kernel
 * symbols without addresses, of its own keys, and of file locks.  The broker refuses to open any of
 * them for writing (broker/view.c).
 *
 * Should:   be used for a caller that is not root, for whom the covered entries hold no more
 *           (plan/nested.c).
 * Must not: be reachable by a path.
 * Fails:    closed. */
#include "linux/layers/mount_proc.h"

#include "base/auto.h"
#include "linux/mount_api.h"

#include <errno.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>

static int make_dir(int at, const char *name) {
	if (mkdirat(at, name, 0700) != 0 && errno != EEXIST) {
		return -1;
	}
	return sys_openat2(at, name, O_PATH | O_DIRECTORY, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
}

int mount_proc_whole(int root) {
	const struct fs_option proc[] = {{"hidepid", "ptraceable"}};
	const struct fs_option empty[] = {{"mode", "0111"}, {"size", "4096"}, {"nr_inodes", "1"}};
	unsigned attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
	auto_fd outer = make_dir(root, ".proc");
	auto_fd inner = outer < 0 ? -1 : make_dir(outer, "all");
	auto_fd tree = inner < 0 ? -1 : tree_new("proc", proc, ARRAY_LEN(proc), attributes);
	if (tree < 0 || mount_tree_attach(tree, inner) != 0) {
		return -1;
	}
	auto_fd cover = tree_new("tmpfs", empty, ARRAY_LEN(empty), attributes | MOUNT_ATTR_RDONLY);
	return cover < 0 ? -1 : mount_tree_attach(cover, outer);
}

int mount_proc_callers(uint64_t attributes) {
	auto_fd from = sys_openat2(AT_FDCWD, "/proc", O_PATH | O_DIRECTORY, RESOLVE_NO_SYMLINKS);

	return from < 0 ? -1 : mount_tree_clone(from, attributes | MOUNT_ATTR_NOEXEC);
}

bool mount_proc_has(int entry) {
	struct statfs fs;

	return fstatfs(entry, &fs) != 0 || fs.f_type == PROC_SUPER_MAGIC;
}
