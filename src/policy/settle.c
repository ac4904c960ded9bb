/* SPDX-License-Identifier: Apache-2.0 */
/* Merges repeated items of a list.
 *
 * Should:   take n log n time for any list: a project's file chooses n.
 * Must not: let an item replace one of another group.  An untrusted file that repeats a rule
 *           of the user would own it then, and could except it (P3); and no layer may
 *           take over a rule of the floor (P4).
 * Fails:    closed: a variable that a trusted layer set keeps its value, or the run stops. */
#include "policy/internal.h"

#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>

/* An item and its index; of equal items the last stays. */
struct item_place {
	const struct item *item;
	size_t name;  /* length of the compared part: a variable's name, or the whole text */
	size_t after; /* number of exceptions of its group up to it */
	size_t at;
};

/* Variables are merged across groups: the environment has one value for each name. */
static bool is_variable(const struct item_place *p) {
	return p->item->str[p->name] == '=';
}

static const char *place_of(const struct item *it) {
	return it->at == NULL ? "" : it->at;
}

static int thing_order(const struct item_place *a, const struct item_place *b) {
	size_t len = a->name < b->name ? a->name : b->name;
	int order = (int)a->item->kind - (int)b->item->kind;
	if (order == 0) {
		order = (int)a->item->except - (int)b->item->except;
	}
	if (order == 0 && !is_variable(a)) {
		order = (int)item_group(a->item) - (int)item_group(b->item);
	}
	if (order == 0) {
		order = (a->after > b->after) - (a->after < b->after);
	}
	if (order == 0) {
		order = strncmp(a->item->str, b->item->str, len);
	}
	if (order == 0) {
		order = (a->name > b->name) - (a->name < b->name);
	}
	/* One path at two places is two grants. */
	return order != 0 ? order : strcmp(place_of(a->item), place_of(b->item));
}

static int place_order(const void *left, const void *right) {
	const struct item_place *a = left, *b = right;
	int order = thing_order(a, b);
	return order != 0 ? order : (a->at > b->at) - (a->at < b->at);
}

static int refuse_variable(const struct key *k, const struct item_place *set,
			   const struct item_place *stands, struct err *e) {
	char from[SHOWN_MAX], was[SHOWN_MAX], name[48], copy[48];
	(void)snprintf(copy, sizeof copy, "%.*s", (int)set->name, set->item->str); /* may be cut */
	(void)err_set(e, ERR_REFUSED, "policy",
		      "%s: an untrusted project file may not change %s.%s, which is set by %s",
		      policy_origin_text(&set->item->origin, from, sizeof from), k->name,
		      value_shown(copy, name, sizeof name),
		      policy_origin_text(&stands->item->origin, was, sizeof was));
	return err_fix(e, "read the file; to trust it: corral policy trust %s",
		       set->item->origin.name == NULL ? PROJECT_FILE : set->item->origin.name);
}

/* Puts the last of equal items at the place of the first; the others become holes. */
static int merge_equal(const struct key *k, const struct item_place *run, size_t n,
		       struct item *items, struct err *e) {
	const struct item_place *last = &run[n - 1];
	struct item kept = *last->item;
	for (size_t i = 0; i < n - 1; i++) {
		bool ours = !run[i].item->bound;
		if (is_variable(last) && last->item->bound && ours &&
		    !streq(run[i].item->str, last->item->str)) {
			return refuse_variable(k, last, &run[i], e);
		}
		kept.optional =
			kept.optional && run[i].item->optional; /* required by one: required */
	}
	for (size_t i = 1; i < n; i++) {
		items[run[i].at].str = NULL;
	}
	items[run[0].at] = kept;
	return 0;
}

static void close_holes(struct value *v) {
	size_t kept = 0;
	for (size_t i = 0; i < v->count; i++) {
		if (v->items[i].str != NULL) {
			v->items[kept++] = v->items[i];
		}
	}
	v->count = kept;
}

/* Fills ret[] for all items.  An exception counts itself, so two exceptions are never equal. */
static void find_places(const struct key *k, const struct item *items, size_t n,
			struct item_place *ret) {
	size_t after[RULE_GROUPS] = {0};
	for (size_t i = 0; i < n; i++) {
		size_t *exceptions = &after[item_group(&items[i])];
		const char *str = items[i].str;
		*exceptions += items[i].except;
		ret[i] = (struct item_place){
			.item = &items[i],
			.name = k->type == TYPE_MAP ? strcspn(str, "=") : strlen(str),
			.after = *exceptions,
			.at = i,
		};
	}
}

int settle_value(struct arena *a, const struct key *k, struct value *v, struct err *e) {
	struct item_place *places = arena_array(a, v->count + 1, sizeof *places);
	struct item *old = arena_array(a, v->count + 1, sizeof *old);
	if (places == NULL || old == NULL) {
		return err_memory(e, "policy");
	}
	for (size_t i = 0; i < v->count; i++) {
		old[i] = v->items[i];
	}
	find_places(k, old, v->count, places);
	qsort(places, v->count, sizeof *places, place_order);
	for (size_t i = 0, run; i < v->count; i += run) {
		for (run = 1;
		     i + run < v->count && thing_order(&places[i], &places[i + run]) == 0;) {
			run++;
		}
		if (merge_equal(k, &places[i], run, v->items, e) != 0) {
			return -1;
		}
	}
	close_holes(v);
	return 0;
}
