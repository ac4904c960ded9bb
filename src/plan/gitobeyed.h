/* What git's settings of the caller, and of the host, name for every repository: directories
 * of hooks, and files with further settings.  They may lie in a workspace. */
#ifndef CORRAL_PLAN_GITOBEYED_H
#define CORRAL_PLAN_GITOBEYED_H

#include "base/arena.h"

#include <stdbool.h>

/* More than this of either are not protected, and that is told. */
#define GITOBEYED_MAX 8

struct gitobeyed {
	const char
		*hooks[GITOBEYED_MAX]; /* core.hooksPath, as written; every value that may hold */
	size_t nhooks;
	const char *includes[GITOBEYED_MAX]; /* absolute */
	size_t nincludes;
	bool more;
};

/* Takes what the text of the file at `path` says.  Conditions of an include are not judged: what
 * may be obeyed is. */
void gitobeyed_read(struct gitobeyed *o, struct arena *a, const char *home, const char *path,
		    const char *text);

#endif
