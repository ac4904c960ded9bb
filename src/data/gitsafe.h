/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of the caller's git configuration that are copied into the sandbox. */
#ifndef CORRAL_DATA_GITSAFE_H
#define CORRAL_DATA_GITSAFE_H

#include <stddef.h>

struct gitsafe_row {
	const char *section; /* in lower case, as the key */
	const char *key;     /* "*": every key of the section */
	const char *reason;
};

extern const struct gitsafe_row gitsafe_rows[];
extern const size_t gitsafe_rows_count;

#endif
