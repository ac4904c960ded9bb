/* SPDX-License-Identifier: Apache-2.0 */
/* Options of other tools, and Corral's option for each. */
#ifndef CORRAL_DATA_SYNONYMS_H
#define CORRAL_DATA_SYNONYMS_H

#include <stddef.h>

struct option_synonym {
	const char *name;
	const char *use;
};

/* Sorted by name. */
extern const struct option_synonym option_synonyms[];
extern const size_t option_synonyms_count;

#endif
