/* SPDX-License-Identifier: Apache-2.0 */
/* Refuses an address of net.allow that belongs to a name of net.deny.
 *
 * A deny wins over every allow: a rule that allows a network must not open the addresses of a
 * denied name.  So the gate resolves the denied names, with the host's name servers, before it
 * dials an address that a rule lists.
 *
 * Should:   resolve each exact name of net.deny that has this port; the resolver caches.
 * Must not: resolve anything for an address that is allowed by name, or without a deny: that is
 *           most runs.
 * Fails:    closed: if a denied name cannot be resolved, the address is refused. */
#include "gate/relay/flow.h"

#include <errno.h>

static void apply_verdict(struct flow *f, const struct net_verdict *v) {
	enum net_op op = f->kind == FLOW_DIRECT ? NET_OP_CONNECT : NET_OP_PROXY;

	if (v->allowed) {
		f->entry = flow_record(f, op, NET_ALLOWED, v);
		upstream_connect(f);
	} else if (f->kind == FLOW_DIRECT) {
		flow_refuse(f, op, v);
	} else {
		(void)flow_record(f, op, NET_DENIED, v);
		f->dial_error = EACCES;
		proxy_dialled(f);
	}
}

static void resolve_next(struct flow *f);

/* If resolver_lookup() is still on the stack, resolve_next() continues by itself. */
static void name_resolved(struct resolver_wait *w, const struct resolved *n) {
	struct flow *f = CONTAINER_OF(w, struct flow, lookup);

	if (judge_has_address(&n->v4, &f->ip) || judge_has_address(&n->v6, &f->ip)) {
		f->denial = "a host name in net.deny has this address";
	} else if (n->code == DNS_SERVFAIL) {
		f->denial = "a name in net.deny cannot be resolved, and this may be its address";
	}
	if (!f->in_lookup) {
		resolve_next(f);
	}
}

/* Continues with rule f->next_deny. */
static void resolve_next(struct flow *f) {
	const struct net_plan *net = f->gate->net;
	struct net_verdict v = {.allowed = true, .rule = f->rule};

	while (f->denial == NULL && f->next_deny < net->ndeny) {
		const struct net_rule *r = &net->deny[f->next_deny++];
		if (!judge_is_exact_name(r, f->port)) {
			continue;
		}
		f->in_lookup = true;
		f->lookup.found = name_resolved;
		resolver_lookup(f->gate->resolver, r->name, &f->lookup);
		f->in_lookup = false;
		if (f->lookup.waiting) {
			return;
		}
	}
	if (f->denial != NULL) {
		v = (struct net_verdict){.rule = &net->deny[f->next_deny - 1], .why = f->denial};
	}
	apply_verdict(f, &v);
}

void denied_names_vet(struct flow *f) {
	f->phase = PHASE_DIAL;
	f->next_deny = f->by_name ? f->gate->net->ndeny : 0;
	resolve_next(f);
}
