/* SPDX-License-Identifier: Apache-2.0 */
/* The gate's log of decisions, which the supervisor reads after the run.
 *
 * A shared mapping, as linux/journal.h: entries survive when the gate is killed at any moment.
 * Equal decisions are one entry with a count. */
#ifndef CORRAL_GATE_LEDGER_H
#define CORRAL_GATE_LEDGER_H

#include "base/err.h"
#include "base/hostname.h"

#include <stdatomic.h>

enum net_op { NET_OP_CONNECT, NET_OP_RESOLVE, NET_OP_REQUEST, NET_OP_PROXY, NET_OP_PUBLISH };
enum net_outcome { NET_ALLOWED, NET_DENIED, NET_FAILED };

#define LEDGER_TEXT 120
#define LEDGER_ENTRIES 512

struct ledger_entry {
	enum net_op op;
	enum net_outcome outcome;
	char name[HOSTNAME_MAX + 1]; /* "" for none */
	bool has_ip;
	struct ip ip;
	uint16_t port;          /* 0 for none */
	char rule[LEDGER_TEXT]; /* as it was written; "" when no rule matched */
	char why[LEDGER_TEXT];  /* refused or failed: one clause */
	bool unread; /* refused: the protocol cannot be inspected; a rule for the address would help
		      */
	bool own;    /* refused: an address of this host; a rule for the address would help */
	bool leak;   /* refused: the request has a secret (scan.net) */
	_Atomic uint64_t sent, received; /* bytes from the command, and to it */
	_Atomic uint32_t count;
};

struct ledger {
	_Atomic uint32_t used; /* complete entries */
	_Atomic uint64_t lost; /* decisions without an entry of their own */
	_Atomic bool ended;    /* in the broker's ledger: the gate ended before the run */
	struct ledger_entry entries[LEDGER_ENTRIES];
};

int ledger_new(struct ledger **ret, struct err *e);
void ledger_free(struct ledger *l); /* l may be NULL */

/* Records one decision (its sent, received and count are ignored).  Returns the entry whose byte
 * counters the flow uses, which may be a sum of many decisions; NULL when the ledger is full.  One
 * writer process; system calls only.  l may be NULL. */
struct ledger_entry *ledger_add(struct ledger *l, const struct ledger_entry *decision);

#endif
