/* An address that a rule of net.allow lists, against the names of net.deny.
 *
 * A deny wins over every allow, and whoever denies a name does not expect that a network beside it
 * opens the name's addresses.  So the denied names are resolved, as the host resolves them, before
 * such an address is dialled.
 *
 * Should:   ask about each exact name of net.deny that has this port; the resolver remembers.
 * Must not: ask where no address was listed, or where no name is denied: that is most runs.
 * Fails:    closed: where a denied name cannot be resolved, its addresses are not known. */
#include "gate/relay/flow.h"

#include <errno.h>

static void settle(struct flow *f, const struct net_verdict *v) {
	enum net_op op = f->kind == FLOW_THROUGH ? NET_OP_CONNECT : NET_OP_PROXY;

	if (v->allowed) {
		f->entry = flow_record(f, op, NET_ALLOWED, v);
		upstream_connect(f);
	} else if (f->kind == FLOW_THROUGH) {
		flow_refuse(f, op, v);
	} else {
		(void)flow_record(f, op, NET_DENIED, v);
		f->dial_error = EACCES;
		proxy_dialled(f);
	}
}

static void ask_on(struct flow *f);

/* Perhaps before resolver_ask() returns: then ask_on() goes on by itself. */
static void found(struct resolver_wait *w, const struct names_found *n) {
	struct flow *f = HOLDER(w, struct flow, lookup);

	if (judge_leads_to(&n->v4, &f->ip) || judge_leads_to(&n->v6, &f->ip)) {
		f->denial = "a rule of net.deny names a host that has this address";
	} else if (n->code == DNS_SERVFAIL) {
		f->denial = "a name of net.deny cannot be resolved, so its addresses are not known";
	}
	if (!f->asking) {
		ask_on(f);
	}
}

/* From the rule after the one that was asked about last. */
static void ask_on(struct flow *f) {
	const struct net_plan *net = f->gate->net;
	struct net_verdict v = {.allowed = true, .rule = f->rule};

	while (f->denial == NULL && f->denies < net->ndeny) {
		const struct net_rule *r = &net->deny[f->denies++];
		if (!judge_names_host(r, f->port)) {
			continue;
		}
		f->asking = true;
		f->lookup.found = found;
		resolver_ask(f->gate->resolver, r->name, &f->lookup);
		f->asking = false;
		if (f->lookup.waiting) {
			return;
		}
	}
	if (f->denial != NULL) {
		v = (struct net_verdict){.rule = &net->deny[f->denies - 1], .why = f->denial};
	}
	settle(f, &v);
}

void denied_names_vet(struct flow *f) {
	f->phase = PHASE_DIAL;
	f->denies = f->by_name ? f->gate->net->ndeny : 0;
	ask_on(f);
}
