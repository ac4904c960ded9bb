/* Opening a path beneath a directory without following a single link.
 *
 * Two ways that answer the same: the kernel's own (openat2), and name by name
 * where a kernel or an outer filter does not have it. */
#ifndef CORRAL_FILES_BENEATH_H
#define CORRAL_FILES_BENEATH_H

#include <stdbool.h>
#include <stddef.h>

/* O_PATH descriptor of `path` beneath dir; "" is dir itself.  flags may hold
 * O_DIRECTORY.  -1 with errno: ELOOP when a link is on the way or at the end,
 * EXDEV when the path would climb. */
int beneath_open(int dir, const char *path, int flags, bool fast);

/* What the kernel says a descriptor stands for, as a path of this process; -1 with
 * errno when it is too long or there is no procfs to ask. */
int beneath_real_path(int fd, char *out, size_t cap);

/* The file behind an O_PATH descriptor, opened anew; the name is not used again. */
int beneath_reopen(int fd, int flags);

#endif
