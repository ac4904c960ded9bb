/* SPDX-License-Identifier: Apache-2.0 */
/* Lets a nested sandbox mount a procfs of its own. */
#ifndef CORRAL_LINUX_LAYERS_MOUNT_PROC_H
#define CORRAL_LINUX_LAYERS_MOUNT_PROC_H

#include <stdbool.h>
#include <stdint.h>

/* 0, or -1 with errno.  root: the new root, still writable. */
int mount_proc_whole(int root);

/* The caller's procfs, detached, with the mounts that hide parts of it; -1 with errno. */
int mount_proc_callers(uint64_t attributes);

/* Whether the entry is the procfs's own.  systemd-nspawn covers some of its container's with files
 * that it then deletes: no mount can cover these, and the files beneath them cannot be reached.
 * True if that cannot be read. */
bool mount_proc_has(int entry);

#endif
