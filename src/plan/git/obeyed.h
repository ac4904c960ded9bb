/* SPDX-License-Identifier: Apache-2.0 */
/* The hook directories and included files that the git configuration of the caller and of the host
 * names for every repository.  They may lie in a workspace. */
#ifndef CORRAL_PLAN_GIT_OBEYED_H
#define CORRAL_PLAN_GIT_OBEYED_H

#include "base/arena.h"

#include <stdbool.h>

/* More than this of either are not protected; `more` reports that. */
#define GITOBEYED_MAX 16

struct git_obeyed {
	const char *hooks[GITOBEYED_MAX]; /* core.hooksPath, as written */
	size_t nhooks;
	const char *files[GITOBEYED_MAX]; /* that git reads, included ones too; absolute */
	bool linked[GITOBEYED_MAX];       /* the path goes through a symlink */
	size_t nfiles;
	bool more;
};

/* Adds a file that git reads, whether it exists or not. */
void git_obeyed_add(struct git_obeyed *o, const char *path);

/* Collects from the text of the file at `path`; files that it includes are added.  The condition
 * of an includeIf is ignored: it may be true. */
void git_obeyed_read(struct git_obeyed *o, struct arena *a, const char *home, const char *path,
		     const char *text);

#endif
