/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a path beneath a directory without following symlinks, and changes entries by descriptor.
 *
 * A file is held by a descriptor that neither reads nor blocks, so that the file that is
 * judged is the one that is used.  beneath.c holds with O_PATH, and finds names in /proc/self/fd;
 * it has two ways with the same result: openat2(2), and name by name on an old kernel or under an
 * outer seccomp filter. macOS has neither: beneath_macos.c opens directories to search them, files
 * to read them, symlinks themselves, and nothing else; it asks for a descriptor's path with
 * F_GETPATH. */
#ifndef CORRAL_BASE_BENEATH_H
#define CORRAL_BASE_BENEATH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct stat;

/* Holds the host's root directory; a directory that is open or held, again, which needs the right
 * to search it. */
int beneath_root(void);
int beneath_again(int dir);

/* Holds the entry `name` of dir, a symlink itself.  -1 with errno; EAGAIN: it changed meanwhile. */
int beneath_hold(int dir, const char *name);

/* The target of a held symlink, as readlinkat(2) returns it. */
ssize_t beneath_read_link(int link, char *out, size_t cap);

/* Holds `path` beneath dir; "" is dir itself.  flags may hold
 * O_DIRECTORY.  -1 with errno: ELOOP for a symlink in the path, EXDEV for a path that
 * leaves dir. */
int beneath_open(int dir, const char *path, int flags, bool fast);

/* The path of a descriptor; -1 with errno when it is too long or procfs is missing. */
int beneath_real_path(int fd, char *out, size_t cap);

/* Whether the file is on procfs, or that cannot be found: a symlink there is a magic one, whose
 * text may name another file than the kernel jumps to. */
bool beneath_is_magic(int fd);

/* Opens a held file, by its descriptor: it may have another name now. */
int beneath_reopen(int fd, int flags);

/* Whether the caller has these rights (R_OK, W_OK, X_OK) to a held file: 0, or -1 with errno. */
int beneath_access(int fd, int rights);

/* A new file in dir that has no name: -1 with EOPNOTSUPP where the system or file system has none.
 * Then its name, which must not exist. */
int beneath_nameless(int dir, mode_t mode);
int beneath_link_nameless(int fd, int dir, const char *name);

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

/* Renames a held file, which is no directory, also when `from` names another one by now.  Not in
 * one step.  EXDEV, and nothing is changed, for a file that cannot be linked, on a file system
 * without hard links, and on a system that links by name alone. */
int beneath_rename_held(int fd, struct beneath_name from, struct beneath_name to, bool replace);

/* Changes the mode of a held file, which is not a symlink. */
int beneath_chmod(int fd, mode_t mode);

/* lstat(2) of an absolute path that fails if one of its directories is a symlink. */
int beneath_lstat(const char *path, struct stat *ret);

#endif
