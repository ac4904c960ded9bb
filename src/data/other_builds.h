/* SPDX-License-Identifier: Apache-2.0 */
/* The builds of Corral for other systems, and which part of them has not been run. */
#ifndef CORRAL_DATA_OTHER_BUILDS_H
#define CORRAL_DATA_OTHER_BUILDS_H

#include <stddef.h>

/* Said by `status`, by the result of every run there, and by the documents. */
#define NOT_RUN_MACOS "macOS: enforcement has not been run"
#define NOT_RUN_WINDOWS "Windows: enforcement has not been run"

struct other_build {
	const char *name; /* the word of --backend */
	const char *note; /* one line for `corral status` */
};

extern const struct other_build other_builds[];
extern const size_t other_builds_count;

#endif
