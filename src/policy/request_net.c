/* SPDX-License-Identifier: Apache-2.0 */
/* Requests for hosts: net.mode and net.allow (policy/request.h).
 *
 * Should:   turn a wide mode of the policy into the hosts that are requested: a skill that names
 *           two hosts gets a filtered network with these, also if the policy's is full.
 * Must not: let net.mode restricted cover an address: it covers names, whose connections the gate
 *           inspects.
 * Fails:    closed: a set of hosts is covered by the same set alone, because only the host of a run
 *           knows its members. */
#include "policy/request.h"

#include "policy/cover.h"

#include <stdio.h>

static bool is_covered(const struct policy *base, const struct item *it) {
	switch (base->values[KEY_NET_MODE].num) {
	case NET_NONE:
		return false;
	case NET_FULL:
		return true;
	case NET_RESTRICTED:
		return cover_web_name(it) || cover_host(&base->values[KEY_NET_ALLOW], it);
	default:
		return cover_host(&base->values[KEY_NET_ALLOW], it);
	}
}

static const char *mode_word(int64_t mode) {
	return keys[KEY_NET_MODE].choices[mode];
}

static int refuse_host(struct asking *q, const struct item *it) {
	const struct value *mode = &q->base->values[KEY_NET_MODE];
	char from[SHOWN_MAX];
	policy_origin_text(&mode->origin, from, sizeof from);
	const char *why =
		mode->num == NET_NONE
			? arena_printf(q->by->a, "net.mode is none (%s)", from)
			: arena_printf(q->by->a, "net.mode %s (%s) and net.allow do not cover it",
				       mode_word(mode->num), from);
	return request_refused(q, KEY_NET_ALLOW, it, why, request_option(q, KEY_NET_ALLOW, it));
}

static int answer_hosts(struct asking *q, struct value *given) {
	const struct value *asked = &q->layer->values[KEY_NET_ALLOW];
	for (size_t i = 0; i < asked->count; i++) {
		const struct item *it = &asked->items[i];
		bool covered = is_covered(q->base, it);
		if (covered ? request_granted(q, KEY_NET_ALLOW, it) != 0 ||
				      value_put(q->by->a, &keys[KEY_NET_ALLOW], given, it, q->e) !=
					      0
			    : refuse_host(q, it) != 0) {
			return -1;
		}
	}
	return 0;
}

/* The mode that is requested: by its key, or by hosts; -1: none is. */
static int64_t asked_mode(const struct asking *q) {
	const struct value *mode = &q->layer->values[KEY_NET_MODE];
	const struct value *allow = &q->layer->values[KEY_NET_ALLOW];
	if (mode->set) {
		return mode->num;
	}
	return allow->set      ? (allow->count > 0 ? NET_FILTERED : NET_NONE)
	       : q->by->closed ? NET_NONE
			       : -1;
}

/* A request for a wider mode than the policy's covers the hosts of the policy, as far as that mode
 * allows them. */
static int add_covered(struct asking *q, int64_t asked, struct value *given) {
	const struct value *base = &q->base->values[KEY_NET_ALLOW];
	for (size_t i = 0; i < base->count; i++) {
		bool covered = asked == NET_FULL || cover_web_name(&base->items[i]);
		if (covered &&
		    value_put(q->by->a, &keys[KEY_NET_ALLOW], given, &base->items[i], q->e) != 0) {
			return -1;
		}
	}
	return 0;
}

static int record_mode(struct asking *q, int64_t given) {
	const struct value *v = &q->layer->values[KEY_NET_MODE];
	char from[SHOWN_MAX];
	struct item asked = {.str = mode_word(v->num), .origin = v->origin};
	const struct value *base = &q->base->values[KEY_NET_MODE];
	if (!v->set) {
		return 0;
	}
	return v->num <= base->num
		       ? request_granted(q, KEY_NET_MODE, &asked)
		       : request_reduced(q, KEY_NET_MODE, &asked, mode_word(given),
					 arena_printf(q->by->a, "the policy sets %s (%s)",
						      mode_word(base->num),
						      policy_origin_text(&base->origin, from,
									 sizeof from)));
}

/* Where the new mode comes from. */
static struct origin mode_origin(const struct asking *q) {
	const struct value *v = q->layer->values;
	return v[KEY_NET_MODE].set    ? v[KEY_NET_MODE].origin
	       : v[KEY_NET_ALLOW].set ? v[KEY_NET_ALLOW].origin
				      : (struct origin){.kind = ORIGIN_SKILL, .name = q->by->name};
}

int request_net(struct asking *q) {
	const struct value *base = q->base->values;
	struct value given = {.set = base[KEY_NET_ALLOW].set, .origin = base[KEY_NET_ALLOW].origin};
	int64_t asked = asked_mode(q), stands = base[KEY_NET_MODE].num;
	if (asked < 0) {
		return 0;
	}
	int64_t mode = asked < stands ? asked : stands;
	/* A table without net.allow keeps the policy's. */
	bool keeps = !q->by->closed && !q->layer->values[KEY_NET_ALLOW].set;
	if (answer_hosts(q, &given) != 0) {
		return -1;
	}
	if (keeps) {
		given = base[KEY_NET_ALLOW];
	} else if (asked > NET_FILTERED && asked > stands && add_covered(q, asked, &given) != 0) {
		return -1;
	}
	if (mode == NET_FILTERED && given.count == 0) {
		mode = NET_NONE;
	}
	if (mode == NET_NONE || mode == NET_FULL) {
		given.count = 0; /* it has no effect */
	}
	struct value *to = q->p->values;
	if (mode != stands) {
		to[KEY_NET_MODE].num = mode;
		to[KEY_NET_MODE].origin = mode_origin(q);
	}
	if (settle_value(q->by->a, &keys[KEY_NET_ALLOW], &given, q->e) != 0) {
		return -1;
	}
	to[KEY_NET_ALLOW] = given;
	return record_mode(q, mode);
}
