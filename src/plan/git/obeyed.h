/* What git's settings of the caller, and of the host, name for every repository: directories
 * of hooks, and files with further settings.  They may lie in a workspace. */
#ifndef CORRAL_PLAN_GIT_OBEYED_H
#define CORRAL_PLAN_GIT_OBEYED_H

#include "base/arena.h"

#include <stdbool.h>

/* More than this of either are not protected, and that is told. */
#define GITOBEYED_MAX 16

struct git_obeyed {
	const char
		*hooks[GITOBEYED_MAX]; /* core.hooksPath, as written; every value that may hold */
	size_t nhooks;
	const char *files[GITOBEYED_MAX]; /* that git reads, absolute; included ones among them */
	bool linked[GITOBEYED_MAX];       /* the path goes through a symlink */
	size_t nfiles;
	bool more;
};

/* One that git reads, be it there or not. */
void git_obeyed_add(struct git_obeyed *o, const char *path);

/* Takes what the text of the file at `path` says; files that it includes are added.  Conditions of
 * an include are not judged: what may be obeyed is. */
void git_obeyed_read(struct git_obeyed *o, struct arena *a, const char *home, const char *path,
		     const char *text);

#endif
