/* Denied files by another of their names (hard links made before).
 *
 * A pattern denies a name, and the file may have a second one.  A command is refused such
 * a file by the broker (linux/broker/hardlinks.c), a tool by this, with the same rule: the
 * granted trees are searched for a denied name of the file.
 *
 * Should:   find a denied name of a file within the granted trees, whatever its depth.
 * Must not: follow a link, leave the plan's mounts, or take time without a bound; a file
 *           with one name, or a policy without such patterns, costs nothing.
 * Fails:    closed: after a search that did not end the file counts as denied. */
#ifndef CORRAL_FILES_LINKS_H
#define CORRAL_FILES_LINKS_H

#include "files/place.h"

enum links_answer { LINKS_FREE, LINKS_DENIED, LINKS_UNKNOWN };

/* Of a regular file whose own name is not denied. */
enum links_answer links_of(const struct lens *v, const struct place *p);

#endif
