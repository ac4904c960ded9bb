/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a built-in table of credentials names a path of the host, shown or not.
 *
 * Should:   read the same rows as masks.c, which hides these paths in the trees that are shown.
 * Must not: read the file system: the caller passes the path without symlinks as well.
 * Fails:    closed where a list is too long to compare: a path beneath its beginning matches. */
#include "plan/plan.h"

#include "base/path.h"
#include "base/str.h"
#include "data/paths.h"

#include <limits.h>
#include <stdio.h>

/* A variable that names the home, or a directory above it, hides nothing (masks.c). */
static bool in_list(const struct host *h, const char *list, const char *path) {
	char one[PATH_MAX];

	while (list != NULL && *list != '\0') {
		size_t len = strcspn(list, ":");
		int n = snprintf(one, sizeof one, "%.*s",
				 (int)(len < PATH_MAX ? len : PATH_MAX - 1), list);
		bool names = n > 1 && one[0] == '/' && path_depth(one) >= 2 &&
			     (h->home == NULL || !path_within(h->home, one));
		if (names && path_within(path, one)) {
			return true;
		}
		list += len + (list[len] == ':');
	}
	return false;
}

bool plan_is_credential(const struct host *h, const char *path) {
	for (size_t i = 0; i < sensitive_paths.count; i++) {
		if (path_within(path, sensitive_paths.rows[i].path)) {
			return true;
		}
	}
	if (path_credential(h->home, path) != NULL) {
		return true;
	}
	/* Before XDG_CONFIG_HOME, which names the directory of many programs. */
	if (path_is_harmless(h->home, path)) {
		return false;
	}
	for (size_t i = 0; i < credential_variables.count; i++) {
		const char *name = credential_variables.rows[i].path;
		if (in_list(h, plan_caller_variable(h, name), path)) {
			return true;
		}
	}
	return false;
}
