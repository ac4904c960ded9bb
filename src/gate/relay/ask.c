/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the supervisor about a host that no rule allows, and adds a rule for its answer (`--ask`).
 *
 * A look-up or connect(2) that would be refused waits here; everything else goes on.  The question
 * is about a name before any name server has received it.  A host that a rule of net.deny names is
 * never asked about.
 *
 * Should:   ask about one host at one port once, whatever waits for it.
 * Must not: change a rule of the policy: rules are only added, and expire, so that a flow can keep
 *           its pointer; allocate (G5); wait for the supervisor.
 * Fails:    closed: without an answer the host stays refused. */
#include "gate/relay/flow.h"

#include "base/str.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

/* ---- rules ---- */

void ask_expire(struct gate *g) {
	for (size_t i = 0; g->asking && i < g->nlive; i++) {
		struct net_rule *r = &g->live_rules[g->net_given->nallow + i];
		if (g->live_until[i] != 0 && g->loop.now >= g->live_until[i]) {
			g->live_until[i] = 0;
			r->kind = NET_RULE_NAME;
			r->name = ""; /* no name is empty */
		}
	}
}

static void add_rule(struct gate *g, const struct gate_question *q, uint32_t for_ms) {
	size_t n = g->nlive;

	if (n == GATE_LIVE_RULES) {
		return;
	}
	char *name = g->live_names[n];
	memcpy(name, q->name, sizeof q->name);
	g->live_rules[g->net_given->nallow + n] = (struct net_rule){
		.kind = name[0] == '\0' ? NET_RULE_NETWORK : NET_RULE_NAME,
		.name = name,
		.network = {.ip = q->ip, .bits = 128},
		.port = q->port == 0 ? NET_PORT_WEB : q->port,
		.written = "--ask",
	};
	g->live_until[n] = for_ms == 0 ? 0 : g->loop.now + for_ms;
	g->nlive++;
	g->live.nallow++;
}

/* ---- questions ---- */

static bool same(const struct gate_question *a, const struct gate_question *b) {
	return a->port == b->port && streq(a->name, b->name) &&
	       (a->name[0] != '\0' || ip_same(&a->ip, &b->ip));
}

static bool send_question(const struct gate *g, struct gate_question *q) {
	return send(g->asker.fd, q, sizeof *q, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)sizeof *q;
}

/* The number of the question, which may have been asked before; 0: it cannot be asked. */
static uint64_t ask(struct gate *g, const struct gate_question *wanted) {
	struct gate_question *free_slot = NULL;

	if (g->asker.fd < 0 || g->nlive == GATE_LIVE_RULES) {
		return 0;
	}
	for (size_t i = 0; i < GATE_ASKS; i++) {
		struct gate_question *q = &g->asks[i];
		if (q->id != 0 && same(q, wanted)) {
			return q->id;
		}
		free_slot = q->id == 0 && free_slot == NULL ? q : free_slot;
	}
	if (free_slot == NULL) {
		return 0;
	}
	*free_slot = *wanted;
	free_slot->id = ++g->ask_id;
	if (!send_question(g, free_slot)) {
		free_slot->id = 0;
		return 0;
	}
	return free_slot->id;
}

bool ask_lookup(struct lookup *l) {
	struct gate_question q;

	if (l->asked || l->verdict.rule != NULL) {
		return false;
	}
	memset(&q, 0, sizeof q);
	memcpy(q.name, l->question.host.name, sizeof q.name);
	l->asking = ask(l->gate, &q);
	if (l->asking != 0 && l->flow != NULL) {
		loop_alarm_clear(&l->gate->loop, &l->flow->alarm); /* it waits for the user */
	}
	return l->asking != 0;
}

bool ask_connect(struct flow *f) {
	struct gate_question q;
	const struct net_plan *net = f->gate->net;

	if (f->asked || f->gate->asker.fd < 0) {
		return false;
	}
	/* By the name that the program looked up; without one, by the address: that a hosts file
	 * has a name for it does not mean that the program wanted that name. */
	size_t at = 0;
	const char *name = dns_names_next(&f->gate->names, &f->ip, &at);
	memset(&q, 0, sizeof q);
	if (name != NULL) {
		memcpy(q.name, name, strnlen(name, HOSTNAME_MAX));
	}
	q.ip = f->ip;
	q.port = f->port;
	/* Only where the missing rule is the reason: an address that a name may not resolve to, or
	 * that a rule denies, stays refused. */
	struct net_verdict v =
		q.name[0] != '\0' ? judge_name(net, q.name, q.port) : judge_ip(net, &q.ip, q.port);
	if (v.allowed || v.rule != NULL) {
		return false;
	}
	f->asking = ask(f->gate, &q);
	return f->asking != 0;
}

/* ---- answers ---- */

static void resume(struct gate *g, uint64_t id) {
	for (size_t i = 0; i < GATE_LOOKUPS; i++) {
		struct lookup *l = &g->lookups[i];
		if (l->used && l->asking == id) {
			l->asking = 0;
			l->asked = true;
			dns_server_resume(l);
		}
	}
	for (size_t i = 0; i < GATE_FLOWS; i++) {
		struct flow *f = &g->flows[i];
		if (f->phase != PHASE_FREE && f->asking == id) {
			f->asking = 0;
			f->asked = true;
			upstream_open(f);
		}
	}
}

static void settle(struct gate *g, const struct gate_answer *a) {
	for (size_t i = 0; i < GATE_ASKS; i++) {
		struct gate_question *q = &g->asks[i];
		if (q->id != 0 && q->id == a->id) {
			if (a->allowed != 0) {
				add_rule(g, q, a->for_ms);
			}
			q->id = 0;
			resume(g, a->id);
			return;
		}
	}
}

void ask_ready(struct loop_watch *w, uint32_t events) {
	struct gate *g = CONTAINER_OF(w, struct gate, asker);
	struct gate_answer a;
	(void)events;

	for (int i = 0; i < GATE_ASKS; i++) {
		ssize_t n = recv(w->fd, &a, sizeof a, MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
			return;
		}
		if (n != (ssize_t)sizeof a) {
			loop_close(&g->loop, w); /* the supervisor's loop has ended */
			return;
		}
		settle(g, &a);
	}
}

void ask_init(struct gate *g, const struct gate_setup *s) {
	g->asker.fd = -1;
	if (s->asker < 0) {
		return;
	}
	g->asking = true;
	g->net_given = s->net;
	g->live = *s->net;
	g->live_rules = g->live.allow = s->live_rules;
	g->net = &g->live;
	g->asker = (struct loop_watch){.fd = s->asker, .ready = ask_ready};
}
