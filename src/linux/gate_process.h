/* SPDX-License-Identifier: Apache-2.0 */
/* Starts and ends the gate's process (src/gate), which makes the upstream connections of a
 * sandbox with a filtered network. */
#ifndef CORRAL_LINUX_GATE_PROCESS_H
#define CORRAL_LINUX_GATE_PROCESS_H

#include "base/err.h"
#include "gate/gate.h"
#include "backend/backend.h"
#include "linux/resolv_watch.h"
#include "plan/plan.h"

struct gate_process {
	int pidfd; /* of the gate; -1: there is none */
	/* Holds the lifeline: the gate exits at its end-of-file. */
	struct resolv_watch resolv_watch;
	struct gate_scanner scanner;
	int scan_line;            /* the gate's questions arrive here; -1: nothing is scanned */
	int ask_line;             /* --ask: the gate's questions about hosts; -1: none */
	int broker;               /* the broker's end of the channel, until pid 1 is cloned */
	struct wire_peers *peers; /* memory shared by the gate and the broker */
};

#define GATE_PROCESS_NONE                                                                          \
	((struct gate_process){.pidfd = -1,                                                        \
			       .resolv_watch = RESOLV_WATCH_NONE,                                  \
			       .scan_line = -1,                                                    \
			       .ask_line = -1,                                                     \
			       .broker = -1})

/* The caller owns the ledger.  scanner: for plan->scan_net.  asks: the caller answers ask_line.  On
 * failure no process is left behind. */
int gate_process_start(const struct plan *plan, const struct gate_scanner *scanner, bool asks,
		       struct ledger *ledger, struct gate_process *ret, struct err *e);

/* Closes the broker's end, of which pid 1 has a copy after the clone. */
void gate_process_handed(struct gate_process *k);

/* For every poll(2) while the gate runs. */
void gate_process_scan_poll(const struct gate_process *k, struct pollfd *slot);
void gate_process_scan_step(struct gate_process *k, const struct pollfd *slot);

/* For a run that was killed: the gate does not deliver data that is still queued. */
void gate_process_kill(const struct gate_process *k);

/* Waits until the gate has delivered its queued data and exited; the gate limits that time.
 * The ledger is complete then.  Call it after the sandbox has ended.  Safe in any state. */
void gate_process_end(struct gate_process *k);

/* The same for a caller that exits next: waits until the ledger is complete, but not for the exit,
 * in which the kernel frees the gate's tables and sockets. */
void gate_process_leave(struct gate_process *k);

#endif
