/* SPDX-License-Identifier: Apache-2.0 */
/* Lets a nested sandbox mount a procfs of its own. */
#ifndef CORRAL_LINUX_LAYERS_MOUNT_PROC_H
#define CORRAL_LINUX_LAYERS_MOUNT_PROC_H

/* 0, or -1 with errno.  root: the new root, still writable. */
int mount_proc_whole(int root);

#endif
