/* SPDX-License-Identifier: Apache-2.0 */
/* The caller's git settings that git in the sandbox uses too (data/gitsafe.h).
 *
 * The caller's files themselves are not shown: they may contain tokens and names of programs. */
#ifndef CORRAL_PLAN_GIT_SETTINGS_H
#define CORRAL_PLAN_GIT_SETTINGS_H

#include "base/buf.h"

#include <limits.h>

/* A longer value is left out, and an entry that would make the whole longer. */
#define GITSETTING_MAX 1024
#define GITSETTINGS_MAX ((size_t)64 * 1024)
/* A longer list of ignored names is left out. */
#define GITIGNORE_MAX ((size_t)64 * 1024)

struct gitsettings {
	struct buf text;         /* entries, in the form of a configuration file */
	char excludes[PATH_MAX]; /* core.excludesFile as written; "" without */
};

/* Copies the settings of a configuration file; called for the files in git's order. */
void git_settings_read(struct gitsettings *s, const char *text);

#endif
