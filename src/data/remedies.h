/* SPDX-License-Identifier: Apache-2.0 */
/* Remedies: the sysctl, profile or flag that resolves an errno of a layer's set-up. */
#ifndef CORRAL_DATA_REMEDIES_H
#define CORRAL_DATA_REMEDIES_H

#include <stddef.h>

struct remedy_row {
	const char *layer; /* the layer whose set-up failed, "namespaces" for clone(2), or
			    * "" for a resource limit of the caller, which any layer can hit */
	int error;         /* errno; 0 for every other */
	const char *text;
};

/* Sorted by layer; within a layer the row with error 0 comes last. */
extern const struct remedy_row remedy_rows[];
extern const size_t remedy_rows_count;

/* The text of the first matching row, or NULL. */
const char *remedy_for(const char *layer, int error);

/* Only of rows with this error, not of those with error 0. */
const char *remedy_for_error(const char *layer, int error);

/* For a limit that any layer can hit: descriptors, memory, disk quota. */
const char *remedy_for_limit(int error);

#endif
