/* What the real host is and has.
 *
 * Should:   ask the kernel, not the distribution; cost microseconds.
 * Must not: change anything, or make a process.
 * Fails:    only when memory is out; what is missing is a fact, not a failure. */
#ifndef CORRAL_LINUX_PROBE_H
#define CORRAL_LINUX_PROBE_H

#include "base/arena.h"
#include "base/err.h"
#include "plan/host.h"

/* What every run needs to know. */
int probe_host(struct arena *a, struct host *ret, struct err *e);

/* Whether the filter may ask, and somebody can answer. */
void probe_broker(struct host *h);

/* What a plan without namespaces needs to know besides; memory is the arena's. */
int probe_without_namespaces(struct arena *a, struct host *h, struct err *e);

/* Whether the kernel makes a run's namespaces at all; what is set up in them may
 * still be refused.  Costs a process: for who has to know before a run tries. */
bool probe_makes_namespaces(struct err *ret_why);

/* What the plan needs when plan_wants_groups() says so. */
void probe_cgroups(struct host *h);

/* Where that found none, and plan_wants_scope() says so: a connection to this user's systemd. */
void probe_scope(struct host *h);

/* Both for a report: systemd makes a scope, and ends it. */
void probe_try_cgroups(struct arena *a, struct host *h);

/* Likewise plan_wants_samples(). */
void probe_sampling(struct host *h);

#endif
