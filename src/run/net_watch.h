/* SPDX-License-Identifier: Apache-2.0 */
/* The gate's decisions while a command of a session runs, at a bounded rate. */
#ifndef CORRAL_RUN_NET_WATCH_H
#define CORRAL_RUN_NET_WATCH_H

#include "run/netlog.h"

/* Decisions that are reported in a second; the rest are counted in `more`. */
#define NET_WATCH_PER_SECOND 64U

/* A receiver of decisions: `news` has those since the last call, and is valid during the call. */
struct net_listener {
	void (*decided)(void *arg, const struct netlog *news); /* NULL: none */
	void *arg;
};

struct net_watch {
	const struct net_listener *to;
	const struct ledger *ledger, *refusals;
	const struct leak_source *clean; /* for names that the command chose; or NULL */
	const struct netlog *base;       /* what was told, or was before the command */
	struct netlog seen;              /* base, after the first look that found something */
	uint64_t mark;                   /* of the ledgers at the last look */
	int64_t due;                     /* of the next look; -1: never */
	int64_t second;                  /* since when `told` counts */
	size_t told;
};

/* before: the decisions before the command; it must outlive the watch. */
void net_watch_begin(struct net_watch *w, const struct netlog *before, int64_t now);

/* Looks when it is due, and with `last` at once. */
void net_watch_look(struct net_watch *w, int64_t now, bool last);

void net_watch_done(struct net_watch *w);

#endif
