/* SPDX-License-Identifier: Apache-2.0 */
/* The overlay of a copy-on-write workspace. */
#ifndef CORRAL_LINUX_LAYERS_MOUNT_COW_H
#define CORRAL_LINUX_LAYERS_MOUNT_COW_H

#include "linux/layer.h"

/* A detached overlay; from: the source of m, open.  -1 with *e. */
int mount_cow_new(const struct kit *k, const struct mount *m, int from, struct err *e);

#endif
