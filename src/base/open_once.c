/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces musl's open(3), which calls fcntl(F_SETFD) after open(2) for kernels before 2.6.23.
 *
 * A run opens about fifty files.  The build compiles this file only with a C library other than
 * glibc; musl's openat(3) makes one system call.
 *
 * Should:   do what open(3) does, with one system call.
 * Must not: be a cancellation point of its own: openat(3) is one.
 * Fails:    with -1 and errno. */
#include <fcntl.h>
#include <stdarg.h>

/* The caller says whether it is close-on-exec. */
int open(const char *path, int flags, ...) {
	mode_t mode = 0;

	if ((flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE) {
		va_list ap;
		va_start(ap, flags);
		mode = va_arg(ap, mode_t);
		va_end(ap);
	}
	return openat(AT_FDCWD, path, flags, mode); /* close-on-exec as the caller says */
}
