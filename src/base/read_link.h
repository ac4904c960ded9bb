/* SPDX-License-Identifier: Apache-2.0 */
/* readlink(2) with a NUL at the end. */
#ifndef CORRAL_BASE_READ_LINK_H
#define CORRAL_BASE_READ_LINK_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

/* The target of a symlink, as written.  false: see errno; ENAMETOOLONG: it does not fit. */
static inline bool read_link(const char *path, char *out, size_t cap) {
	ssize_t n = readlink(path, out, cap);

	if (n < 0) {
		return false;
	}
	if ((size_t)n >= cap) {
		errno = ENAMETOOLONG;
		return false;
	}
	out[n] = '\0';
	return true;
}

#endif
