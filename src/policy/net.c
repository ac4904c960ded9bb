/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the keys of net.* against net.mode, and derives the mode filtered from net.allow.
 *
 * Should:   let the mode of a later layer override keys of earlier layers; the plan prints a
 *           note about keys without effect.
 * Must not: widen a mode that a layer chose.
 * Fails:    closed: a key of the same or a later layer that the mode makes ineffective is an
 *           error that names both. */
#include "policy/internal.h"

#include "base/auto.h"
#include "base/str.h"
#include "policy/endpoint.h"

#include <stdio.h>

void net_imply(struct policy *p) {
	struct value *mode = &p->values[KEY_NET_MODE];
	const struct value *allow = &p->values[KEY_NET_ALLOW];
	if (mode->origin.kind == ORIGIN_BUILTIN && allow->count > 0) {
		mode->num = NET_FILTERED;
		mode->origin = allow->items[0].origin;
	}
}

struct needs {
	enum key_id key;
	bool none, full; /* whether the key has an effect with these modes */
};

static const struct needs all_needs[] = {
	{KEY_NET_ALLOW, false, false},   {KEY_NET_DENY, true, false},
	{KEY_NET_PRIVATE, false, false}, {KEY_NET_PROXY, false, false},
	{KEY_NET_PUBLISH, true, false},  {KEY_NET_HOST_PORTS, true, false},
};

bool net_means(enum key_id key, int64_t mode) {
	for (size_t i = 0; i < ARRAY_LEN(all_needs); i++) {
		if (all_needs[i].key == key) {
			return mode == NET_NONE   ? all_needs[i].none
			       : mode == NET_FULL ? all_needs[i].full
						  : true;
		}
	}
	return true;
}

/* The origin of the last item, or of the value; NULL when the key is not set. */
const struct origin *net_asked(const struct policy *p, enum key_id key) {
	const struct value *v = &p->values[key];
	const struct origin *last = NULL;
	if (!value_key_is_list(&keys[key])) {
		return v->set && v->num != 0 ? &v->origin : NULL;
	}
	for (size_t i = 0; i < v->count; i++) {
		if (last == NULL || v->items[i].origin.kind >= last->kind) {
			last = &v->items[i].origin;
		}
	}
	return last;
}

static int check_need(const struct policy *p, enum key_id key, struct err *e) {
	const struct value *mode = &p->values[KEY_NET_MODE];
	const struct origin *origin = net_asked(p, key);
	if (origin == NULL || net_means(key, mode->num) || origin->kind < mode->origin.kind) {
		return 0;
	}
	if (mode->origin.kind == ORIGIN_BUILTIN) {
		char from[SHOWN_MAX];
		(void)err_set(e, ERR_USAGE, "policy",
			      "%s (%s) needs a network, but net.mode is %s (built-in)",
			      keys[key].name, policy_origin_text(origin, from, sizeof from),
			      keys[KEY_NET_MODE].choices[mode->num]);
	} else {
		char text[40];
		(void)snprintf(text, sizeof text, "net.mode %s",
			       keys[KEY_NET_MODE].choices[mode->num]);
		(void)check_contradiction(text, &mode->origin, keys[key].name, origin, e);
	}
	return mode->num == NET_NONE
		       ? err_fix(e, "add --net filtered --allow-host HOST, or --net restricted")
		       : err_fix(e, "remove %s, or use --net filtered or --net restricted",
				 keys[key].name);
}

/* ---- ports ---- */

static int ports_clash(enum key_id a, const struct item *x, enum key_id b, const struct item *y,
		       struct err *e) {
	char first[80], second[80];
	(void)snprintf(first, sizeof first, "%s %s", keys[a].name, x->str);
	(void)snprintf(second, sizeof second, "%s %s", keys[b].name, y->str);
	(void)check_contradiction(first, &x->origin, second, &y->origin, e);
	return err_fix(e, "use another port for one of them");
}

static int check_published(const struct policy *p, const struct item *it, size_t from,
			   struct err *e) {
	const struct value *publish = &p->values[KEY_NET_PUBLISH];
	const struct value *ports = &p->values[KEY_NET_HOST_PORTS];
	uint16_t inside, outside, other, other_outside;

	(void)endpoint_port_pair(it->str, &inside, &outside); /* valid: it was parsed before */
	for (size_t i = from; i < publish->count; i++) {
		(void)endpoint_port_pair(publish->items[i].str, &other, &other_outside);
		if (outside == other_outside) {
			return ports_clash(KEY_NET_PUBLISH, it, KEY_NET_PUBLISH, &publish->items[i],
					   e);
		}
	}
	for (size_t i = 0; i < ports->count; i++) {
		(void)endpoint_port_pair(ports->items[i].str, &other, &other_outside);
		if (inside == other) {
			return ports_clash(KEY_NET_PUBLISH, it, KEY_NET_HOST_PORTS,
					   &ports->items[i], e);
		}
	}
	return 0;
}

int policy_check_net(const struct policy *p, struct err *e) {
	const struct value *publish = &p->values[KEY_NET_PUBLISH];
	for (size_t i = 0; i < ARRAY_LEN(all_needs); i++) {
		if (check_need(p, all_needs[i].key, e) != 0) {
			return -1;
		}
	}
	for (size_t i = 0; i < publish->count; i++) {
		if (check_published(p, &publish->items[i], i + 1, e) != 0) {
			return -1;
		}
	}
	return 0;
}
