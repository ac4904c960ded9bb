/* One control group for one run: memory, processes and processor time.
 *
 * Should:   make the group before the child exists, so that it is born inside;
 *           say why the kernel killed; leave no directory behind.
 * Must not: touch a group it did not make, but to hand controllers down to ours.
 * Fails:    closed: a limit that cannot be written stops the run. */
#ifndef CORRAL_LINUX_CGROUP_H
#define CORRAL_LINUX_CGROUP_H

#include "base/err.h"
#include "plan/plan.h"

#include <sys/types.h>

struct cgroup;
struct usage;

/* What this process may use, into host->cgroup.  Never fails: reports why. */
void cgroup_probe(struct host_cgroup *ret);

/* Makes the group with the plan's limits; sweeps empty groups of dead runs. */
int cgroup_new(const struct plan *plan, const struct host_cgroup *host, struct cgroup **ret,
	       struct err *e);

/* v2: a descriptor for CLONE_INTO_CGROUP; v1: -1, and the child joins by
 * cgroup_join_fds(): descriptors of files to which it writes "0".  `always`: v2
 * too, because the child was not made by clone3(). */
int cgroup_fd(const struct cgroup *c);
size_t cgroup_join_fds(const struct cgroup *c, bool always, const int **ret);

/* Reads oom and peak figures into *u. */
void cgroup_usage(const struct cgroup *c, struct usage *u);

/* Kills what is left, removes the directories, frees.  NULL is fine. */
void cgroup_free(struct cgroup *c);

#endif
