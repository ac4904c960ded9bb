/* What was learnt about this host at the last run: that namespaces cannot be set
 * up, although the kernel begins to make them.
 *
 * A security module or a container lets the set-up begin and fail in its middle;
 * that costs every run a millisecond or two.  Success is never remembered: the run
 * itself is the probe.
 *
 * Should:   remember for one boot, and for processes in the same surroundings.
 * Must not: outlive a change of what may have been the cause: a kernel setting, a
 *           security label, a filter, a capability, a container around us.
 * Fails:    open: without memory the set-up is tried again, and falls back again. */
#ifndef CORRAL_LINUX_USERNS_CACHE_H
#define CORRAL_LINUX_USERNS_CACHE_H

#include "base/arena.h"
#include "plan/host.h"

/* Why namespaces cannot be set up, as it was found; NULL when nothing is known. */
const char *userns_cache_find(struct arena *a, const struct host *h);

void userns_cache_keep(const struct host *h, const char *why);

/* For who has just seen that they can be. */
void userns_cache_drop(const struct host *h);

#endif
