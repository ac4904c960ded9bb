/* SPDX-License-Identifier: Apache-2.0 */
/* Submodules of the workspace's repository, for git inside. */
#ifndef CORRAL_PLAN_GIT_SUBMODULES_H
#define CORRAL_PLAN_GIT_SUBMODULES_H

#include "plan/internal.h"

/* More than a repository has; the rest is left out. */
#define SUBMODULES_MAX 96

struct submodule_settings {
	const char *text; /* a file of git's settings */
	const char *dir;  /* of the repository for which they hold, as git inside finds it */
};

/* False when there is nothing to set. */
bool submodules_settings(struct builder *b, struct submodule_settings *ret);

/* The names in the repository's .gitmodules; how many. */
size_t submodules_list(struct builder *b, const struct repository *r,
		       const char *ret_names[SUBMODULES_MAX]);

#endif
