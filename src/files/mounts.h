/* SPDX-License-Identifier: Apache-2.0 */
/* Looks up paths in the plan's mounts, without pins: a pin shows the same file as before. */
#ifndef CORRAL_FILES_MOUNTS_H
#define CORRAL_FILES_MOUNTS_H

#include "plan/plan.h"

/* The mount whose target is exactly this path; NULL. */
const struct mount *mount_exactly(const struct plan *plan, const char *path);

/* Whether a mount has its target beneath this path. */
bool mounts_beneath(const struct plan *plan, const char *path);

/* Whether it shows files of the host: a bind mount or a copy-on-write overlay. */
bool mount_is_tree(const struct mount *m);

/* path beneath dir, without the slash between: "" for dir itself. */
const char *mount_path_rest(const char *path, const char *dir);

/* dir/rest; 0 or -ENAMETOOLONG. */
int mount_path_put(char *out, size_t cap, const char *dir, const char *rest);

#endif
