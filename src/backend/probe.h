/* SPDX-License-Identifier: Apache-2.0 */
/* Collects the facts about the host that the plan needs (struct host).
 *
 * Should:   query the kernel, not the distribution; cost microseconds.
 * Must not: change anything, or start a process.
 * Fails:    closed: without memory, a current directory or procfs; a missing feature is a
 *           fact, not a failure. */
#ifndef CORRAL_BACKEND_PROBE_H
#define CORRAL_BACKEND_PROBE_H

#include "base/arena.h"
#include "base/err.h"
#include "plan/host.h"

/* The facts that every run needs. */
int probe_host(struct arena *a, struct host *ret, struct err *e);

/* Whether seccomp user notification is available, and the broker can read the caller. */
void probe_broker(struct host *h);

/* run_id.c: the ids and the start time of this run. */
int run_id_probe(struct arena *a, struct host *h, struct err *e);

/* The additional facts for a plan without namespaces; the arena owns the memory. */
int probe_without_namespaces(struct arena *a, struct host *h, struct err *e);

/* Whether the kernel creates a run's namespaces; the set-up in them may still fail.  Costs a
 * process: for callers that must know before a run. */
bool probe_makes_namespaces(struct err *ret_why);

/* The cgroups, if plan_wants_groups() is true. */
void probe_cgroups(struct host *h);

/* Where that found none, and plan_wants_scope() says so: a connection to this user's systemd. */
void probe_scope(struct host *h);

/* Both for a report: systemd makes a scope, and ends it. */
void probe_try_cgroups(struct arena *a, struct host *h);

/* Whether sampling works, if plan_wants_samples() is true. */
void probe_sampling(struct host *h);

#endif
