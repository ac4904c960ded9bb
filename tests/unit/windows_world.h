/* SPDX-License-Identifier: Apache-2.0 */
/* Options of corral.exe, read for a test. */
#ifndef CORRAL_TESTS_UNIT_WINDOWS_WORLD_H
#define CORRAL_TESTS_UNIT_WINDOWS_WORLD_H

#include "base/auto.h"
#include "windows/choices.h"

static inline int read_options(struct arena *a, struct run_choices *c, struct err *e,
			       const char *const *words, size_t n) {
	*c = (struct run_choices){0};
	*e = (struct err){0};
	return choices_read(a, words, n, c, e);
}
#define READ(a, c, e, ...)                                                                         \
	read_options(a, c, e, (const char *const[]){__VA_ARGS__},                                  \
		     ARRAY_LEN(((const char *const[]){__VA_ARGS__})))

#endif
