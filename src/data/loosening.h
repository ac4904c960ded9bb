/* SPDX-License-Identifier: Apache-2.0 */
/* The values that make the boundary wider, for the warnings of `corral policy check`. */
#ifndef CORRAL_DATA_LOOSENING_H
#define CORRAL_DATA_LOOSENING_H

#include "data/keys.h"

/* The items of a list that have a warning. */
enum loosening_items {
	ITEMS_ALL,
	ITEMS_SECRET, /* names of the secret table */
	ITEMS_BROAD,  /* the root, a home, or a directory of homes */
	ITEMS_EXCEPT, /* exceptions, written with '!' */
};

struct loosening {
	enum key_id key;
	int64_t from, to; /* enums and switches: the values; lists: both 0, every item */
	enum loosening_items items;
	const char *why;
};

extern const struct loosening loosenings[]; /* in the order of data/keys.c */
extern const size_t loosenings_count;

#endif
