/* Mount points that a run needs in its private home, for what was granted there. */
#ifndef CORRAL_LINUX_MOUNT_POINTS_H
#define CORRAL_LINUX_MOUNT_POINTS_H

#include "plan/plan.h"

/* Makes the missing ones and records each.  dir is the directory that holds the home, with a
 * lock.  A point that cannot be made is left to the set-up of the mounts, which says why. */
void mount_points_make(const struct plan *plan, int dir);

/* Whether some are recorded. */
bool mount_points_left(int dir);

/* Removes those that are recorded and still empty.  No run may be using the home: the kernel
 * takes a mount away whose mount point is removed. */
void mount_points_sweep(int dir);

#endif
