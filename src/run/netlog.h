/* What the gate decided during a run, as the result tells it. */
#ifndef CORRAL_RUN_NETLOG_H
#define CORRAL_RUN_NETLOG_H

#include "base/arena.h"
#include "gate/ledger.h"

struct netlog_item {
	enum net_op op;
	enum net_outcome outcome;
	const char *name;    /* NULL: none was known */
	const char *address; /* NULL: it came to none */
	uint16_t port;       /* 0: none */
	const char *rule;    /* as it was written; NULL: none speaks of it */
	const char *why;     /* refused or failed; else NULL */
	const char *remedy;  /* refused: the option that allows it; NULL: none would, or should */
	uint64_t count, sent, received;
	bool unread; /* refused because nobody reads what was said; an address rule does not ask */
};

struct netlog {
	struct arena arena; /* owns the rest */
	struct netlog_item *items;
	size_t count;
	uint64_t more;
	bool recorded; /* a gate was there; else an empty list means nothing */
};

/* Copies everything; the gate may still be writing, or may have been made to write
 * anything.  In the order in which it was decided first.  l may be NULL. */
void netlog_read(const struct ledger *l, struct netlog *ret);
void netlog_done(struct netlog *n);

/* "connect", …; "allowed", "denied", "failed". */
const char *net_op_name(enum net_op op);
const char *net_outcome_name(enum net_outcome outcome);

/* What was refused, for people: "evil.test:443", "[2001:db8::1]:443", "evil.test"; NULL when
 * memory is out, or neither a name nor an address is known. */
const char *netlog_place(struct arena *a, const struct netlog_item *item);

#endif
