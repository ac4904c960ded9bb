/* SPDX-License-Identifier: Apache-2.0 */
/* The gate: the process that connects the sandbox to the host's network.
 *
 * It has the host's network and nothing else: no files, no privileges, no other
 * process.  The broker intercepts connect(2) and sends the gate the caller's socket and the
 * destination.  The gate judges the destination, connects a socket of its own to it, connects the
 * caller's socket to the gate's relay listener (pending.c: once the upstream has answered), and
 * forwards bytes between the two.
 *
 * Invariants, cited by the code and the tests:
 *  G1  the gate connects only to addresses that it judged in the same flow;
 *  G2  a byte that was inspected is the byte that is forwarded: MSG_PEEK leaves it in the
 *      socket's receive queue;
 *  G3  where a name decides, no byte of the server's reaches the program on ports 80 and
 *      443 before the program has sent a server name or Host that is allowed there;
 *  G4  everything has a bound: flows, lookups, heads, time;
 *  G5  nothing allocates, locks or calls libc beyond thin system calls: this process is
 *      a copy of one that may have had threads;
 *  G6  every decision is in the ledger before the call is answered;
 *  G7  the gate has no seccomp listener: the broker answers the notifications for it, each
 *      connect(2) that it forwarded once, and no other call;
 *  G8  a protocol is switched only by the answer to the first request of a connection, and
 *      only to a WebSocket, of which a client sends frames (conversation.h). */
#ifndef CORRAL_GATE_GATE_H
#define CORRAL_GATE_GATE_H

#include "gate/ask.h"
#include "gate/ledger.h"
#include "gate/dns/update.h"
#include "gate/wire.h"
#include "plan/net/net.h"

#define GATE_PUBLISH_MAX 16

/* Of a container (WIRE_LISTENER): both proxies, and one for each port of --host-port. */
#define GATE_LISTENERS_MAX 34

struct gate_setup {
	const struct net_plan *net;
	struct ledger *ledger;
	struct wire_peers *peers;
	const struct dns_update
		*update;    /* shared memory; NULL: resolv.conf and hosts do not change */
	bool host_loopback; /* no network namespace: the relay listens on the host's loopback */
	int landlock_abi;   /* for the gate's own confinement */
	int channel;        /* to the broker */
	int lifeline;       /* to the supervisor: dns/update.h's messages; EOF ends the gate */
	int scanner;        /* scan.net: to the supervisor (gate/scan.h); -1: nothing is scanned */
	int asker;          /* --ask: socket to the supervisor (gate/ask.h); -1: none */
	struct net_rule *live_rules;   /* with asker: net->allow, and room for GATE_LIVE_RULES */
	bool scan_holds;               /* a request leaves only after it was scanned */
	int publish[GATE_PUBLISH_MAX]; /* listeners on the host, one for each of net->publish */
};

struct gate;

/* Bytes that the parent maps for one gate: zeroed and private. */
size_t gate_size(void);

/* Never returns: exits after the broker or the supervisor has ended. */
_Noreturn void gate_main(struct gate *g, const struct gate_setup *s);

#endif
