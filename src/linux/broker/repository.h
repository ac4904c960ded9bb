/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps symlinks that lead out of a repository away from it (rules_lead_out()). */
#ifndef CORRAL_LINUX_BROKER_REPOSITORY_H
#define CORRAL_LINUX_BROKER_REPOSITORY_H

#include "linux/broker/resolve.h"

/* A symlink with that target, at this name: 0 or -EBUSY. */
int repository_lead(const struct call *c, const struct resolved *p, const char *target);

/* A directory that is renamed, or any entry that may be another one by the time of the rename: 0,
 * or -EXDEV, so that mv(1) copies it file by file. */
int repository_move(const struct call *c, const struct resolved *from, const struct resolved *to);

#endif
