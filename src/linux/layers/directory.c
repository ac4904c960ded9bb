/* Where the command starts, and with which file mode mask.
 *
 * Should:   enter the working directory inside the new view, by its own path.
 * Must not: run before mounts.c: a directory of the old view would be a door
 *           back to the host.
 * Fails:    closed: a missing directory stops the run. */
#include "linux/layer.h"

#include <sys/stat.h>
#include <unistd.h>

static int directory_enter(struct kit *k, struct err *e) {
	if (chdir(k->plan->cwd) != 0) {
		return err_sys_at(e, "directory", "cannot start in", k->plan->cwd);
	}
	if (plan_lacks_namespaces(k->plan)) {
		k->umask = umask(0); /* mounts.c has found it otherwise */
	}
	/* As strict as the caller's, and never so loose that others may write. */
	(void)umask(k->umask | 022);
	return 0;
}

const struct layer layer_directory = {.name = "directory", .enter = directory_enter};
