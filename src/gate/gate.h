/* The gate: a process of its own between the sandbox and the network.
 *
 * It has the host's network and nothing else: no files, no privileges, no other
 * process.  The broker hands it sockets that want to be connected; it judges where to,
 * dials a vetted address itself, connects the caller's own socket to a listener of its
 * own (pending.c: when the address has answered), and moves bytes between the two.
 *
 * Invariants, cited by the code and the tests:
 *  G1  no address is dialled that was not judged in this very flow;
 *  G2  a byte that was looked at is the byte that is sent: looking does not take it out
 *      of the kernel's queue;
 *  G3  where a name decides, no byte of the server's reaches the program on ports 80 and
 *      443 before the program has said a name that is allowed there;
 *  G4  everything has a bound: flows, lookups, heads, time;
 *  G5  nothing allocates, locks or calls libc beyond thin system calls: this process is
 *      a copy of one that may have had threads;
 *  G6  every decision is in the ledger before its answer is given;
 *  G7  the gate has no seccomp listener: the broker answers for it, each call that it
 *      handed over once, and no other;
 *  G8  a protocol is switched only by the answer to the first request of a connection, and
 *      only to a WebSocket, of which a client sends frames (conversation.h). */
#ifndef CORRAL_GATE_GATE_H
#define CORRAL_GATE_GATE_H

#include "gate/ledger.h"
#include "gate/dns/update.h"
#include "gate/wire.h"
#include "plan/net/net.h"

#define GATE_PUBLISH_MAX 16

struct gate_setup {
	const struct net_plan *net;
	struct ledger *ledger;
	struct wire_peers *peers;
	const struct dns_update *news; /* NULL: the host's files are as they were */
	bool host_loopback; /* there is no network namespace inside: the relay listens here */
	int landlock_abi;   /* for the gate's own confinement */
	int channel;        /* to the broker */
	int lifeline;       /* its end is the supervisor's, who tells news on it */
	int publish[GATE_PUBLISH_MAX]; /* listeners on the host, one for each of net->publish */
};

struct gate;

/* Memory for one gate, mapped by the parent: zeroed and private. */
size_t gate_size(void);

/* Ends when the broker or the supervisor does. */
_Noreturn void gate_main(struct gate *g, const struct gate_setup *s);

#endif
