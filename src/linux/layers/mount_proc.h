/* SPDX-License-Identifier: Apache-2.0 */
/* Lets a nested sandbox mount a procfs of its own. */
#ifndef CORRAL_LINUX_LAYERS_MOUNT_PROC_H
#define CORRAL_LINUX_LAYERS_MOUNT_PROC_H

#include <stdint.h>

/* 0, or -1 with errno.  root: the new root, still writable. */
int mount_proc_whole(int root);

/* The caller's procfs, detached, with the mounts that hide parts of it; -1 with errno. */
int mount_proc_callers(uint64_t attributes);

#endif
