/* SPDX-License-Identifier: Apache-2.0 */
/* The protocol between the gate, which judges hosts, and the supervisor, which asks the user about
 * those that no rule allows (`--ask`).
 *
 * One struct per packet on a SOCK_SEQPACKET pair.  The gate repeats no question that waits; the
 * answer adds a rule to the gate's own list, for the rest of the run or for a time. */
#ifndef CORRAL_GATE_ASK_H
#define CORRAL_GATE_ASK_H

#include "base/hostname.h"
#include "base/ip.h"

#include <stdint.h>

/* Questions that wait at once, and rules that answers can add. */
#define GATE_ASKS 32
#define GATE_LIVE_RULES 128

/* An answer "once" for a host: connections that begin within this time. */
#define GATE_ONCE_MS 60000

struct gate_question {
	uint64_t id;
	struct ip ip;                /* without a name */
	uint16_t port;               /* 0: a look-up, for the ports of the web */
	char name[HOSTNAME_MAX + 1]; /* "": by address */
};

struct gate_answer {
	uint64_t id;
	uint32_t allowed;
	uint32_t for_ms; /* 0: for the rest of the run */
};

#endif
