/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out which cgroups and controllers this process may use.
 *
 * Should:   need only a few reads of small files.
 * Must not: write anything (Q1).
 * Fails:    never: `why` has the reason of a missing controller. */
#include "linux/cgroup.h"

#include "base/auto.h"
#include "base/str.h"
#include "linux/cgroup_files.h"

#include <fcntl.h>
#include <stdio.h>

#define CGROUP_MOUNT_HYBRID "/sys/fs/cgroup/unified"

#define WHY_NO_MOUNT "no cgroup file system is mounted at " CGROUP_MOUNT
#define WHY_HIDDEN "the cgroup of this process is not visible under " CGROUP_MOUNT
#define WHY_NOT_OURS "this user has no write access to the cgroup of this process"
#define WHY_PARTIAL                                                                                \
	"not every cgroup controller is delegated to this user "                                   \
	"(systemd: Delegate=yes); missing: memory, pids or cpu"
#define WHY_V1 "this host has cgroup v1, and only root can create memory, pids and cpu cgroups"

static bool writable(int dir, const char *path) {
	return faccessat(dir, path, W_OK, AT_EACCESS) == 0;
}

/* The controllers that a new group beneath dir can have.  A group with processes cannot enable
 * controllers for its children, unless it is the root cgroup, which has no cgroup.type. */
static void usable_beneath(int dir, bool ret[CONTROLLERS]) {
	char given[256] = "", available[256] = "", procs[16] = "";

	(void)read_head(dir, "cgroup.subtree_control", given, sizeof given); /* "": none */
	(void)read_head(dir, "cgroup.controllers", available, sizeof available);
	bool may_add = writable(dir, "cgroup.subtree_control") &&
		       (faccessat(dir, "cgroup.type", F_OK, 0) != 0 ||
			(read_head(dir, "cgroup.procs", procs, sizeof procs) && procs[0] == '\0'));
	for (int i = 0; i < CONTROLLERS; i++) {
		ret[i] = has_word(given, controller_names[i]) ||
			 (may_add && has_word(available, controller_names[i]));
	}
}

static void take_controllers(struct host_cgroup *ret, const bool has[CONTROLLERS]) {
	ret->memory = has[MEMORY];
	ret->pids = has[PIDS];
	ret->cpu = has[CPU];
}

static int count_controllers(const struct host_cgroup *h) {
	return h->memory + h->pids + h->cpu;
}

/* v2: the nearest group at or above our own that we may write and that offers its children
 * the most controllers.  Moving a process needs write access to cgroup.procs of the common
 * ancestor, which is that group. */
static void probe_v2(const char *mount, const char *own, struct host_cgroup *ret) {
	char path[sizeof ret->dir[0]];
	int len = snprintf(path, sizeof path, "%s%s", mount, own);

	if (len < 0 || (size_t)len >= sizeof path || access(path, F_OK) != 0) {
		ret->why = WHY_HIDDEN;
		return;
	}
	ret->why = WHY_NOT_OURS;
	for (;;) {
		auto_fd dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (dir >= 0 && writable(dir, ".") && writable(dir, "cgroup.procs")) {
			struct host_cgroup here = {.kind = CGROUP_V2, .why = WHY_PARTIAL};
			bool has[CONTROLLERS];
			usable_beneath(dir, has);
			take_controllers(&here, has);
			(void)snprintf(here.dir[0], sizeof here.dir[0], "%s", path);
			if (count_controllers(&here) > count_controllers(ret)) {
				*ret = here;
			} else if (ret->kind == CGROUP_NONE) {
				ret->why = WHY_PARTIAL;
			}
		}
		if (count_controllers(ret) == CONTROLLERS || strlen(path) == strlen(mount)) {
			break;
		}
		*strrchr(path, '/') = '\0';
	}
	if (count_controllers(ret) == CONTROLLERS) {
		ret->why = NULL;
	}
}

/* v1: our own group of each controller's hierarchy.  False without such a hierarchy. */
static bool probe_v1(const char *self, struct host_cgroup *ret) {
	bool has[CONTROLLERS] = {false};
	bool any = false;

	for (int i = 0; i < CONTROLLERS; i++) {
		char mount[64], own[sizeof ret->dir[0]];
		(void)snprintf(mount, sizeof mount, CGROUP_MOUNT "/%s", controller_names[i]);
		if (!own_group(self, controller_names[i], own, sizeof own) ||
		    !mounted(mount, CGROUP_SUPER_MAGIC)) {
			continue;
		}
		any = true;
		int len = snprintf(ret->dir[i], sizeof ret->dir[i], "%s%s", mount, own);
		has[i] = len > 0 && (size_t)len < sizeof ret->dir[i] &&
			 writable(AT_FDCWD, ret->dir[i]);
	}
	take_controllers(ret, has);
	if (count_controllers(ret) > 0) {
		ret->kind = CGROUP_V1;
	}
	if (any) {
		ret->why = count_controllers(ret) == CONTROLLERS ? NULL : WHY_V1;
	}
	return any;
}

void cgroup_probe(struct host_cgroup *ret) {
	char self[4096], own[sizeof ret->dir[0]];

	*ret = (struct host_cgroup){.kind = CGROUP_NONE, .why = WHY_NO_MOUNT};
	if (!read_head(AT_FDCWD, "/proc/self/cgroup", self, sizeof self)) {
		ret->why = "cannot read /proc/self/cgroup";
		return;
	}
	bool unified = mounted(CGROUP_MOUNT, CGROUP2_SUPER_MAGIC);
	/* On a hybrid host v1 has the controllers. */
	if (!unified && probe_v1(self, ret)) {
		return;
	}
	const char *mount = unified ? CGROUP_MOUNT : CGROUP_MOUNT_HYBRID;
	if (!unified && !mounted(mount, CGROUP2_SUPER_MAGIC)) {
		return;
	}
	if (own_group(self, NULL, own, sizeof own)) {
		probe_v2(mount, own, ret);
	} else {
		ret->why = WHY_HIDDEN;
	}
}
