/* Starts and ends the gate's process (src/gate), which a sandbox with a filtered network
 * has beside it. */
#ifndef CORRAL_LINUX_GATE_PROCESS_H
#define CORRAL_LINUX_GATE_PROCESS_H

#include "base/err.h"
#include "gate/gate.h"
#include "linux/resolv_watch.h"
#include "plan/plan.h"

struct gatekeeper {
	int pidfd;                /* of the gate; -1: there is none */
	struct teller teller;     /* has the line whose end ends the gate */
	int broker;               /* the broker's end of the channel, until the sandbox has it */
	struct wire_peers *peers; /* shared with both */
};

#define GATEKEEPER_NONE ((struct gatekeeper){.pidfd = -1, .teller = TELLER_NONE, .broker = -1})

/* The ledger is the caller's.  On failure nothing is left behind. */
int gate_process_start(const struct plan *plan, struct ledger *ledger, struct gatekeeper *ret,
		       struct err *e);

/* After the clone: the sandbox has its copy. */
void gate_process_handed(struct gatekeeper *k);

/* For a run that was killed: the gate does not deliver what was sent. */
void gate_process_kill(const struct gatekeeper *k);

/* Waits until what was sent is delivered, which the gate gives a bound: then the ledger is
 * complete.  The sandbox is gone before.  Safe in any state. */
void gate_process_end(struct gatekeeper *k);

#endif
