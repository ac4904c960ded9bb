/* Every decision of the gate, written by it and read by the supervisor.
 *
 * A mapping that both share, as linux/journal.h: what was decided is there when the gate
 * is killed at any moment.  Equal decisions are one entry with a count. */
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
	char rule[LEDGER_TEXT]; /* as it was written; "" when none speaks of it */
	char why[LEDGER_TEXT];  /* refused or failed: one clause */
	bool unread; /* refused for want of a reader: a rule for the address would help */
	bool own;    /* refused because it is this host: a rule for the address would help */
	_Atomic uint64_t sent, received; /* bytes of the command's, and for it */
	_Atomic uint32_t count;
};

struct ledger {
	_Atomic uint32_t used; /* entries that are whole */
	_Atomic uint64_t lost; /* decisions that are not listed one by one */
	_Atomic bool ended; /* whoever writes the other ledger is gone, before the run was over */
	struct ledger_entry entries[LEDGER_ENTRIES];
};

int ledger_new(struct ledger **ret, struct err *e);
void ledger_free(struct ledger *l); /* NULL is fine */

/* Counts one decision (its sent, received and count are not looked at); returns the entry for the
 * bytes, which may be one for many, or NULL when there is no room even for that.  By one process;
 * system calls only.  l may be NULL. */
struct ledger_entry *ledger_add(struct ledger *l, const struct ledger_entry *decision);

#endif
