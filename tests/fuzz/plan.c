/* SPDX-License-Identifier: Apache-2.0 */
/* Any policy on any host.
 *
 * An input is a text, which plan_world.h explains.
 *
 * What must hold of every plan that is made (numbers from plan.h):
 *   L1  a target comes after every target above it, once, and is a normal path;
 *   L2  the rules in another order give the same plan, and so does a second time;
 *   L3  a denied file of the host is seen nowhere, but through a grant beneath
 *       the denied path; a protected one is writable nowhere;
 *   P3  rules that deny and protect show and open nothing;
 *   L4  set-up makes nothing in a tree of the host;
 *   L5  every promise has its mechanism on this host, or its reason.
 *   and no rule about hosts names what this host's own files or the policy do not.
 * No rule brings the host's /proc, /sys, /dev or sockets in, but for a socket by its name. */
#include "plan_world.h"

#include "fuzz.h"

#include "base/auto.h"
#include "base/path.h"
#include "base/str.h"
#include "data/paths.h"

#include <jansson.h>

/* ---- what is seen inside ---- */

static bool is_tree(const struct mount *m) {
	return m->kind == MOUNT_BIND || m->kind == MOUNT_PROC;
}

/* Which mount decides at a place; pins only when they restrict. */
static const struct mount *decides(const struct plan *plan, const char *place, bool with_pins) {
	const struct mount *best = NULL;
	for (size_t i = 0; i < plan->nmounts; i++) {
		const struct mount *m = &plan->mounts[i];
		bool counts = m->kind != MOUNT_PIN || (with_pins && !m->writable);
		if (counts && path_within(place, m->target) &&
		    (best == NULL || strlen(m->target) >= strlen(best->target))) {
			best = m;
		}
	}
	return best;
}

/* Where a mount shows a path of the host, or NULL. */
static const char *place_of(struct world *w, const struct mount *m, const char *host) {
	if (!is_tree(m) || !path_within(host, m->source)) {
		return NULL;
	}
	const char *rest = host + (streq(m->source, "/") ? 0 : strlen(m->source));
	return path_normal(&w->a, arena_printf(&w->a, "%s/%s", m->target, rest));
}

/* A grant that names something strictly beneath the denied path re-opens it. */
static bool reopened(struct world *w, const char *host, const char *denied) {
	static const enum key_id grants[] = {KEY_FS_READ, KEY_FS_WRITE};
	const struct value *agent = &w->p.values[KEY_FS_AGENT];
	for (size_t g = 0; g < ARRAY_LEN(grants); g++) {
		const struct value *v = &w->p.values[grants[g]];
		for (size_t i = 0; i < v->count; i++) {
			const char *full = world_walk(w, v->items[i].str, true);
			if (full != NULL && !streq(full, denied) && path_within(full, denied) &&
			    path_within(host, full)) {
				return true;
			}
		}
	}
	const char *full = agent->set ? world_walk(w, agent->str, true) : NULL;
	return full != NULL && !streq(full, denied) && path_within(full, denied) &&
	       path_within(host, full);
}

static bool is_named_socket(const struct plan *plan, const char *host, const char *denied) {
	for (size_t i = 0; i < plan->net.nsockets; i++) {
		if (streq(plan->net.sockets[i].source, host) && !streq(host, denied)) {
			return true;
		}
	}
	return false;
}

static void is_unseen(struct world *w, const struct plan *plan, const char *host,
		      const char *denied) {
	for (size_t i = 0; i < plan->nmounts; i++) {
		const struct mount *m = &plan->mounts[i];
		const char *place = place_of(w, m, host);
		HOLDS(m->kind != MOUNT_DEVICE || !path_within(m->source, denied));
		if (place != NULL && decides(plan, place, false) == m) {
			HOLDS(reopened(w, host, denied) || is_named_socket(plan, host, denied));
		}
	}
}

static void is_unwritable(struct world *w, const struct plan *plan, const char *host) {
	for (size_t i = 0; i < plan->nmounts; i++) {
		const struct mount *m = &plan->mounts[i];
		const char *place = place_of(w, m, host);
		if (place != NULL && decides(plan, place, false) == m) {
			HOLDS(!decides(plan, place, true)->writable);
		}
	}
}

static void holds_rules(struct world *w, const struct plan *plan) {
	const struct value *deny = &w->p.values[KEY_FS_DENY],
			   *protect = &w->p.values[KEY_FS_PROTECT];
	for (size_t n = 0; n < w->n; n++) {
		const char *host = w->nodes[n].path;
		for (size_t i = 0; i < deny->count; i++) {
			const char *denied = world_walk(w, deny->items[i].str, true);
			if (denied != NULL && path_within(host, denied)) {
				is_unseen(w, plan, host, denied);
			}
		}
		for (size_t i = 0; i < protect->count; i++) {
			const char *kept = world_walk(w, protect->items[i].str, true);
			if (kept != NULL && path_within(host, kept)) {
				is_unwritable(w, plan, host);
			}
		}
	}
}

/* Whether a file of the host is seen at a place, and can be changed there. */
static bool seen_at(struct world *w, const struct plan *plan, const char *host, const char *place) {
	const struct mount *m = decides(plan, place, false);
	const char *there = m == NULL ? NULL : place_of(w, m, host);
	return there != NULL && streq(there, place);
}

/* Anybody may add rules that deny and protect, so none of them may show what was
 * hidden before, or open what was closed (P3). */
static void rules_only_narrow(struct world *w, const struct plan *plan) {
	struct policy without = w->p;
	struct plan before;
	struct err e = {0};
	without.values[KEY_FS_DENY] = without.values[KEY_FS_PROTECT] = (struct value){0};
	if (plan_build(&w->a, &without, &w->h, &before, &e) != 0) {
		return;
	}
	for (size_t n = 0; n < w->n; n++) {
		const char *host = w->nodes[n].path;
		for (size_t i = 0; i < plan->nmounts; i++) {
			const char *place = place_of(w, &plan->mounts[i], host);
			if (place != NULL && seen_at(w, plan, host, place)) {
				HOLDS(seen_at(w, &before, host, place));
				HOLDS(!decides(plan, place, true)->writable ||
				      decides(&before, place, true)->writable);
			}
		}
	}
}

/* ---- the list of mounts ---- */

static bool is_system_row(const char *source) {
	for (size_t i = 0; i < system_roots.count; i++) {
		if (path_within(source, system_roots.rows[i].path)) {
			return true;
		}
	}
	return false;
}

/* Places that hold other processes, devices or kernel settings. */
static void source_is_harmless(const struct mount *m) {
	bool socket = m->is_file && m->reach == REACH_NONE;
	HOLDS(socket || (!path_within(m->source, "/proc") && !path_within(m->source, "/dev")));
	HOLDS(socket || !path_within(m->source, "/sys") || is_system_row(m->source));
	HOLDS(!path_within("/home/ann/.local/state/corral", m->source) ||
	      !path_within(m->source, "/home/ann/.local/state/corral"));
}

static bool is_own_home(const struct plan *plan, const struct mount *m) {
	return plan->home_source != NULL && m->source != NULL &&
	       streq(m->source, plan->home_source);
}

static void mounts_are_ordered(struct world *w, const struct plan *plan) {
	for (size_t i = 0; i < plan->nmounts; i++) {
		const struct mount *m = &plan->mounts[i];
		const char *normal = path_normal(&w->a, m->target);
		HOLDS(normal != NULL && streq(normal, m->target) && !streq(normal, "/"));
		for (size_t k = 0; k < i; k++) {
			HOLDS(!path_within(plan->mounts[k].target, m->target));
		}
		if (m->kind == MOUNT_BIND) {
			source_is_harmless(m);
		}
	}
}

static void nothing_is_made_in_trees(const struct plan *plan) {
	for (size_t i = 0; i < plan->nmounts; i++) {
		const struct mount *m = &plan->mounts[i], *outer = NULL;
		for (size_t k = 0; k < i; k++) {
			const struct mount *other = &plan->mounts[k];
			if (other->kind != MOUNT_PIN && path_within(m->target, other->target)) {
				outer = other;
			}
		}
		bool in_tree =
			outer != NULL && outer->kind == MOUNT_BIND && !is_own_home(plan, outer);
		HOLDS(!in_tree || !m->create);
	}
}

/* ---- promises ---- */

static bool has_mechanism(const struct guarantee_report *p, const char *name) {
	for (size_t i = 0; i < ARRAY_LEN(p->by) && p->by[i] != NULL; i++) {
		if (streq(p->by[i], name)) {
			return true;
		}
	}
	return false;
}

static void promise_is_kept(const struct world *w, const struct plan *plan, enum guarantee g) {
	const struct guarantee_report *p = &plan->guarantees[g];
	const struct host_cgroup *c = &w->h.cgroup;
	HOLDS((p->state == STATE_ENFORCED) == (p->why == NULL));
	HOLDS((p->state == STATE_ABSENT) == (p->by[0] == NULL));
	HOLDS(!has_mechanism(p, "landlock") || w->h.landlock_abi > 0);
	HOLDS(!has_mechanism(p, "netns") || plan->own_net);
	HOLDS(!has_mechanism(p, "cgroup") || plan->use_cgroup);
	HOLDS(!has_mechanism(p, "cgroup") || g != GUARANTEE_LIMITS_MEMORY || c->memory);
	HOLDS(!has_mechanism(p, "cgroup") || g != GUARANTEE_LIMITS_PROCESSES || c->pids);
	HOLDS(!has_mechanism(p, "cgroup") || g != GUARANTEE_LIMITS_CPU || c->cpu);
	HOLDS(!has_mechanism(p, "rlimit") || g != GUARANTEE_LIMITS_PROCESSES || !w->h.privileged);
	HOLDS(!has_mechanism(p, "sampling") || p->state == STATE_WEAKER);
	HOLDS(!has_mechanism(p, "affinity") || (p->state == STATE_WEAKER && plan->processors > 0));
	for (size_t i = 0; i < w->p.values[KEY_REQUIRE].count; i++) {
		HOLDS(!streq(w->p.values[KEY_REQUIRE].items[i].str, guarantee_name(g)) ||
		      p->state == STATE_ENFORCED);
	}
}

static void limits_are_asked(const struct world *w, const struct plan *plan) {
	const struct guarantee_report *p = plan->guarantees;
	const struct value *v = w->p.values;
	HOLDS(p[GUARANTEE_LIMITS_MEMORY].state != STATE_ENFORCED ||
	      plan->memory_bytes == v[KEY_LIMITS_MEMORY].num);
	HOLDS(p[GUARANTEE_LIMITS_TIME].state != STATE_ENFORCED ||
	      (plan->timeout_ms == v[KEY_LIMITS_TIMEOUT].num && plan->timeout_ms != LIMIT_NONE));
	HOLDS(p[GUARANTEE_NET].state != STATE_ENFORCED || v[KEY_NET_MODE].num != NET_FULL);
	HOLDS(plan->own_net == (v[KEY_NET_MODE].num != NET_FULL));
	HOLDS(plan->level != LEVEL_FULL || w->h.landlock_abi >= 4);
	HOLDS(plan->landlock_abi <= w->h.landlock_abi);
	HOLDS(w->h.userns && w->h.seccomp && plan->engine == ENGINE_NAMESPACES);
}

/* ---- the rest of the plan ---- */

static void workspace_is_there(const struct world *w, const struct plan *plan) {
	const struct mount *m = decides(plan, plan->workspace_at, true);
	bool read_only = w->p.values[KEY_MODE].num == MODE_READ_ONLY;
	HOLDS(m != NULL && m->kind == MOUNT_BIND && m->writable == !read_only);
	HOLDS(path_within(plan->workspace, m->source));
	HOLDS(plan->cwd[0] == '/');
}

static void environment_is_sorted(const struct plan *plan) {
	for (size_t i = 0; i < plan->nenv; i++) {
		size_t n = strcspn(plan->env[i], "=");
		HOLDS(n > 0 && plan->env[i][n] == '=');
		for (size_t k = 0; k < i; k++) {
			HOLDS(strncmp(plan->env[i], plan->env[k], n + 1) != 0);
		}
	}
	HOLDS(plan->env[plan->nenv] == NULL);
}

/* Names are the host's and the policy's: they stay in their line. */
static void explains(const struct plan *plan, const struct policy *p, struct buf *json) {
	auto_buf text = {0};
	plan_explain(plan, p, false, &text);
	for (const char *at = text.data; *at != '\0'; at += str_char_length(at)) {
		HOLDS(*at == '\n' || str_control_length(at) == 0);
	}
	plan_explain(plan, p, true, json);
	json_t *tree = json_loadb(json->data, json->len, JSON_REJECT_DUPLICATES, NULL);
	HOLDS(tree != NULL);
	json_decref(tree);
}

/* ---- order ---- */

/* Patterns and sets have an order: the last that matches decides. */
static bool is_ordered(const struct value *v) {
	for (size_t i = 0; i < v->count; i++) {
		if (v->items[i].kind != ITEM_PLAIN || v->items[i].except) {
			return true;
		}
	}
	return false;
}

static void turn_around(struct world *w) {
	for (size_t i = 0; i < KEY_COUNT; i++) {
		struct value *v = &w->p.values[i];
		if (is_ordered(v)) {
			continue;
		}
		for (size_t a = 0, b = v->count; a + 1 < b; a++) {
			struct item kept = v->items[a];
			v->items[a] = v->items[--b];
			v->items[b] = kept;
		}
	}
}

static void same_again(struct world *w, const struct buf *before) {
	for (int round = 0; round < 2; round++) {
		struct plan plan;
		struct err e = {0};
		auto_buf json = {0};
		HOLDS(plan_build(&w->a, &w->p, &w->h, &plan, &e) == 0);
		plan_explain(&plan, &w->p, true, &json);
		HOLDS(json.len == before->len && memcmp(json.data, before->data, json.len) == 0);
		turn_around(w);
	}
}

static void judge(struct world *w, const struct plan *plan) {
	auto_buf json = {0};
	mounts_are_ordered(w, plan);
	nothing_is_made_in_trees(plan);
	holds_rules(w, plan);
	rules_only_narrow(w, plan);
	for (enum guarantee g = 0; g < GUARANTEE_COUNT; g++) {
		promise_is_kept(w, plan, g);
	}
	limits_are_asked(w, plan);
	workspace_is_there(w, plan);
	environment_is_sorted(plan);
	explains(plan, &w->p, &json);
	same_again(w, &json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	struct world w;
	struct plan plan;
	struct err e = {0};
	world_init(&w, data, size < 4096 ? size : 4096);
	/* What the check refuses never comes to a plan. */
	if (policy_check_environment(&w.p, &e) == 0 && policy_check_net(&w.p, &e) == 0) {
		if (plan_build(&w.a, &w.p, &w.h, &plan, &e) == 0) {
			judge(&w, &plan);
		} else {
			HOLDS(e.kind != ERR_NONE && e.what[0] != '\0');
		}
	}
	arena_done(&w.a);
	return 0;
}
