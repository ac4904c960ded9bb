/* SPDX-License-Identifier: Apache-2.0 */
/* Reports the gate's decisions while the command runs: reads the gate's log five times a second.
 *
 * The log is shared memory, and the gate sends no message about a new entry: so the gate pays
 * nothing, and neither does a run without a listener.
 *
 * Should:   read the entries only when a counter of the log has changed.
 * Must not: report a decision twice, or more than NET_WATCH_PER_SECOND in a second; trust the log
 *           (netlog.c checks it).
 * Fails:    open: the result of the command has every decision. */
#include "run/net_watch.h"

#include <string.h>

#define LOOK_MS 200

static uint64_t mark_of(const struct ledger *l) {
	struct ledger_entry e;
	uint64_t mark = 0;

	if (l == NULL) {
		return 0;
	}
	for (size_t at = 0, n = 0; n < LEDGER_ENTRIES && ledger_next(l, &at, &e); n++) {
		mark += (uint64_t)e.count + 1;
	}
	return mark + atomic_load_explicit(&l->log.lost, memory_order_relaxed);
}

void net_watch_begin(struct net_watch *w, const struct netlog *before, int64_t now) {
	bool wanted = w->to != NULL && w->to->decided != NULL && w->ledger != NULL;

	w->base = before;
	w->due = wanted ? now + LOOK_MS : -1;
	w->second = now;
}

/* An entry whose bytes alone have changed is no decision. */
static void keep_decisions(struct netlog *news) {
	size_t kept = 0;

	for (size_t i = 0; i < news->count; i++) {
		if (news->items[i].count != 0) {
			news->items[kept++] = news->items[i];
		}
	}
	news->count = kept;
}

static void keep_rate(struct net_watch *w, struct netlog *news, int64_t now) {
	if (now - w->second >= 1000) {
		w->second = now;
		w->told = 0;
	}
	size_t room = NET_WATCH_PER_SECOND - w->told;
	for (; news->count > room; news->count--) {
		news->more += news->items[news->count - 1].count;
	}
	w->told += news->count;
}

static void tell(struct net_watch *w, const struct netlog *all, int64_t now) {
	struct netlog news = {.recorded = true, .more = all->more, .ended = all->ended};

	news.items =
		all->count == 0 ? NULL : arena_array(&news.arena, all->count, sizeof *news.items);
	if (news.items != NULL) {
		memcpy(news.items, all->items, all->count * sizeof *news.items);
		news.count = all->count;
	}
	netlog_since(&news, w->base);
	keep_decisions(&news);
	keep_rate(w, &news, now);
	netlog_clean(&news, w->clean);
	if (news.count > 0 || news.more > 0) {
		w->to->decided(w->to->arg, &news);
	}
	netlog_done(&news);
}

void net_watch_look(struct net_watch *w, int64_t now, bool last) {
	struct netlog all;

	if (w->due < 0 || (!last && now < w->due)) {
		return;
	}
	w->due = last ? -1 : now + LOOK_MS;
	uint64_t mark = mark_of(w->ledger) + mark_of(w->refusals);
	if (mark == w->mark) {
		return;
	}
	w->mark = mark;
	netlog_read(w->ledger, w->refusals, &all);
	tell(w, &all, now);
	netlog_done(&w->seen);
	w->seen = all;
	w->base = &w->seen;
}

void net_watch_done(struct net_watch *w) {
	netlog_done(&w->seen);
	w->due = -1;
}
