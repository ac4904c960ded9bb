/* Decisions as they are written down. */
#include "gate/flow.h"

#include <string.h>

static void put(char *out, size_t cap, const char *s) {
	size_t len = s == NULL ? 0 : strlen(s);

	len = len < cap ? len : cap - 1;
	memcpy(out, s == NULL ? "" : s, len);
	out[len] = '\0';
}

struct ledger_entry *flow_note(struct flow *f, enum net_op op, enum net_outcome outcome,
			       const struct net_verdict *v) {
	struct ledger_entry entry = {.op = op,
				     .outcome = outcome,
				     .has_ip = true,
				     .ip = f->ip,
				     .port = f->port,
				     .unread = v->unread,
				     .own = v->own};

	put(entry.name, sizeof entry.name, f->name);
	put(entry.rule, sizeof entry.rule, v->rule == NULL ? NULL : v->rule->written);
	put(entry.why, sizeof entry.why, outcome == NET_ALLOWED ? NULL : v->why);
	for (size_t i = 0; i < sizeof f->ip.b; i++) {
		if (f->ip.b[i] != 0) {
			return ledger_add(f->gate->ledger, &entry);
		}
	}
	entry.has_ip = false; /* refused before it had one */
	return ledger_add(f->gate->ledger, &entry);
}
