/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a path beneath a directory without following symlinks, and changes entries by descriptor.
 *
 * Two implementations with the same result: openat2(2), and name by name on an old kernel or
 * under an outer seccomp filter. */
#ifndef CORRAL_BASE_BENEATH_H
#define CORRAL_BASE_BENEATH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct stat;

/* O_PATH descriptor of `path` beneath dir; "" is dir itself.  flags may hold
 * O_DIRECTORY.  -1 with errno: ELOOP for a symlink in the path, EXDEV for a path that
 * leaves dir. */
int beneath_open(int dir, const char *path, int flags, bool fast);

/* The path of a descriptor, from /proc/self/fd; -1 with errno when it is too long or procfs
 * is missing. */
int beneath_real_path(int fd, char *out, size_t cap);

/* Whether the file is on procfs, or that cannot be found: a symlink there is a magic one, whose
 * text may name another file than the kernel jumps to. */
bool beneath_is_magic(int fd);

/* Opens the file of an O_PATH descriptor through /proc/self/fd, without its name. */
int beneath_reopen(int fd, int flags);

/* Opens the directory `name` of dir to read its entries.  -1 with errno: ELOOP or ENOTDIR for a
 * symlink, EXDEV for the root of another mount. */
int beneath_open_directory(int dir, const char *name, bool fast);

/* A name in a directory. */
struct beneath_name {
	int dir;
	const char *name;
};

/* Renames an entry.  Without `replace` fails with EEXIST if the new name exists: the kernel checks
 * that, or, on a file system that cannot, this function just before. */
int beneath_rename(struct beneath_name from, struct beneath_name to, bool replace);

/* Changes the mode of the file of an O_PATH descriptor, which is not a symlink. */
int beneath_chmod(int fd, mode_t mode);

/* lstat(2) of an absolute path that fails if one of its directories is a symlink. */
int beneath_lstat(const char *path, struct stat *ret);

#endif
