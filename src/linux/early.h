/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the namespaces of a run while the supervisor resolves the policy and plans.
 *
 *   supervisor ──clone(VM|FILES)──> early process ── unshare(user, mount, ipc, uts)
 *       │ plans, prepares                 ├──clone(VM|FILES|PARENT)──> network process
 *       │                                 │ steps that no plan changes       │ unshare(net)
 *       └──── order: clone ──────────────>┴──clone3(PARENT|NEWPID|NEWCGROUP)─│─> pid 1
 *                                                                            └──────┴ joins
 *
 * Namespaces cost as much as a plan.  So a process that shares the supervisor's memory and
 * descriptors makes them on another processor meanwhile, and the network namespace, which takes
 * longest, is made while pid 1 mounts (linux/early_network.h).  When the plan is
 * ready, this process clones the sandbox's first process and exits.  The first process has a copy
 * of the supervisor's memory as it is then, and is its child, exactly as after a clone3() of the
 * supervisor.
 *
 * The kernel often puts a new process on the processor of its parent, where it would run after the
 * plan or delay it; so the CPU affinity mask of the early process moves it to another one.  If it
 * sleeps when the order comes, or has not run yet, the supervisor moves it to its own processor,
 * because it sleeps next itself and waking another processor takes long in a virtual machine.
 *
 * While it waits, the early process takes steps of layers that no plan changes and that a process
 * can take in these namespaces for the one that it clones: it resets the signal handlers, empties
 * the capability bounding set, and lowers the limits of layer quotas.  A host where /proc/sys is
 * read-only refuses the limits; then the layer decides.  Layers inherited and user are not among
 * them: part of what they change belongs to the memory, which is still the supervisor's.
 *
 * linux/spawn.h has the invariant, E8. */
#ifndef CORRAL_LINUX_EARLY_H
#define CORRAL_LINUX_EARLY_H

#include "backend/early.h"

#include <linux/sched.h>
#include <stdbool.h>

/* Beside the user and the network namespace. */
#define EARLY_SPACES (CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS)

/* In the first process: the early process has lowered the limits of layer quotas to those of a run
 * without --allow-nested.  Accepts NULL. */
bool early_has_quotas(const struct early *e);

/* In the first process: enters the network namespace, whose lo is up.  0, or -errno, as
 * early_network_join(). */
long early_join(const struct early *e, int supervisor);

/* Lets the early process clone the first process, with the flags and the cgroup of args, and reaps
 * it.  The pid, and *ret_pidfd.  0: it has no namespaces, and there is no first process.  -1 with
 * EOWNERDEAD: it was killed.  child(arg) runs in the first process and must not return. */
long early_clone(struct early *e, const struct clone_args *args, void (*child)(void *arg),
		 void *arg, int *ret_pidfd);

#endif
