/* The caller's settings of git that hold inside (data/gitsafe.h).
 *
 * The caller's files are not shown inside: they may hold tokens and names of programs. */
#ifndef CORRAL_PLAN_GIT_SETTINGS_H
#define CORRAL_PLAN_GIT_SETTINGS_H

#include "base/buf.h"

#include <limits.h>

/* A longer value is left out, and what would make the whole longer. */
#define GITSETTING_MAX 1024
#define GITSETTINGS_MAX ((size_t)64 * 1024)
/* A longer list of ignored names is left out. */
#define GITIGNORE_MAX ((size_t)64 * 1024)

struct gitsettings {
	struct buf text;         /* entries, in the form of a configuration file */
	char excludes[PATH_MAX]; /* core.excludesFile as written; "" without */
};

/* Takes what a configuration file says; later files come behind. */
void git_settings_read(struct gitsettings *s, const char *text);

#endif
