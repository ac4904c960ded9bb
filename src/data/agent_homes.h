/* SPDX-License-Identifier: Apache-2.0 */
/* Files in the agents' directories of a home that name programs or instructions. */
#ifndef CORRAL_DATA_AGENT_HOMES_H
#define CORRAL_DATA_AGENT_HOMES_H

#include <stddef.h>

struct agent_row {
	const char *dir;  /* beneath a home */
	const char *name; /* a pattern, directly in it */
	const char *reason;
};

/* Sorted by directory and name. */
extern const struct agent_row agent_rows[];
extern const size_t agent_rows_count;

#endif
