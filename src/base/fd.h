/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors and whole files.  Every descriptor is opened close-on-exec. */
#ifndef CORRAL_BASE_FD_H
#define CORRAL_BASE_FD_H

#include "base/buf.h"
#include "base/err.h"

/* Writes all bytes, across short writes and EINTR; -1 with errno set. */
int fd_write_all(int fd, const void *data, size_t len);

/* Appends the whole of fd to out, at most limit bytes; a larger file is an
 * error (EFBIG), not a truncated read.  -1 with errno set. */
int fd_read_all(int fd, size_t limit, struct buf *out);

/* Opens, reads and closes; -1 with errno set (ENOENT for a missing file). */
int fd_read_file(const char *path, size_t limit, struct buf *out);

/* A duplicate, close-on-exec, with a number of at least `from`.  One system call: musl's fcntl(3)
 * sets FD_CLOEXEC again. */
int fd_duplicate(int fd, int from);

/* Closes every descriptor from `first` on but these; negative ones are ignored.  System calls only.
 */
void fd_close_from(int first, const int *kept, size_t n);

/* The same from 0 on. */
void fd_close_all_but(const int *kept, size_t n);

#endif
