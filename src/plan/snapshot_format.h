/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a snapshot file that its writer and its reader share. */
#ifndef CORRAL_PLAN_SNAPSHOT_FORMAT_H
#define CORRAL_PLAN_SNAPSHOT_FORMAT_H

#include "plan/host.h"

#define SNAPSHOT_KINDS 6
#define SNAPSHOT_CGROUPS 3

static const char *const snapshot_kinds[SNAPSHOT_KINDS] = {
	[LOOK_NOTHING] = "nothing", [LOOK_FILE] = "file",     [LOOK_DIR] = "dir",
	[LOOK_LINK] = "link",       [LOOK_SOCKET] = "socket", [LOOK_OTHER] = "other",
};

/* The mode of an entry without "mode". */
static const uint32_t snapshot_modes[SNAPSHOT_KINDS] = {
	[LOOK_FILE] = 0644,   [LOOK_DIR] = 0755,   [LOOK_LINK] = 0777,
	[LOOK_SOCKET] = 0666, [LOOK_OTHER] = 0666,
};

static const char *const snapshot_cgroups[SNAPSHOT_CGROUPS] = {
	[CGROUP_NONE] = "none",
	[CGROUP_V1] = "v1",
	[CGROUP_V2] = "v2",
};

#endif
