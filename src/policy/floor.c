/* SPDX-License-Identifier: Apache-2.0 */
/* Applies the [floor] of the system's file to the merged policy (P4).
 *
 * For a number, a choice or a switch the floor is the loosest permitted value.  To a list that
 * restricts (fs.deny) the floor adds its items.  For a list that grants (fs.read) the floor
 * is the list of all that may be granted.  Whether this host and level enforce the floor is
 * checked in plan/floor.c.
 *
 * Should:   refuse a value that a layer set beyond the floor; lower a built-in value to it.
 * Must not: let a symbolic link, another key or a level circumvent the floor.
 * Fails:    closed: a value beyond the floor stops the run. */
#include "policy/internal.h"

#include "base/auto.h"
#include "base/path.h"
#include "base/str.h"
#include "policy/cover.h"
#include "policy/endpoint.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

static bool is_bound(const struct key *k) {
	return k->narrow == NARROW_NEVER && value_key_is_list(k);
}

bool floor_has_key(const struct key *k) {
	bool is_switch = k->narrow == NARROW_NEVER && k->type == TYPE_BOOL;
	return k->narrow == NARROW_LOWER || k->narrow == NARROW_HIGHER || k->narrow == NARROW_ADD ||
	       k->narrow == NARROW_RULES || is_switch || is_bound(k);
}

static int refuse_floor(const char *setting, const struct origin *origin,
			const struct origin *floor, struct err *e) {
	char from[SHOWN_MAX], low[SHOWN_MAX];
	(void)err_set(e, ERR_REFUSED, "policy", "%s (%s) goes beyond the system's floor (%s)",
		      setting, policy_origin_text(origin, from, sizeof from),
		      policy_origin_text(floor, low, sizeof low));
	return err_fix(e, "request less, or have the administrator relax /etc/corral/policy.toml");
}

/* A built-in value is replaced by the floor's, also by an equal one: its origin is then the
 * floor.  A value that a layer set is refused instead of being lowered silently. */
static int floor_scalar(const struct key *k, struct value *v, const struct value *floor,
			struct err *e) {
	char num[32], setting[96];
	if (!layer_loosens(k, v, floor)) {
		if (v->origin.kind == ORIGIN_BUILTIN && v->num == floor->num) {
			*v = *floor;
		}
		return 0;
	}
	if (v->origin.kind == ORIGIN_BUILTIN) {
		*v = *floor;
		return 0;
	}
	(void)snprintf(setting, sizeof setting, "%s = %s", k->name,
		       number_value(k, v->num, num, sizeof num));
	return refuse_floor(setting, &v->origin, &floor->origin, e);
}

/* ---- whether an item of the floor contains an item of the policy ---- */

/* The path with symbolic links resolved, if it exists: a link beneath a directory of the floor
 * may point out of it.  For a socket "PATH:DEST", PATH. */
static const char *real_path(struct arena *a, const char *text) {
	char real[PATH_MAX];
	const char *end = endpoint_socket_split(text);
	const char *path = end == NULL ? text : arena_strndup(a, text, (size_t)(end - text));
	if (path == NULL || realpath(path, real) == NULL) {
		return path;
	}
	return arena_strdup(a, real);
}

static bool is_path(const struct key *k) {
	return k->type == TYPE_PATHS || k->type == TYPE_SOCKETS;
}

/* ---- lists that grant ---- */

/* Paths of the floor, resolved once. */
struct bounds {
	struct arena *a;
	const struct value *floor;
	const char **real;
};

static int bounds_init(struct arena *a, const struct value *floor, struct bounds *ret,
		       struct err *e) {
	*ret = (struct bounds){.a = a, .floor = floor};
	ret->real = arena_array(a, floor->count + 1, sizeof *ret->real);
	for (size_t i = 0; ret->real != NULL && i < floor->count; i++) {
		ret->real[i] = real_path(a, floor->items[i].str);
		if (ret->real[i] == NULL) {
			return err_memory(e, "policy");
		}
	}
	return ret->real == NULL ? err_memory(e, "policy") : 0;
}

/* The item of the floor that contains the path; NULL when none does. */
static const struct item *bounds_find(const struct bounds *b, const char *path) {
	const char *real = real_path(b->a, path);
	for (size_t i = 0; real != NULL && i < b->floor->count; i++) {
		if (b->floor->items[i].kind == ITEM_PLAIN && path_within(real, b->real[i])) {
			return &b->floor->items[i];
		}
	}
	return NULL;
}

static int refuse_item(const struct key *k, const struct item *it, const struct value *floor,
		       struct err *e) {
	char setting[SHOWN_MAX], text[80];
	(void)snprintf(setting, sizeof setting, "%s %s", k->name,
		       value_shown(it->str, text, sizeof text));
	return refuse_floor(setting, &it->origin, &floor->origin, e);
}

static int floor_list(struct arena *a, const struct key *k, const struct value *v,
		      const struct value *floor, struct err *e) {
	struct bounds b;
	if (is_path(k) && bounds_init(a, floor, &b, e) != 0) {
		return -1;
	}
	for (size_t i = 0; i < v->count; i++) {
		bool within = is_path(k) && bounds_find(&b, v->items[i].str) != NULL;
		for (size_t n = 0; !is_path(k) && !within && n < floor->count; n++) {
			within = cover_item(k, &v->items[i], &floor->items[n]);
		}
		if (!within) {
			return refuse_item(k, &v->items[i], floor, e);
		}
	}
	return 0;
}

/* ---- bounds that concern several keys ---- */

static int check_path_within(const struct bounds *b, enum key_id key, const struct value *v,
			     struct err *e) {
	struct item it = {.str = v->str, .origin = v->origin};
	return !v->set || v->str == NULL || bounds_find(b, v->str) != NULL
		       ? 0
		       : refuse_item(&keys[key], &it, b->floor, e);
}

static int check_paths_within(const struct bounds *b, enum key_id key, const struct value *v,
			      struct err *e) {
	for (size_t i = 0; i < v->count; i++) {
		if (bounds_find(b, v->items[i].str) == NULL) {
			return refuse_item(&keys[key], &v->items[i], b->floor, e);
		}
	}
	return 0;
}

static int floor_writes(struct arena *a, const struct value *v, const struct value *floor,
			struct err *e) {
	struct bounds b;
	if (!floor->set || v[KEY_MODE].num == MODE_READ_ONLY) {
		return 0;
	}
	return bounds_init(a, floor, &b, e) != 0
		       ? -1
		       : check_path_within(&b, KEY_WORKSPACE, &v[KEY_WORKSPACE], e);
}

static int floor_reads(struct arena *a, const struct value *v, const struct value *floor,
		       struct err *e) {
	struct bounds b;
	if (!floor->set) {
		return 0;
	}
	if (bounds_init(a, floor, &b, e) != 0) {
		return -1;
	}
	if (v[KEY_FS_VIEW].num == VIEW_HOST && bounds_find(&b, "/") == NULL) {
		return refuse_floor("fs.view = host", &v[KEY_FS_VIEW].origin, &floor->origin, e);
	}
	return check_paths_within(&b, KEY_FS_WRITE, &v[KEY_FS_WRITE], e) != 0 ||
			       check_path_within(&b, KEY_WORKSPACE, &v[KEY_WORKSPACE], e) != 0 ||
			       check_path_within(&b, KEY_FS_AGENT, &v[KEY_FS_AGENT], e) != 0
		       ? -1
		       : 0;
}

/* A grant beneath a denied path reopens its part of it; but not when the floor denies it. */
static int floor_denies(struct arena *a, const struct value *v, const struct value *floor,
			struct err *e) {
	static const enum key_id grants[] = {KEY_FS_READ, KEY_FS_WRITE, KEY_NET_SOCKETS};
	const struct value *agent = &v[KEY_FS_AGENT];
	struct bounds b;
	if (floor->count == 0) {
		return 0;
	}
	if (bounds_init(a, floor, &b, e) != 0) {
		return -1;
	}
	for (size_t k = 0; k < ARRAY_LEN(grants); k++) {
		for (size_t i = 0; i < v[grants[k]].count; i++) {
			const struct item *it = &v[grants[k]].items[i];
			if (bounds_find(&b, it->str) != NULL) {
				return refuse_item(&keys[grants[k]], it, floor, e);
			}
		}
	}
	if (agent->set && bounds_find(&b, agent->str) != NULL) {
		struct item it = {.str = agent->str, .origin = agent->origin};
		return refuse_item(&keys[KEY_FS_AGENT], &it, floor, e);
	}
	return 0;
}

/* A floor of net.mode none also forbids ports and sockets of the host, except those that the
 * floor lists.  A floor of net.allow bounds the mode too: restricted and full reach every
 * host. */
static int floor_network(struct arena *a, const struct value *v, const struct value *floor,
			 struct err *e) {
	static const enum key_id reach[] = {KEY_NET_HOST_PORTS, KEY_NET_SOCKETS};
	const struct value *mode = &floor[KEY_NET_MODE], *allow = &floor[KEY_NET_ALLOW];
	bool none = mode->set && mode->num == NET_NONE;
	for (size_t i = 0; none && i < ARRAY_LEN(reach); i++) {
		if (!floor[reach[i]].set &&
		    floor_list(a, &keys[reach[i]], &v[reach[i]], mode, e) != 0) {
			return -1;
		}
	}
	if (allow->set && v[KEY_NET_MODE].num > NET_FILTERED) {
		char setting[40];
		(void)snprintf(setting, sizeof setting, "net.mode = %s",
			       keys[KEY_NET_MODE].choices[v[KEY_NET_MODE].num]);
		return refuse_floor(setting, &v[KEY_NET_MODE].origin, &allow->origin, e);
	}
	return 0;
}

/* An explicit level overrides the built-in min_level, but not the floor's. */
static int floor_level(const struct value *v, const struct value *floor, struct err *e) {
	const struct value *level = &v[KEY_LEVEL];
	char setting[40];
	if (!floor->set || level->num == LEVEL_AUTO || level->num >= floor->num) {
		return 0;
	}
	(void)snprintf(setting, sizeof setting, "level = %s", keys[KEY_LEVEL].choices[level->num]);
	return refuse_floor(setting, &level->origin, &floor->origin, e);
}

static int floor_key(struct arena *a, const struct key *k, struct value *v,
		     const struct value *floor, struct err *e) {
	if (is_bound(k)) {
		return floor_list(a, k, v, floor, e);
	}
	return k->narrow == NARROW_ADD || k->narrow == NARROW_RULES
		       ? layer_list_add(a, k, v, floor, e)
		       : floor_scalar(k, v, floor, e);
}

int floor_apply(struct arena *a, struct policy *p, const struct policy *floor, struct err *e) {
	struct value *v = p->values;
	const struct value *low = floor->values;
	for (size_t i = 0; i < KEY_COUNT; i++) {
		if (low[i].set && floor_key(a, &keys[i], &v[i], &low[i], e) != 0) {
			return -1;
		}
	}
	return floor_level(v, &low[KEY_MIN_LEVEL], e) != 0 ||
			       floor_writes(a, v, &low[KEY_FS_WRITE], e) != 0 ||
			       floor_reads(a, v, &low[KEY_FS_READ], e) != 0 ||
			       floor_denies(a, v, &low[KEY_FS_DENY], e) != 0 ||
			       floor_network(a, v, low, e) != 0
		       ? -1
		       : 0;
}
