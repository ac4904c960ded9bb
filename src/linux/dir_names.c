/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the names of a small directory with four system calls, instead of one look-up per name.
 *
 * Measured: 130 look-ups of missing names take 60 to 160 microseconds, a list of 50 names 14, of
 * 1000 names 100.  So a directory whose names do not fit the first buffer is not read further.
 *
 * Should:   read until the kernel reports the end: a file system may return fewer entries than
 *           fit.
 * Must not: allocate.
 * Fails:    open: with false the plan looks names up one by one. */
#include "linux/dir_names.h"

#include "base/auto.h"
#include "base/dirent64.h"

#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* About 100 names. */
#define SPACE 4096

/* The longest entry: behind it another may not have fitted. */
#define LONGEST 280

/* The second buffer shows the end; a file system that needs more of them is slow to list. */
#define CALLS_MAX 4

bool dir_names(void *ctx, const char *path, struct name_filter *out) {
	char space[SPACE];
	(void)ctx;
	auto_fd dir = open(path, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
	for (int call = 0; dir >= 0 && call < CALLS_MAX; call++) {
		long n = syscall(SYS_getdents64, dir, space, sizeof space);
		if (n <= 0) {
			return n == 0;
		}
		if (n > (long)sizeof space - LONGEST) {
			return false;
		}
		for (long at = 0; at < n; at += dirent64_length(space + at)) {
			const char *name = dirent64_name(space + at);
			name_filter_add(out, name, strlen(name));
		}
	}
	return false;
}
