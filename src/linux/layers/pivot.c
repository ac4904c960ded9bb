/* SPDX-License-Identifier: Apache-2.0 */
/* Pivots into the new root that mounts.c has built.
 *
 * Should:   end with the old root unmounted, and with the working directory in the new one.
 * Must not: run before the last layer that opens a file of the host by its path.
 * Fails:    closed: the run does not start in the old root. */
#include "linux/layer.h"

#include <sys/mount.h>
#include <sys/syscall.h>

static int pivot_enter(struct kit *k, struct err *e) {
	if (fchdir(k->root_fd) != 0 || syscall(SYS_pivot_root, ".", ".") != 0) {
		return err_host(e, ERR_NO_NAMESPACES, "pivot", "cannot change the root");
	}
	/* The old root is now mounted on top of the new one. */
	if (umount2(".", MNT_DETACH) != 0 || chdir("/") != 0) {
		return err_sys(e, "pivot", "cannot leave the old root");
	}
	kit_leave_fd(k, k->root_fd);
	return 0;
}

const struct layer layer_pivot = {.name = "pivot", .namespaces = true, .enter = pivot_enter};
