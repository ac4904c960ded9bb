/* SPDX-License-Identifier: Apache-2.0 */
/* Caches that namespaces cannot be set up on this host, although clone(2) creates them.
 *
 * An LSM or a container can let the set-up begin and then refuse a step; that costs every run
 * a millisecond or two.  Success is never cached: the run itself is the probe.
 *
 * Should:   hold for one boot, and for processes in the same environment.
 * Must not: outlive a change of a possible cause: a sysctl, an LSM label, a seccomp filter, a
 *           capability, a container.
 * Fails:    open: without an entry the set-up is tried again, and falls back again. */
#ifndef CORRAL_BACKEND_USERNS_CACHE_H
#define CORRAL_BACKEND_USERNS_CACHE_H

#include "base/arena.h"
#include "plan/host.h"

/* The cached reason why namespaces cannot be set up; NULL without an entry.  *ret_proc: they can,
 * but without a procfs of their own. */
const char *userns_cache_find(struct arena *a, const struct host *h, bool *ret_proc);

void userns_cache_keep(const struct host *h, bool proc, const char *why);

/* Removes the entry, after a successful set-up. */
void userns_cache_drop(const struct host *h);

#endif
