/* SPDX-License-Identifier: Apache-2.0 */
/* The cgroup of one run: memory, processes and processor time.
 *
 * Should:   create the group before the child, so that the child starts in it;
 *           report OOM kills; leave no directory behind.
 * Must not: change a group that it did not create, except to enable controllers for it.
 * Fails:    closed: a limit that cannot be written stops the run. */
#ifndef CORRAL_LINUX_CGROUP_H
#define CORRAL_LINUX_CGROUP_H

#include "base/err.h"
#include "plan/plan.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct cgroup;
struct usage;

/* Finds the cgroups that this process may use, for host->cgroup.  Never fails: ret->why has the
 * reason if there is none. */
void cgroup_probe(struct host_cgroup *ret);

/* Creates the group with the plan's limits; removes empty groups of killed runs. */
int cgroup_new(const struct plan *plan, const struct host_cgroup *host, struct cgroup **ret,
	       struct err *e);

/* v2: a descriptor for CLONE_INTO_CGROUP; v1: -1, and the child joins by
 * cgroup_join_fds(): descriptors of files to which it writes "0".  `always`: also for v2,
 * because the child was not created by clone3(). */
int cgroup_fd(const struct cgroup *c);
size_t cgroup_join_fds(const struct cgroup *c, bool always, const int **ret);

/* The OOM kills so far; 0 without a limit of memory. */
int64_t cgroup_oom_kills(const struct cgroup *c);

/* Reads OOM kills and peak usage into *u. */
void cgroup_usage(const struct cgroup *c, struct usage *u);

/* Names the group, for a process that becomes its owner; the other one then calls
 * cgroup_forget(), which leaves the directories. */
struct cgroup_image {
	uint32_t kind, ngroups;
	struct {
		char path[HOST_CGROUP_PATH + 64];
		bool has[3];
	} groups[3];
};
void cgroup_describe(const struct cgroup *c, struct cgroup_image *ret);
/* NULL on failure, and for an image without a group. */
struct cgroup *cgroup_adopt(const struct cgroup_image *i);
void cgroup_forget(struct cgroup *c);

/* Kills the remaining processes, removes the directories, frees.  NULL is fine. */
void cgroup_free(struct cgroup *c);

#endif
