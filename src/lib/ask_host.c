/* SPDX-License-Identifier: Apache-2.0 */
/* Judges a host that the gate would refuse: whether a rule for it would allow it.
 *
 * Not by `corral why`, which resolves the name: no name server may receive it before the user has
 * agreed.
 *
 * Should:   ask only where a plan with --allow-host allows the host at this port.
 * Must not: look a name up; ask about a metadata service, the loopback or a reserved address.
 * Fails:    closed: each error is a denial. */
#include "lib/ask.h"

#include "base/hostname.h"
#include "data/ranges.h"
#include "net/judge.h"

static bool allows(const struct net_plan *net, const struct hostname *host, uint16_t port) {
	return host->kind == HOST_IP ? judge_ip(net, &host->ip, port).allowed
				     : judge_name(net, host->name, port).allowed;
}

static bool plan_allows(const struct corral_policy *policy, const struct hostname *host,
			uint16_t port) {
	struct prepared p = {.command = NULL};
	struct err unused = {0};
	bool allowed = prepared_plan(policy, true, &p, &unused) == 0 &&
		       net_has_names(&p.plan.net) && allows(&p.plan.net, host, port);

	arena_done(&p.arena);
	return allowed;
}

/* "example.org", "example.org:22", "[2001:db8::1]:443" */
static const char *place(struct arena *a, const struct ask_question *q, const struct hostname *h) {
	bool six = h->kind == HOST_IP && !ip_is4(&h->ip);

	return q->flags == 0 ? arena_strdup(a, q->path)
	       : six         ? arena_printf(a, "[%s]:%d", q->path, q->flags)
			     : arena_printf(a, "%s:%d", q->path, q->flags);
}

enum ask_verdict ask_host_judge(struct asking *a, const struct ask_question *q,
				struct ask_host *h) {
	struct hostname host;
	struct corral_policy with;
	uint16_t port = (uint16_t)q->flags;

	(void)hostname_parse(q->path, strlen(q->path), &host);
	const struct range *special = host.kind == HOST_IP ? range_of(&host.ip) : NULL;
	if (host.kind == HOST_BAD || (special != NULL && special->kind != RANGE_PRIVATE) ||
	    q->flags < 0 || q->flags > UINT16_MAX) {
		return ASK_DENY;
	}
	if (a->ngrants > 0 && plan_allows(&a->with, &host, port)) {
		return ASK_GRANT;
	}
	h->grant = (struct why_grant){
		.settings = {{keys[KEY_NET_ALLOW].name, place(&h->arena, q, &host)}}, .n = 1};
	if (h->grant.settings[0].value == NULL) {
		return ASK_DENY;
	}
	policy_derive(&a->with, &with);
	bool helps = why_set_all(&with, &h->grant, "--ask") == 0 && plan_allows(&with, &host, port);
	arena_done(&with.arena);
	return helps ? ASK_USER : ASK_DENY;
}
