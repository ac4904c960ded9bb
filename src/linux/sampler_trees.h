/* SPDX-License-Identifier: Apache-2.0 */
/* A sampled limit in a session: the sampler kills the tree of one command, and the session goes on.
 *
 * Theory.  The commands of a session share its limits.  Above a limit the sampler kills the tree
 * that has the largest part, as the kernel's OOM killer would: the processes below one leader
 * (linux/warm.h).  It kills them itself: the way over the supervisor and pid 1 would be longer, and
 * memory grows meanwhile.  It repeats that with each sample until the leader has ended.
 *
 * The leaders' pids are those of the sandbox: in a pid namespace NSpid of /proc/PID/status maps
 * them, for the children of pid 1 alone, because a command may have a pid namespace of its own.
 *
 * Invariants:
 *  - the sampler writes the reason before it kills, so a result never lacks it;
 *  - a signal goes to a pidfd that was opened before the process was found below the leader, so it
 *    reaches no process of another command or of the host;
 *  - a session that stays above its limit for TREES_GRACE_MS ends. */
#ifndef CORRAL_LINUX_SAMPLER_TREES_H
#define CORRAL_LINUX_SAMPLER_TREES_H

#include "backend/backend.h"
#include "linux/census.h"

#include <stdbool.h>
#include <stdint.h>

struct warm_state;

/* A killed process with much memory takes some time to free it, on a busy machine seconds. */
#define TREES_GRACE_MS 5000

struct sampler_trees {
	struct warm_state *warm; /* NULL: this is no session */
	bool namespaces;         /* the leaders are children of pid 1 of a pid namespace */
	uint64_t doomed;         /* the command whose tree is being killed; 0: none */
	int64_t since;           /* its first attempt */
	uint32_t noverruns;      /* so far */
};

/* The session is above a limit; census_take() has just listed it.  False: no tree is left that
 * could be killed, or killing did not help, and the session has to end. */
bool sampler_trees_kill(struct sampler_trees *t, struct census *c, enum overrun limit,
			int64_t value);

/* The session is below its limits: kills the rest of a tree that is being killed. */
void sampler_trees_rest(struct sampler_trees *t, struct census *c);

#endif
