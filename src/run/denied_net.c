/* SPDX-License-Identifier: Apache-2.0 */
/* Judges refused connections.
 *
 * Should:   name the option that allows the connection.
 * Must not: connect to anything.
 * Fails:    open: out of memory there is no denial. */
#include "run/denials_judge.h"

#include "base/str.h"

#include <errno.h>

/* The name is not known, and an option for the address of the server would not help. */
static bool is_lookup(const char *address) {
	static const char port[] = ":53";
	size_t len = strlen(address);

	return len >= sizeof port && streq(address + len - (sizeof port - 1), port);
}

bool denied_net_judge(const struct judging *g, const struct journal_refusal *r,
		      struct denial *ret) {
	const struct origin *origin = &g->policy->values[KEY_NET_MODE].origin;
	bool floor = origin->kind == ORIGIN_FLOOR;
	char text[128];

	if (!g->plan->own_net || r->op != DENIAL_CONNECT || r->error == ECONNREFUSED ||
	    is_lookup(r->named[0])) {
		return false;
	}
	policy_origin_text(origin, text, sizeof text);
	*ret = (struct denial){
		.op = r->op,
		.host = arena_strdup(g->a, r->named[0]),
		.error = r->error,
		.rule = "net.mode none",
		.origin = arena_strdup(g->a, text),
		.why = arena_printf(g->a, "the sandbox has no network (net.mode none, %s)", text),
		.remedy =
			floor ? arena_printf(g->a,
					     "no option allows it: change net.mode where it "
					     "is written (%s)",
					     text)
			      : arena_printf(g->a, "allow the host: --allow-host %s", r->named[0]),
		.allow_with = floor ? NULL : arena_printf(g->a, "--allow-host %s", r->named[0]),
		.count = r->count,
	};
	return ret->host != NULL && ret->why != NULL && ret->remedy != NULL;
}
