/* SPDX-License-Identifier: Apache-2.0 */
/* CLOCK_MONOTONIC in milliseconds, for deadlines. */
#ifndef CORRAL_BASE_CLOCK_H
#define CORRAL_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t clock_ms(void) {
	struct timespec t = {0};

	(void)clock_gettime(CLOCK_MONOTONIC, &t); /* fails only for an unknown clock */
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

#endif
