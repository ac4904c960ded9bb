/* SPDX-License-Identifier: Apache-2.0 */
/* The set of mount points that the runs of one private home have in common. */
#ifndef CORRAL_LINUX_HOME_SET_H
#define CORRAL_LINUX_HOME_SET_H

#include <stdbool.h>

/* Takes a shared lock on the home's parent directory, which is not locked.  set: plan->home_set.
 * Removes the mount points of another set, if no run uses the home.  False, without a lock: runs
 * with another set use it. */
bool home_set_join(int dir, const char *set);

#endif
