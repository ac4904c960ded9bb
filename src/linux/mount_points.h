/* SPDX-License-Identifier: Apache-2.0 */
/* Mount points in the private home, for grants in HOME. */
#ifndef CORRAL_LINUX_MOUNT_POINTS_H
#define CORRAL_LINUX_MOUNT_POINTS_H

#include "plan/plan.h"

/* Creates the missing ones and records each.  dir is the home's parent directory, locked.  A
 * mount point that cannot be created is left to the set-up of the mounts, which reports why. */
void mount_points_make(const struct plan *plan, int dir);

/* Whether there are records. */
bool mount_points_left(int dir);

/* Removes the recorded ones that are still empty.  No run may use the home: the kernel removes
 * a mount with its mount point. */
void mount_points_sweep(int dir);

#endif
