/* SPDX-License-Identifier: Apache-2.0 */
/* The kind of a directory entry, for the probes that fill struct look (plan/host.h). */
#ifndef CORRAL_PLAN_LOOK_KIND_H
#define CORRAL_PLAN_LOOK_KIND_H

#include "plan/host.h"

#include <sys/stat.h>

/* st_mode of an entry that exists. */
static inline enum look_kind look_kind(mode_t mode) {
	switch (mode & S_IFMT) {
	case S_IFREG:
		return LOOK_FILE;
	case S_IFDIR:
		return LOOK_DIR;
	case S_IFLNK:
		return LOOK_LINK;
	case S_IFSOCK:
		return LOOK_SOCKET;
	default:
		return LOOK_OTHER;
	}
}

#endif
