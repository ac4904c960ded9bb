/* SPDX-License-Identifier: Apache-2.0 */
/* mkdir -p for Corral's own state, private to the user. */
#ifndef CORRAL_BASE_DIRS_H
#define CORRAL_BASE_DIRS_H

#include <limits.h>

/* Creates path and every missing directory above it, mode 0700.  -1 with errno set and the
 * directory that could not be created in `failed`. */
int dirs_make(const char *path, char failed[PATH_MAX]);

/* The same for the directories above path. */
int dirs_make_parents(const char *path, char failed[PATH_MAX]);

#endif
