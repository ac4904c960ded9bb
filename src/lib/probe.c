/* SPDX-License-Identifier: Apache-2.0 */
/* corral_probe(): the kernel features of this host, and the level that a run gets.
 *
 * Should:   report a level that a trial set-up of a run has reached.
 * Must not: read a policy file: the host alone decides.
 * Fails:    with an error; a host without a sandbox is level none, not an error. */
#include "lib/internal.h"

#include "lib/sized.h"

#include <stdio.h>

/* With built-in values only.  prepared_plan() sets a sandbox up, so the level is the one that a
 * run gets. */
static int probe_with(const struct corral_policy *policy, struct prepared *p,
		      struct corral_probe *probe, struct err *e) {
	if (prepared_plan(policy, false, p, e) != 0) {
		return -1;
	}
	const struct host *host = &p->host;
	probe->landlock_abi = host->landlock_abi;
	probe->user_namespaces = host->userns;
	probe->seccomp = host->seccomp;
	/* Truncation is acceptable in a message. */
	(void)snprintf(probe->userns_why, sizeof probe->userns_why, "%s",
		       host->userns || host->userns_why == NULL ? "" : host->userns_why);
	(void)snprintf(probe->level, sizeof probe->level, "%s", plan_level_name(p->plan.level));
	return 0;
}

/* Accepts every level, also none. */
static int probe_any_level(struct prepared *p, struct corral_probe *probe, struct err *e) {
	struct corral_policy *policy = corral_policy_new();
	if (policy == NULL) {
		return err_memory(e, "library");
	}
	corral_policy_no_config(policy);
	int rc =
		corral_policy_set(policy, "min_level", "none", NULL) == 0 &&
				corral_policy_set(policy, "accept_no_sandbox", "true", NULL) == 0 &&
				corral_policy_set(policy, "any_workspace", "true", NULL) == 0
			? probe_with(policy, p, probe, e)
			: err_memory(e, "library");
	corral_policy_free(policy);
	return rc;
}

int corral_probe(struct corral_probe *probe, struct corral_error *err) {
	struct corral_probe known = {0};
	struct prepared p = {0};
	struct err e = {0};

	if (lib_need(probe, "the place for the probe", err) != 0) {
		return -1;
	}
	int rc = sized_check(&sized_probe, probe, &e) == 0 && probe_any_level(&p, &known, &e) == 0
			 ? sized_out(&sized_probe, &known, probe, &e)
			 : -1;
	arena_done(&p.arena);
	return rc == 0 ? 0 : lib_fail(&e, err);
}
