/* SPDX-License-Identifier: Apache-2.0 */
/* The gate's log of decisions, which the supervisor reads after the run.
 *
 * A shared mapping (base/shared_log.h), as backend/journal.h: entries survive when the gate is
 * killed at any moment.  Equal decisions are one entry with a count. */
#ifndef CORRAL_GATE_LEDGER_H
#define CORRAL_GATE_LEDGER_H

#include "base/err.h"
#include "base/hostname.h"
#include "base/shared_log.h"

enum net_op { NET_OP_CONNECT, NET_OP_RESOLVE, NET_OP_REQUEST, NET_OP_PROXY, NET_OP_PUBLISH };
enum net_outcome { NET_ALLOWED, NET_DENIED, NET_FAILED };

#define LEDGER_TEXT 120
#define LEDGER_ENTRIES 512

/* The kinds of entries that have places of their own (ledger.c). */
enum ledger_kind { LEDGER_REFUSED, LEDGER_REACHED, LEDGER_RESOLVED, LEDGER_KINDS };

/* The members before `count` are one record of the log: ledger.c compares them as bytes. */
struct ledger_entry {
	enum net_op op;
	enum net_outcome outcome;
	struct ip ip;
	uint16_t port; /* 0 for none */
	bool has_ip;
	bool unread; /* refused: the protocol cannot be inspected; a rule for the address helps */
	bool own;    /* refused: an address of this host; a rule for the address would help */
	bool leak;   /* refused: the request has a secret (scan.net) */
	char name[HOSTNAME_MAX + 1]; /* "" for none */
	char rule[LEDGER_TEXT];      /* as it was written; "" when no rule matched */
	char why[LEDGER_TEXT];       /* refused or failed: one clause */
	uint32_t count;
	uint64_t sent, received; /* bytes from the command, and to it */
};

/* The sums of an entry's counters. */
enum { LEDGER_SENT, LEDGER_RECEIVED };

struct ledger {
	_Atomic bool ended; /* in the broker's ledger: the gate ended before the run */
	/* The next three are for the writer only. */
	uint32_t of[LEDGER_KINDS]; /* entries of each kind */
	uint32_t shared;           /* of them, those beyond the places of their kind */
	uint32_t sums;             /* entries for many decisions each */
	struct shared_log log;     /* its `lost`: decisions without an entry of their own */
};

int ledger_new(struct ledger **ret, struct err *e);
void ledger_free(struct ledger *l); /* l may be NULL */

/* Records one decision (its sent, received and count are ignored).  Returns the counters of its
 * entry, which may be a sum of many decisions; NULL when the ledger is full.  One writer process;
 * system calls only.  l may be NULL. */
struct shared_counters *ledger_add(struct ledger *l, const struct ledger_entry *decision);

/* The next entry from *at, which starts at 0; false at the end, and if the log is invalid.  A copy,
 * with nothing checked: enums and bools may have any value, texts may have no end. */
bool ledger_next(const struct ledger *l, size_t *at, struct ledger_entry *ret);

#endif
