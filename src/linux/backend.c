/* SPDX-License-Identifier: Apache-2.0 */
/* The row of the Linux kernel in the table of backends.
 *
 * Should:   collect only the facts that a plan of this policy depends on: each costs system calls.
 * Must not: decide how a plan uses a fact.
 * Fails:    closed: without a directory for a run that may need one. */
#include "backend/backend.h"

#include "backend/probe.h"
#include "linux/spawn.h"
#include "plan/limits.h"

static int linux_probe(struct arena *a, const struct policy *p, struct host *h, struct err *e) {
	probe_broker(h);
	if (plan_may_lack_namespaces(p, h) && probe_without_namespaces(a, h, e) != 0) {
		return -1;
	}
	if (plan_wants_groups(p, h)) {
		probe_cgroups(h);
		if (plan_wants_scope(p)) {
			probe_scope(h);
		}
	}
	if (plan_wants_samples(p, h)) {
		probe_sampling(h);
	}
	return 0;
}

static void linux_describe(const struct policy *p, const struct host *h, struct buf *out) {
	(void)p;
	buf_printf(out, "namespaces%s, Landlock%s, seccomp%s of this kernel",
		   h->userns ? "" : " (refused)", h->landlock_abi > 0 ? "" : " (none)",
		   h->seccomp ? "" : " (none)");
}

const struct backend backend_linux = {
	.name = "linux",
	.sessions = true,
	.early = true,
	.probe = linux_probe,
	.prepare = plan_build,
	.spawn = spawn_start,
	.supervise = spawn_read,
	.finish = spawn_finish,
	.describe = linux_describe,
};
