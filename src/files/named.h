/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the entry that a path names, for the tools that create, move and remove names.
 *
 * These tools act on a name in a directory.  access.h judges a path.  So the directory is held by a
 * descriptor, and both must belong together: dir has the path of the entry's parent, and `name` in
 * it is the file that the place holds. */
#ifndef CORRAL_FILES_NAMED_H
#define CORRAL_FILES_NAMED_H

#include "files/place.h"

/* place_find() without following a symlink that is the last component, also before trailing
 * slashes.  how: WALK_PARENTS or 0.  -1 with *e for a path that ends with "." or "..", and for a
 * file or symlink with a slash behind it. */
int named_find(const struct lens *v, const char *path, unsigned how, struct place *ret,
	       struct err *e);

/* Whether dir and name still are those of the place; true for a place without a directory. */
bool named_holds(const struct place *p);

/* -1 with *e: it changed since named_find(). */
int named_changed(const char *path, struct err *e);

#endif
