/* SPDX-License-Identifier: Apache-2.0 */
/* Resolves the target of a symlink on the host.
 *
 * Programs outside the sandbox follow the symlinks of a file tool as well, and there the
 * same target may be another file: HOME and /tmp differ, and the workspace may have another
 * path.  So the target is resolved twice, through the plan's mounts (place.h) and here.
 *
 * Should:   return the path to which the host's kernel resolves the target.
 * Must not: open a file other than to hold it; follow a magic link of procfs.
 * Fails:    closed, with -errno: ".." after a name that does not exist is refused,
 *           because a symlink of that name, created later, could point anywhere. */
#ifndef CORRAL_FILES_TARGET_H
#define CORRAL_FILES_TARGET_H

#include <limits.h>

/* `dir`: holds the symlink's directory.  Names that do not exist are appended unchanged.
 * 0, or -errno. */
int target_on_host(int dir, const char *words, char ret[PATH_MAX]);

#endif
