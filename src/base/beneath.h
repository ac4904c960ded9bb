/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a path beneath a directory without following symlinks.
 *
 * Two implementations with the same result: openat2(2), and name by name on an old kernel or
 * under an outer seccomp filter. */
#ifndef CORRAL_BASE_BENEATH_H
#define CORRAL_BASE_BENEATH_H

#include <stdbool.h>
#include <stddef.h>

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

#endif
