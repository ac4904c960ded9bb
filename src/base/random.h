/* SPDX-License-Identifier: Apache-2.0 */
/* Random bytes of the kernel. */
#ifndef CORRAL_BASE_RANDOM_H
#define CORRAL_BASE_RANDOM_H

#include <stddef.h>

#ifdef __APPLE__
#include <stdlib.h>

static inline int random_fill(void *to, size_t n) {
	arc4random_buf(to, n);
	return 0;
}
#else
#include <sys/random.h>

/* At most 256 bytes; -1 with errno. */
static inline int random_fill(void *to, size_t n) {
	return getrandom(to, n, 0) == (ssize_t)n ? 0 : -1;
}
#endif

#endif
