/* SPDX-License-Identifier: Apache-2.0 */
/* A path that is being resolved component by component: the components that are left, and the
 * number of symlinks so far.
 *
 * The caller looks each component up in its own way: files/place.c in the plan's mounts, the broker
 * (linux/broker/walk.c) as the kernel would for another process, plan/snapshot.c in recorded files.
 * Text alone: no system call, no allocation. */
#ifndef CORRAL_BASE_PATH_CURSOR_H
#define CORRAL_BASE_PATH_CURSOR_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#define PATH_CURSOR_LINKS 40                    /* MAXSYMLINKS of the kernel */
#define PATH_CURSOR_REST ((size_t)2 * PATH_MAX) /* a symlink's target and the rest of the path */

struct path_cursor {
	char rest[PATH_CURSOR_REST]; /* the components that follow `name` */
	char name[NAME_MAX + 1];     /* the current component; "" before the first */
	bool last, slash;            /* no component follows the name; a slash follows it */
	int links;                   /* symlinks so far */
};

/* Starts at a path; 0 or -ENAMETOOLONG. */
int path_cursor_begin(struct path_cursor *c, const char *path);

/* Takes the next component from the rest: 1, 0 at the end, -ENAMETOOLONG. */
int path_cursor_next(struct path_cursor *c);

/* Whether the component is "." or "..". */
bool path_cursor_at_dots(const struct path_cursor *c);

/* Whether the component must be a directory: a component or a slash follows. */
bool path_cursor_needs_dir(const struct path_cursor *c);

/* Counts a symlink: 0, or -ELOOP if there were too many. */
int path_cursor_count_link(struct path_cursor *c);

/* Replaces the component, a symlink, by its target: 0, -ENOENT for an empty one, -ENAMETOOLONG.
 * If the target is absolute the caller continues at the root. */
int path_cursor_splice(struct path_cursor *c, const char *target);

/* Puts a path before the rest: 0, or -ENAMETOOLONG.  It must name a directory, even if nothing
 * follows. */
int path_cursor_prepend(struct path_cursor *c, const char *path);

#endif
