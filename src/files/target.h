/* Where the target of a symbolic link leads on the host.
 *
 * A link that a file tool makes is followed by programs outside as well, and there the
 * same words may lead elsewhere: HOME and /tmp are others, and the workspace may have
 * another path.  So the target is resolved twice, through the view (place.h) and here.
 *
 * Should:   give the path that the host's kernel would arrive at, links included.
 * Must not: open anything but by O_PATH; follow a magic link of procfs.
 * Fails:    closed, with -errno: ".." behind a name that does not exist is refused,
 *           because a link of that name, made later, would lead it anywhere. */
#ifndef CORRAL_FILES_TARGET_H
#define CORRAL_FILES_TARGET_H

#include <limits.h>

/* `dir`: O_PATH of the directory that holds the link.  What does not exist is the rest of
 * the path as it is written.  0, or -errno. */
int target_on_host(int dir, const char *words, char ret[PATH_MAX]);

#endif
