/* SPDX-License-Identifier: Apache-2.0 */
/* Sets the command's working directory and umask.
 *
 * Should:   chdir to the working directory in the new root, by its path.
 * Must not: run before mounts.c: a working directory in the old root would be a way out of
 *           the mount namespace's root.
 * Fails:    closed: a missing directory stops the run. */
#include "linux/layer.h"

#include <sys/stat.h>
#include <unistd.h>

static int directory_enter(struct kit *k, struct err *e) {
	if (chdir(k->plan->cwd) != 0) {
		return err_sys_at(e, "directory", "cannot start in", k->plan->cwd);
	}
	if (plan_lacks_namespaces(k->plan)) {
		k->umask = umask(0); /* with namespaces mounts.c has read it */
	}
	/* At least as strict as the caller's, and no write permission for group and others. */
	k->umask |= 022;
	(void)umask(k->umask);
	return 0;
}

const struct layer layer_directory = {.name = "directory", .enter = directory_enter};
