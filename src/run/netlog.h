/* SPDX-License-Identifier: Apache-2.0 */
/* The gate's decisions during a run, for the result and for hints. */
#ifndef CORRAL_RUN_NETLOG_H
#define CORRAL_RUN_NETLOG_H

#include "base/arena.h"
#include "gate/ledger.h"
#include "run/leak_tap.h"

/* The cause of a refusal or failure; netlog.c has the remedy for each. */
enum net_cause {
	NET_CAUSE_NONE,     /* allowed, or unknown */
	NET_CAUSE_UNLISTED, /* no rule of net.allow has it, or has it with this port */
	NET_CAUSE_UNREAD,   /* a rule has the name, but Corral cannot inspect the protocol */
	NET_CAUSE_PRIVATE,  /* an allowed name resolves to a private network */
	NET_CAUSE_LOOPBACK, /* … to this host */
	NET_CAUSE_SPECIAL, /* … to an address that only a rule of its own opens; this host's own */
	NET_CAUSE_METADATA,   /* a cloud's metadata service: no option is offered */
	NET_CAUSE_DENIED,     /* a rule forbids it, or allows it for another host */
	NET_CAUSE_LEAK,       /* the request has a secret (scan.net) */
	NET_CAUSE_PUBLISHED,  /* from outside */
	NET_CAUSE_UNRESOLVED, /* a rule allows the name, and the host's servers do not know it */
	NET_CAUSE_COUNT
};

struct netlog_item {
	enum net_op op;
	enum net_outcome outcome;
	const char *name;    /* NULL: not known */
	const char *address; /* NULL: not resolved */
	uint16_t port;       /* 0: none */
	const char *rule;    /* as it was written; NULL: no rule matches */
	const char *why;     /* refused or failed; else NULL */
	const char *remedy;  /* refused: the option that allows it; NULL: none would, or should */
	enum net_cause cause;
	uint64_t count, sent, received;
	bool unread; /* refused: Corral cannot inspect the protocol; an address rule needs none */
	bool leak;   /* refused: the request has a secret */
	bool own;    /* refused: an address of this host; a rule with the address allows it */
};

struct netlog {
	struct arena arena; /* owns the rest */
	struct netlog_item *items;
	size_t count;
	uint64_t more;
	bool recorded; /* the run had a gate; without one an empty list means nothing */
	bool ended;    /* the gate ended before the run: its last decisions may be missing */
};

/* Copies and checks everything: the gate may still be writing, or may be compromised.  In the
 * order of the first decision; the gate's decisions come before the calls that found no gate
 * (refusals).  Both may be NULL. */
void netlog_read(const struct ledger *l, const struct ledger *refusals, struct netlog *ret);
/* Leaves the decisions that were added since `before` was read. */
void netlog_since(struct netlog *n, const struct netlog *before);
void netlog_done(struct netlog *n);

/* Sets cause and remedy of an item; ip: its address, or NULL.  False: out of memory. */
bool netlog_complete(struct arena *a, struct netlog_item *item, const struct ip *ip);
/* Removes secrets from names that the command chose, and the remedies for these names.  Without a
 * source nothing is removed. */
void netlog_clean(struct netlog *n, const struct leak_source *source);

/* "connect", …; "allowed", "denied", "failed". */
const char *netlog_op_name(enum net_op op);
const char *netlog_outcome_name(enum net_outcome outcome);

/* The destination as text: "evil.test:443", "[2001:db8::1]:443", "evil.test"; NULL out of memory,
 * or when neither a name nor an address is known. */
const char *netlog_place(struct arena *a, const struct netlog_item *item);

/* The remedy as a sentence, with the option; "" when there is none. */
const char *netlog_advice(struct arena *a, const struct netlog_item *item);

#endif
