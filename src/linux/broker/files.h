/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the handlers that open and create files. */
#ifndef CORRAL_LINUX_BROKER_FILES_H
#define CORRAL_LINUX_BROKER_FILES_H

#include "linux/broker/call.h"

#include <fcntl.h>

/* The kernel's __O_TMPFILE, which comes with O_DIRECTORY. */
#define TMPFILE_BIT (O_TMPFILE & ~O_DIRECTORY)

struct opening {
	int flags;
	mode_t mode;
};

static inline bool opening_writes(int flags) {
	return (flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC) != 0;
}

#define ANY_EXECUTE 0111

/* Opens an executable for writing; mode is the file's. */
static inline bool opening_is_of_program(int flags, mode_t mode) {
	return opening_writes(flags) && (mode & ANY_EXECUTE) != 0;
}

/* Sets the guard's umask to the caller's: 0 or -errno. */
int files_take_umask(const struct call *c);

/* Work for helper_run(): reopens an O_PATH descriptor, and blocks as long as the caller would;
 * arg is a struct opening. */
long files_open_waiting(const struct call *c, int fd, const void *arg);

/* resolve_fast.c: serves a common open with few system calls.  QUICK_NOT: the open is not a
 * common one, and had no effect. */
#define QUICK_NOT (LONG_MIN + 1)
long resolve_fast_open(const struct call *c, int dirfd, const char *path, const struct opening *o);

/* resolve_fast.c: the error of readlink(2) for a path that is a directory or does not exist.
 * QUICK_NOT: neither is known. */
long resolve_fast_no_symlink(const struct call *c, int dirfd, const char *path);

#endif
