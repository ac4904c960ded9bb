/* SPDX-License-Identifier: Apache-2.0 */
/* `corral why HOST[:PORT]`: the verdict of net/judge.h, with the cause and the remedy that the
 * result of a run has for the same refusal (run/netlog.h).
 *
 * Should:   resolve a name that a rule allows, as the gate would: its CNAMEs and addresses can be
 *           refused.
 * Must not: connect to anything; resolve a name that no rule allows.
 * Fails:    closed: without a rule a host is refused. */
#include "lib/why.h"

#include "base/auto.h"
#include "base/str.h"
#include "gate/dns/lookup_sync.h"
#include "gate/local_address.h"
#include "net/judge.h"
#include "net/url.h"

#include <stdio.h>
#include <stdlib.h>

struct why_lookup {
	bool done;
	int rc;
	struct resolved found;
};

struct why_lookup *why_lookup_new(void) {
	return calloc(1, sizeof(struct why_lookup));
}

void why_lookup_free(struct why_lookup *l) {
	free(l);
}

struct host_question {
	struct hostname host;
	uint16_t port; /* 0: any */
};

static int parse(const char *text, struct host_question *ret, struct err *e) {
	struct url url;
	const struct url_reach none = {0};

	if (strstr(text, "://") != NULL) {
		(void)url_judge(text, strlen(text), none, &url); /* only to parse it */
		ret->host = url.host;
		ret->port = url.port;
	} else {
		(void)hostname_parse_port(text, strlen(text), &ret->host, &ret->port);
	}
	if (ret->host.kind != HOST_BAD) {
		return 0;
	}
	(void)err_set(e, ERR_USAGE, "why", "%s is not a host%s%s", text,
		      ret->host.why == NULL ? "" : ": ",
		      ret->host.why == NULL ? "" : ret->host.why);
	return err_fix(e, "use NAME, NAME:PORT, an address, or a URL of http or https");
}

/* ---- answers ---- */

static void by_origin(struct why_ask *ask, const char *rule, const struct origin *o) {
	char text[128];

	ask->answer.rule = rule;
	ask->answer.origin = why_text(ask, policy_origin_text(o, text, sizeof text));
}

static void by_key(struct why_ask *ask, enum key_id key) {
	by_origin(ask, keys[key].name, &ask->p.policy.values[key].origin);
}

static void by_rule(struct why_ask *ask, enum key_id key, const struct net_rule *rule) {
	by_origin(ask, arena_printf(&ask->p.arena, "%s %s", keys[key].name, rule->written),
		  &rule->origin);
}

/* --allow-host NAME:PORT alone implies net.mode filtered, unless a file or option says "none". */
static void propose_allow(struct why_ask *ask, const char *place) {
	const char *filtered = keys[KEY_NET_MODE].choices[NET_FILTERED];

	why_propose(ask, KEY_NET_ALLOW, place);
	if (place != NULL && ask->p.plan.net.mode == NET_NONE &&
	    ask->ncandidates < WHY_CANDIDATES) {
		ask->candidates[ask->ncandidates++] = (struct why_grant){
			.settings = {{keys[KEY_NET_MODE].name, filtered},
				     {keys[KEY_NET_ALLOW].name, place}},
			.n = 2,
		};
	}
}

static void propose(struct why_ask *ask, const struct netlog_item *item) {
	struct netlog_item wanted = {
		.name = item->name, .address = item->address, .port = item->port};

	switch (item->cause) {
	case NET_CAUSE_UNLISTED:
		propose_allow(ask, netlog_place(&ask->p.arena, &wanted));
		break;
	case NET_CAUSE_SPECIAL:
		wanted.name = NULL;
		propose_allow(ask, netlog_place(&ask->p.arena, &wanted));
		break;
	case NET_CAUSE_PRIVATE:
		why_propose(ask, KEY_NET_PRIVATE, item->address);
		break;
	default:
		break;
	}
}

static int refuse(struct why_ask *ask, struct netlog_item *item, const struct ip *ip,
		  struct err *e) {
	struct why_answer *a = &ask->answer;

	item->op = NET_OP_CONNECT;
	item->outcome = NET_DENIED;
	if (!netlog_complete(&ask->p.arena, item, ip)) {
		return err_memory(e, "library");
	}
	a->verdict = WHY_REFUSED;
	a->reason = item->why;
	if (item->cause == NET_CAUSE_METADATA) {
		a->barrier = "metadata";
	} else if (a->barrier == NULL) {
		propose(ask, item);
		a->advice = item->remedy == NULL ? why_text(ask, netlog_advice(&ask->p.arena, item))
						 : NULL;
	}
	return 0;
}

/* ---- rules ---- */

/* A verdict of net/judge.h; ip: the address that it is about, or NULL. */
static int take(struct why_ask *ask, const struct host_question *q, const struct net_verdict *v,
		const struct ip *ip, struct err *e) {
	struct netlog_item item = {
		.name = q->host.kind == HOST_NAME ? arena_strdup(&ask->p.arena, q->host.name)
						  : NULL,
		.port = q->port,
		.rule = v->rule == NULL ? NULL : v->rule->written,
		.why = v->why,
		.own = v->own,
	};

	if (ip != NULL) {
		char text[IP_TEXT];
		(void)ip_text(ip, text); /* it fits */
		item.address = arena_strdup(&ask->p.arena, text);
		ask->answer.resolved = item.name == NULL ? NULL : item.address;
	}
	if ((q->host.kind == HOST_NAME && item.name == NULL) ||
	    (ip != NULL && item.address == NULL)) {
		return err_memory(e, "library");
	}
	if (v->rule != NULL) {
		by_rule(ask, v->allowed || v->own ? KEY_NET_ALLOW : KEY_NET_DENY, v->rule);
		bool floor = v->rule->origin.kind == ORIGIN_FLOOR;
		ask->answer.barrier = !v->allowed && floor ? "floor" : NULL;
	} else if (v->allowed) {
		by_key(ask, KEY_NET_MODE);
	} else {
		by_key(ask, KEY_NET_ALLOW);
	}
	if (v->allowed) {
		ask->answer.verdict = WHY_ALLOWED;
		return 0;
	}
	return refuse(ask, &item, ip, e);
}

/* One address of an allowed name, as the gate's upstream.c judges it. */
static struct net_verdict judge_address(const struct net_plan *net, const struct net_rule *by,
					const struct ip *ip, uint16_t port) {
	auto_fd routes = local_address_open();
	struct net_verdict listed = judge_ip(net, ip, port);
	struct net_verdict v = judge_target(net, by, ip, port);

	if (v.allowed && !judge_is_single_address(&listed) &&
	    local_address_check(routes, 1, ip) != LOCAL_ADDRESS_NO) {
		return (struct net_verdict){.rule = by,
					    .own = true,
					    .why = "the name resolves to an address of this host"};
	}
	v.rule = v.allowed ? by : v.rule;
	return v;
}

/* The first address that is allowed, else the first that is refused. */
static int judge_addresses(struct why_ask *ask, const struct host_question *q,
			   const struct net_verdict *named, struct err *e) {
	const struct net_plan *net = &ask->p.plan.net;
	const struct dns_answer *answers[] = {&ask->lookup->found.v4, &ask->lookup->found.v6};
	struct net_verdict first = *named;
	const struct ip *at = NULL;

	for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
		struct net_verdict aliases = judge_aliases(net, named->rule, answers[i], q->port);
		for (size_t k = 0; k < answers[i]->nips; k++) {
			const struct ip *ip = &answers[i]->ips[k];
			struct net_verdict v =
				aliases.allowed ? judge_address(net, named->rule, ip, q->port)
						: aliases;
			if (v.allowed) {
				return take(ask, q, &v, ip, e);
			}
			first = at == NULL ? v : first;
			at = at == NULL ? ip : at;
		}
	}
	return take(ask, q, &first, at, e);
}

static int judge_named(struct why_ask *ask, const struct host_question *q, struct err *e) {
	struct net_verdict v = judge_name(&ask->p.plan.net, q->host.name, q->port);
	struct why_lookup *l = ask->lookup;

	if (!v.allowed) {
		return take(ask, q, &v, NULL, e);
	}
	if (!l->done) {
		l->rc = lookup_sync(q->host.name, &l->found);
		l->done = true;
	}
	if (l->rc != 0 || l->found.v4.nips + l->found.v6.nips == 0) {
		ask->answer.note = "this host's name servers have no address for it now";
		return take(ask, q, &v, NULL, e);
	}
	return judge_addresses(ask, q, &v, e);
}

/* ---- the sandbox's own loopback ---- */

static bool is_loopback(const struct hostname *h) {
	const struct ip one = {{[15] = 1}};

	if (h->kind == HOST_NAME) {
		return streq(h->name, "localhost");
	}
	return ip_is4(&h->ip) ? h->ip.b[12] == 127 : ip_same(&h->ip, &one);
}

/* 127.0.0.2, …: the gate passes ports of 127.0.0.1 and ::1. */
static bool is_unserved(const struct hostname *h) {
	return h->kind == HOST_IP && ip_is4(&h->ip) && !ip_same(&h->ip, &ip_loopback4);
}

static void refuse_unserved(struct why_ask *ask, const struct host_question *q) {
	struct why_answer *a = &ask->answer;

	a->verdict = WHY_REFUSED;
	a->reason = "net.host_ports passes ports of 127.0.0.1 and ::1, not of other addresses of "
		    "this host's loopback";
	a->advice = q->port == 0 ? "connect to 127.0.0.1:PORT, and use --host-port PORT"
				 : arena_printf(&ask->p.arena,
						"connect to 127.0.0.1:%u, and use --host-port %u",
						(unsigned)q->port, (unsigned)q->port);
}

static void judge_loopback(struct why_ask *ask, const struct host_question *q) {
	struct why_answer *a = &ask->answer;

	by_key(ask, KEY_NET_HOST_PORTS);
	if (is_unserved(&q->host)) {
		refuse_unserved(ask, q);
		return;
	}
	if (q->port != 0 && net_passes_port(&ask->p.plan.net, q->port)) {
		a->verdict = WHY_ALLOWED;
		return;
	}
	a->verdict = WHY_REFUSED;
	a->reason = "a command reaches only ports of its own run on the loopback, not services of "
		    "this host";
	if (q->port == 0) {
		a->advice = "name the port: corral why 127.0.0.1:PORT";
	} else {
		why_propose(ask, KEY_NET_HOST_PORTS,
			    arena_printf(&ask->p.arena, "%u", (unsigned)q->port));
	}
}

int why_host(struct why_ask *ask, struct err *e) {
	const struct plan *plan = &ask->p.plan;
	struct host_question q = {0};

	if (parse(ask->q->text, &q, e) != 0) {
		return -1;
	}
	ask->answer.op = "connect";
	ask->answer.object = ask->q->text;
	if (!plan->own_net) {
		ask->answer.verdict = WHY_ALLOWED;
		by_key(ask, plan->full_access ? KEY_MODE : KEY_NET_MODE);
		return 0;
	}
	if (is_loopback(&q.host)) {
		judge_loopback(ask, &q);
		return 0;
	}
	if (!net_has_names(&plan->net)) {
		struct net_verdict v = {.why = "the sandbox has no network (net.mode none)"};
		int rc = take(ask, &q, &v, q.host.kind == HOST_IP ? &q.host.ip : NULL, e);
		by_key(ask, KEY_NET_MODE);
		return rc;
	}
	if (q.host.kind == HOST_NAME) {
		return judge_named(ask, &q, e);
	}
	struct net_verdict v = judge_ip(&plan->net, &q.host.ip, q.port);
	return take(ask, &q, &v, &q.host.ip, e);
}
