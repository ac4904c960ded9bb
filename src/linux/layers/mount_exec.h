/* SPDX-License-Identifier: Apache-2.0 */
/* The part of layer mounts that limits the programs that can be executed. */
#ifndef CORRAL_LINUX_LAYERS_MOUNT_EXEC_H
#define CORRAL_LINUX_LAYERS_MOUNT_EXEC_H

#include "base/err.h"
#include "plan/plan.h"

/* root: the new root, with all its mounts.  Does nothing where the plan limits no executables. */
int mount_exec_limit(const struct plan *plan, int root, struct err *e);

#endif
