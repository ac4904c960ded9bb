/* SPDX-License-Identifier: Apache-2.0 */
/* plan_world.h with a network. */
#ifndef CORRAL_TESTS_UNIT_NET_WORLD_H
#define CORRAL_TESTS_UNIT_NET_WORLD_H

#include "plan_world.h"

static inline void net_world(struct world *w, enum net mode) {
	world_init(w);
	w->h.sockets = true;
	w->h.run_dir = "/tmp/corral-1000-x";
	set_num(w, KEY_NET_MODE, mode);
}

static inline void allow_set(struct world *w, const char *name) {
	add_item(w, KEY_NET_ALLOW, name)->kind = ITEM_SET;
}

/* The rule for a name and port, or NULL. */
static inline const struct net_rule *rule_of(const struct world *w, const char *name, int port) {
	for (size_t i = 0; i < w->plan.net.nallow; i++) {
		const struct net_rule *r = &w->plan.net.allow[i];
		if (r->kind == NET_RULE_NAME && streq(r->name, name) && r->port == port) {
			return r;
		}
	}
	return NULL;
}

static inline bool has_warning(const struct world *w, const char *part) {
	for (size_t i = 0; i < w->plan.nwarnings; i++) {
		if (strstr(w->plan.warnings[i], part) != NULL) {
			return true;
		}
	}
	return false;
}

static inline void put_text(struct world *w, const char *path, const char *text) {
	for (size_t i = 0; i < w->fs.n; i++) {
		if (streq(w->fs.nodes[i].path, path)) {
			w->fs.nodes[i].text = text;
			return;
		}
	}
	node(w, path, 'f', text);
}

static inline void drop(struct world *w, const char *path) {
	for (size_t i = 0; i < w->fs.n; i++) {
		if (streq(w->fs.nodes[i].path, path)) {
			w->fs.nodes[i] = w->fs.nodes[--w->fs.n];
		}
	}
}

#endif
