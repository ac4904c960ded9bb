/* SPDX-License-Identifier: Apache-2.0 */
/* The answers to the questions of a run (`--ask`) in its result.
 *
 * Should:   list each answer with its object, its source (user, timeout, error) and the waiting
 *           time.
 * Must not: print an empty list for a run without --ask: the member is null then.
 * Fails:    as emit.c: out of memory the whole object fails. */
#include "lib/internal.h"

#include "base/emit.h"

static void put_grant(struct emit *j, const struct grant *g) {
	emit_object(j, NULL);
	emit_string(j, "op", g->op);
	emit_string(j, g->host ? "host" : "path", g->name);
	emit_string(j, "answer", ask_reply_name(g->reply));
	emit_string(j, "by", g->by);
	emit_string(j, "grant", g->options);
	emit_int(j, "waited_ms", g->waited_ms);
	emit_int(j, "count", (int64_t)g->count);
	emit_string(j, "note", g->note);
	emit_end_object(j);
}

void grants_emit(struct emit *j, const struct grants *g) {
	if (!g->asked) {
		emit_null(j, "grants");
		return;
	}
	emit_array(j, "grants");
	for (size_t i = 0; i < g->count; i++) {
		put_grant(j, &g->items[i]);
	}
	emit_end_array(j);
	emit_int(j, "grants_more", (int64_t)g->more);
	emit_string(j, "grants_ended", g->end);
}
