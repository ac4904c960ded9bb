/* SPDX-License-Identifier: Apache-2.0 */
/* Looks up paths in the plan's mounts.
 *
 * Should:   ignore pins: a pin shows the same file as the mount below it.
 * Must not: touch the file system.
 * Fails:    with NULL where no mount is. */
#include "files/mounts.h"

#include "base/path.h"
#include "base/str.h"

#include <errno.h>
#include <stdio.h>

const struct mount *mount_exactly(const struct plan *plan, const char *path) {
	for (size_t i = 0; i < plan->nmounts; i++) {
		const struct mount *m = &plan->mounts[i];
		if (m->kind != MOUNT_PIN && streq(m->target, path)) {
			return m;
		}
	}
	return NULL;
}

bool mounts_beneath(const struct plan *plan, const char *path) {
	for (size_t i = 0; i < plan->nmounts; i++) {
		const struct mount *m = &plan->mounts[i];
		if (m->kind != MOUNT_PIN && !streq(m->target, path) &&
		    path_within(m->target, path)) {
			return true;
		}
	}
	return false;
}

bool mount_is_tree(const struct mount *m) {
	return m->kind == MOUNT_BIND || m->kind == MOUNT_COW;
}

const char *mount_path_rest(const char *path, const char *dir) {
	const char *rest = path_rest(path, dir);
	return rest + (*rest == '/');
}

int mount_path_put(char *out, size_t cap, const char *dir, const char *rest) {
	const char *head = streq(dir, "/") ? "" : dir;
	int n = snprintf(out, cap, "%s%s%s", head, rest[0] == '\0' && head[0] != '\0' ? "" : "/",
			 rest);
	return n < 0 || (size_t)n >= cap ? -ENAMETOOLONG : 0;
}
