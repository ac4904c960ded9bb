/* SPDX-License-Identifier: Apache-2.0 */
/* Assigns each limit of the policy to a mechanism of this host. */
#ifndef CORRAL_PLAN_LIMITS_H
#define CORRAL_PLAN_LIMITS_H

#include "plan/plan.h"

/* `why` of an absent guarantee starts with this when the policy sets no limit; an option follows.
 */
#define LIMIT_UNSET "no limit is set"

/* Fills the limits of the plan and the six guarantees limits.*.  plan->engine must be set
 * already: RLIMIT_NPROC counts other processes outside a user namespace.  memory_bytes, cpu_millis
 * and max_processes are set only when a cgroup will enforce them. */
int plan_limits(struct plan *plan, const struct policy *p, const struct host *h, struct err *e);

/* True when the plan for this policy depends on host->sampling_why; host->cgroup is known. */
bool plan_wants_samples(const struct policy *p, const struct host *h);

/* True when the run may have no namespaces: the level needs none, or the host cannot create them.
 * Then the plan depends on host->run_dir. */
bool plan_may_lack_namespaces(const struct policy *p, const struct host *h);

/* True when the plan for this policy depends on host->cgroup. */
bool plan_wants_groups(const struct policy *p, const struct host *h);

/* True when the policy sets a limit that needs a cgroup; without one Corral requests no scope. */
bool plan_wants_scope(const struct policy *p);

#endif
