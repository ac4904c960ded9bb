/* SPDX-License-Identifier: Apache-2.0 */
/* The entries that a run adds to the DACL of each path that it grants. */
#ifndef CORRAL_WINDOWS_GRANTS_H
#define CORRAL_WINDOWS_GRANTS_H

#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum grant_access { GRANT_READ, GRANT_WRITE };

struct path_grant {
	const char *path; /* absolute, with backslashes */
	bool directory;
	enum grant_access access;
};

/* An access-allowed entry: the mask and the inheritance flags as winnt.h numbers them. */
struct grant_entry {
	uint32_t mask;
	uint8_t flags;
};

#define GRANT_ENTRIES_MAX 2

/* The entries of a grant; returns their number. */
size_t grants_entries(const struct path_grant *g, struct grant_entry ret[GRANT_ENTRIES_MAX]);

/* Removes grants that another one includes: the same path, or one beneath it with no more access.
 * Returns the new number.  The order stays. */
size_t grants_reduce(struct path_grant *list, size_t n);

/* True when path is dir or lies beneath it.  Letters of ASCII are compared without case. */
bool grants_within(const char *path, const char *dir);

/* "C:\…" or "\\server\…", without "." and ".." as components. */
bool grants_is_absolute(const char *path);

#endif
