/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers that are the same in every run (xorshift64). */
#ifndef CORRAL_TESTS_FILTER_DRAW_H
#define CORRAL_TESTS_FILTER_DRAW_H

#include <stdint.h>

static inline uint64_t draw(void) {
	static uint64_t seed = 1;

	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

#endif
