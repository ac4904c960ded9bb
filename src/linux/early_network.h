/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the network namespace of a run while the first process mounts.
 *
 *   early process ──clone(VM|FILES|PARENT)──> network process ── unshare(net), lo up
 *                                                    │ the namespace's descriptor
 *   first process ── layers up to mounts ── join <───┘
 *
 * A network namespace takes longer than all others together.  So the early process (linux/early.h)
 * does not make it itself, but clones one more process like it, as soon as the user namespace is
 * there.  The network process sends the namespace over a socket pair and exits; layer network
 * receives it.  A socket pair, because the first process has its own table of descriptors before
 * the namespace is finished.
 *
 * If the kernel refuses the network process its namespace, the first process makes one.  If the
 * network process was killed, the supervisor, which reaps it, kills the first process.  That one
 * does not wait longer than the supervisor lives.
 *
 * linux/spawn.h has the invariant, E8. */
#ifndef CORRAL_LINUX_EARLY_NETWORK_H
#define CORRAL_LINUX_EARLY_NETWORK_H

#include <stdbool.h>
#include <sys/types.h>

/* In memory that both early processes share with the supervisor. */
struct early_network {
	pid_t pid; /* by CLONE_PARENT_SETTID; 0: there is none */
	pid_t parent;
	int up, down; /* the pair: of the network process, of the first process */
};

/* Supervisor, before it clones the early process.  0, or -1. */
int early_network_open(struct early_network *n);

/* Early process, in its user namespace.  0, or -errno. */
long early_network_clone(struct early_network *n, void *stack_end);

/* First process: enters the namespace, whose lo is up.  supervisor: its pidfd, or -1.  0, or
 * -errno: -EPIPE if the network process or the supervisor was killed, else the reason why there is
 * no namespace. */
long early_network_join(const struct early_network *n, int supervisor);

/* Supervisor, after the early process was reaped: waits for the network process's end, or kills it,
 * and closes the pair.  True: it was killed. */
bool early_network_end(struct early_network *n, bool kill);

/* Reaps one of them; true: it was killed.  SIGSTOP cannot be blocked: if another process of the
 * user stopped it, it is continued, because the supervisor waits here without a time-out. */
bool early_reap(pid_t pid);

#endif
