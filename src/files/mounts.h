/* Questions to the plan's mounts, pins aside: a pin shows what was there before it. */
#ifndef CORRAL_FILES_MOUNTS_H
#define CORRAL_FILES_MOUNTS_H

#include "plan/plan.h"

/* The mount whose target is exactly this path; NULL. */
const struct mount *mount_exactly(const struct plan *plan, const char *path);

/* A mount lies beneath this path. */
bool mounts_beneath(const struct plan *plan, const char *path);

/* Files of the host, be their changes kept apart or not. */
bool mount_is_tree(const struct mount *m);

/* The mount that decides what is seen at a path; NULL in the bare root. */
const struct mount *mount_over(const struct plan *plan, const char *path);

/* path beneath dir, without the slash between: "" for dir itself. */
const char *mount_path_rest(const char *path, const char *dir);

/* dir/rest; 0 or -ENAMETOOLONG. */
int mount_path_put(char *out, size_t cap, const char *dir, const char *rest);

#endif
