/* SPDX-License-Identifier: Apache-2.0 */
/* Checks and removes a directory with everything beneath it. */
#ifndef CORRAL_FILES_REMOVE_H
#define CORRAL_FILES_REMOVE_H

#include "files/access.h"

/* Whether each entry beneath the directory may be moved or removed: 0, or -1 with *e, which begins
 * with `done` ("nothing was moved").  to_empty: also whether the caller may remove entries from
 * each directory. */
int remove_check_tree(const struct lens *v, const struct place *top, bool to_empty,
		      const char *done, struct err *e);

/* -1 with the error for a path that does not exist. */
int remove_missing(const char *path, struct err *e);

#endif
