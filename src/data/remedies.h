/* What lifts a refusal of the host: which setting, profile or flag. */
#ifndef CORRAL_DATA_REMEDIES_H
#define CORRAL_DATA_REMEDIES_H

#include <stddef.h>

struct remedy_row {
	const char *layer; /* the layer whose set-up was refused, "namespaces" for the clone, or
			    * "" for a limit of the caller's that any of them may meet */
	int error;         /* errno; 0 for every other */
	const char *text;
};

/* Sorted by layer; within one the row for every other error comes last. */
extern const struct remedy_row remedy_rows[];
extern const size_t remedy_rows_count;

/* The text of the first row that fits, or NULL. */
const char *remedy_for(const char *layer, int error);

/* Of the rows for that error alone. */
const char *remedy_for_error(const char *layer, int error);

/* The same for a limit that every layer may meet: descriptors, memory, disks. */
const char *remedy_for_limit(int error);

#endif
