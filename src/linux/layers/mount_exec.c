/* SPDX-License-Identifier: Apache-2.0 */
/* Makes all mounts of the new root noexec but the plan's executables.
 *
 * Should:   leave a file noexec that the host has on a noexec mount: the kernel locks that flag.
 * Must not: run before the mounts are complete: a later one would be executable.
 * Fails:    closed. */
#include "linux/layers/mount_exec.h"

#include "base/auto.h"
#include "linux/mount_api.h"

#include <errno.h>
#include <fcntl.h>

int mount_exec_limit(const struct plan *plan, int root, struct err *e) {
	if (!plan->exec_limited) {
		return 0;
	}
	if (mount_tree_restrict(root, MOUNT_ATTR_NOEXEC, AT_RECURSIVE) != 0) {
		return err_sys(e, "mounts", "cannot make the mounts noexec");
	}
	for (size_t i = 0; i < plan->nexecs; i++) {
		const struct exec_file *f = &plan->execs[i];
		auto_fd at = sys_openat2(root, f->path + 1, O_PATH | O_NOFOLLOW, BENEATH);
		bool locked = false;
		if (at >= 0 && mount_tree_set_exec(at, f->kind != EXEC_CLOSED) != 0) {
			locked = errno == EPERM && f->kind != EXEC_CLOSED;
			drop_fd(&at);
		}
		if (at < 0 && !locked && (errno != ENOENT || f->kind == EXEC_CLOSED)) {
			return err_sys_at(e, "mounts", "cannot set what can be executed:", f->path);
		}
	}
	return 0;
}
