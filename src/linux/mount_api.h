/* SPDX-License-Identifier: Apache-2.0 */
/* Wrappers of the mount API: open_tree(2), mount_setattr(2), move_mount(2), fsopen(2).
 *
 * Safe between clone and exec.  All return -1 with errno. */
#ifndef CORRAL_LINUX_MOUNT_API_H
#define CORRAL_LINUX_MOUNT_API_H

#include "base/auto.h"
#include "linux/kernel_api.h"
#include "plan/plan.h"

#include <linux/mount.h>
#include <string.h>
#include <sys/mount.h>

#define BENEATH (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)

/* MOVE_MOUNT_BENEATH, Linux 6.5: the mount is hidden until the one above it is unmounted. */
#define TREE_UNDERNEATH 0x00000200

struct fs_option {
	const char *name, *value; /* value NULL: a flag */
};

/* Decimal without stdio. */
static inline const char *decimal(uint64_t n, char out[24]) {
	char *p = out + 23;
	*p = '\0';
	do {
		*--p = (char)('0' + n % 10);
		n /= 10;
	} while (n != 0);
	return p;
}

/* A descriptor as a mount option: needs no escaping, resolves no path twice, and shows no
 * host path in /proc/self/mountinfo. */
static inline const char *fd_name(int fd, char out[40]) {
	static const char dir[] = "/proc/self/fd/";
	char digits[24];
	const char *number = decimal((uint64_t)fd, digits);
	memcpy(out, dir, sizeof dir - 1);
	memcpy(out + sizeof dir - 1, number, strlen(number) + 1);
	return out;
}

/* The context of a new file system; -1 with errno. */
static inline int fs_new(const char *type, const struct fs_option *options, size_t n) {
	auto_fd fs = (int)syscall(SYS_fsopen, type, FSOPEN_CLOEXEC);
	if (fs < 0) {
		return -1;
	}
	for (size_t i = 0; i < n; i++) {
		unsigned kind = options[i].value == NULL ? FSCONFIG_SET_FLAG : FSCONFIG_SET_STRING;
		if (syscall(SYS_fsconfig, fs, kind, options[i].name, options[i].value, 0) != 0) {
			return -1;
		}
	}
	if (syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) != 0) {
		return -1;
	}
	return take_fd(&fs);
}

static inline int fs_mount(int fs, unsigned attributes) {
	return (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, attributes);
}

/* A new file system, detached; -1 with errno. */
static inline int tree_new(const char *type, const struct fs_option *options, size_t n,
			   unsigned attributes) {
	auto_fd fs = fs_new(type, options, n);
	return fs < 0 ? -1 : fs_mount(fs, attributes);
}

static inline int mount_tree_restrict(int tree, uint64_t set, unsigned flags) {
	struct mount_attr attr = {.attr_set = set, .propagation = MS_PRIVATE};
	return (int)syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH | flags, &attr, sizeof attr);
}

static inline int tree_move(int tree, int target, unsigned flags) {
	return (int)syscall(SYS_move_mount, tree, "", target, "",
			    MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH | flags);
}

static inline int mount_tree_attach(int tree, int target) {
	return tree_move(tree, target, 0);
}

/* name: one component in dir, which may be a symlink but is not followed; "": dir itself. */
static inline int mount_tree_attach_at(int tree, int dir, const char *name) {
	return (int)syscall(SYS_move_mount, tree, "", dir, name,
			    MOVE_MOUNT_F_EMPTY_PATH |
				    (name[0] == '\0' ? MOVE_MOUNT_T_EMPTY_PATH : 0));
}

/* A detached copy of the tree at that name, as for mount_tree_attach_at(), with these attributes.
 */
static inline int mount_tree_clone_at(int dir, const char *name, uint64_t attributes) {
	auto_fd tree = (int)syscall(SYS_open_tree, dir, name,
				    OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH |
					    AT_SYMLINK_NOFOLLOW | AT_RECURSIVE);
	if (tree < 0 ||
	    (attributes != 0 && mount_tree_restrict(tree, attributes, AT_RECURSIVE) != 0)) {
		return -1;
	}
	return take_fd(&tree);
}

/* The same of the tree at `from`. */
static inline int mount_tree_clone(int from, uint64_t attributes) {
	return mount_tree_clone_at(from, "", attributes);
}

/* Mounts `at`, with the mounts beneath it, on itself, so that only this file or directory becomes
 * executable, or is no more. */
static inline int mount_tree_set_exec(int at, bool exec) {
	struct mount_attr attr = {.attr_set = exec ? 0 : MOUNT_ATTR_NOEXEC,
				  .attr_clr = exec ? MOUNT_ATTR_NOEXEC : 0,
				  .propagation = MS_PRIVATE};
	auto_fd tree = mount_tree_clone(at, 0);
	if (tree < 0 ||
	    syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &attr, sizeof attr) != 0) {
		return -1;
	}
	return mount_tree_attach(tree, at);
}

static inline int mount_tree_bind(int from, int to, uint64_t attributes) {
	auto_fd tree = mount_tree_clone(from, attributes);
	return tree < 0 ? -1 : mount_tree_attach(tree, to);
}

/* A device on a read-only mount can be written, but its mode and owner, which are the host's,
 * cannot be changed. */
static inline uint64_t mount_attributes(const struct mount *m) {
	if (m->kind == MOUNT_DEVICE) {
		return MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC;
	}
	/* E4 */
	return MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | (m->writable ? 0 : MOUNT_ATTR_RDONLY);
}

static inline uint64_t tree_attributes(const struct mount *m) {
	return mount_attributes(m) | (m->noexec ? MOUNT_ATTR_NOEXEC : 0);
}

#endif
