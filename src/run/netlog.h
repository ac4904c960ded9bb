/* What the gate decided during a run, as the result tells it. */
#ifndef CORRAL_RUN_NETLOG_H
#define CORRAL_RUN_NETLOG_H

#include "base/arena.h"
#include "gate/ledger.h"

/* Why something was refused, or failed: each has its remedy in netlog.c. */
enum net_cause {
	NET_CAUSE_NONE,     /* allowed, or nothing can be said */
	NET_CAUSE_UNLISTED, /* no rule of net.allow has it, or has it with this port */
	NET_CAUSE_UNREAD,   /* a rule has the name, and nobody reads what is said */
	NET_CAUSE_PRIVATE,  /* an allowed name leads to a private network */
	NET_CAUSE_LOOPBACK, /* … to this host */
	NET_CAUSE_SPECIAL, /* … to an address that only a rule of its own opens; this host's own */
	NET_CAUSE_METADATA,   /* where a machine's credentials are: no option is offered */
	NET_CAUSE_DENIED,     /* a rule forbids it, or allows it for another host */
	NET_CAUSE_PUBLISHED,  /* from outside */
	NET_CAUSE_UNRESOLVED, /* a rule allows the name, and the host's servers do not know it */
	NET_CAUSE_COUNT
};

struct netlog_item {
	enum net_op op;
	enum net_outcome outcome;
	const char *name;    /* NULL: none was known */
	const char *address; /* NULL: it came to none */
	uint16_t port;       /* 0: none */
	const char *rule;    /* as it was written; NULL: none speaks of it */
	const char *why;     /* refused or failed; else NULL */
	const char *remedy;  /* refused: the option that allows it; NULL: none would, or should */
	enum net_cause cause;
	uint64_t count, sent, received;
	bool unread; /* refused because nobody reads what was said; an address rule does not ask */
	bool own;    /* refused because it leads to this host; an address rule opens that */
};

struct netlog {
	struct arena arena; /* owns the rest */
	struct netlog_item *items;
	size_t count;
	uint64_t more;
	bool recorded; /* a gate was there; else an empty list means nothing */
	bool ended;    /* the gate ended before the run: what it decided last may be missing */
};

/* Copies everything; the gate may still be writing, or may have been made to write
 * anything.  In the order in which it was decided first, the gate's decisions before the calls that
 * found no gate (refusals).  Both may be NULL. */
void netlog_read(const struct ledger *l, const struct ledger *refusals, struct netlog *ret);
void netlog_done(struct netlog *n);

/* "connect", …; "allowed", "denied", "failed". */
const char *netlog_op_name(enum net_op op);
const char *netlog_outcome_name(enum net_outcome outcome);

/* What was refused, for people: "evil.test:443", "[2001:db8::1]:443", "evil.test"; NULL when
 * memory is out, or neither a name nor an address is known. */
const char *netlog_place(struct arena *a, const struct netlog_item *item);

/* What to do about it, the option included; "" when there is nothing to say. */
const char *netlog_advice(struct arena *a, const struct netlog_item *item);

#endif
