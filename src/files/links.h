/* SPDX-License-Identifier: Apache-2.0 */
/* Refuses a file if another hard link of it has a denied name.
 *
 * A pattern denies a name, but the file may have other hard links.  For commands the broker
 * refuses such a file (linux/broker/hardlinks.c), for tools this module does, with the same
 * rule: it searches the granted trees for a denied name of the file.
 *
 * Should:   find a denied name of a file within the granted trees, at any depth.
 * Must not: follow a symlink, leave the plan's mounts, or take time without a bound; a file
 *           with one link, or a policy without such patterns, costs nothing.
 * Fails:    closed: after an incomplete search the file counts as denied. */
#ifndef CORRAL_FILES_LINKS_H
#define CORRAL_FILES_LINKS_H

#include "files/place.h"

enum links_answer { LINKS_FREE, LINKS_DENIED, LINKS_UNKNOWN };

/* For a regular file with a name that is not denied. */
enum links_answer links_of(const struct lens *v, const struct place *p);

#endif
