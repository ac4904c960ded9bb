/* SPDX-License-Identifier: Apache-2.0 */
/* Adds variables to env.set of a resolved policy: those of one command of a session.
 *
 * Should:   refuse each name that a setting of env.set could not have.
 * Must not: change the arrays of the given policy, which other commands read.
 * Fails:    closed: none is added. */
#include "policy/internal.h"

#include "base/str.h"

static bool same_name(const char *a, const char *b) {
	size_t n = strcspn(a, "=");

	return n == strcspn(b, "=") && strncmp(a, b, n) == 0;
}

static bool sets(const char *const *entries, const char *name) {
	while (*entries != NULL && !same_name(*entries, name)) {
		entries++;
	}
	return *entries != NULL;
}

/* The items whose names the entries do not have, with room for `more` others. */
static int keep_others(struct arena *a, struct value *v, const char *const *entries, size_t more) {
	size_t room = v->count + more, n = 0;

	if (room == 0) {
		return 0;
	}
	struct item *items = arena_array(a, room, sizeof *items);
	if (items == NULL) {
		return -1;
	}
	for (size_t i = 0; i < v->count; i++) {
		if (!sets(entries, v->items[i].str)) {
			items[n++] = v->items[i];
		}
	}
	v->items = items;
	v->count = n;
	v->cap = room;
	return 0;
}

int policy_add_variables(struct policy *p, const char *const *entries, const char *origin,
			 struct arena *a, struct err *e) {
	struct value *set = &p->values[KEY_ENV_SET];
	size_t n = 0;

	while (entries[n] != NULL) {
		n++;
	}
	if (keep_others(a, set, entries, n) != 0 ||
	    keep_others(a, &p->values[KEY_ENV_PASS], entries, 0) != 0) {
		return err_memory(e, "policy");
	}
	for (size_t i = 0; i < n; i++) {
		const char *copy = arena_strdup(a, entries[i]);
		if (copy == NULL) {
			return err_memory(e, "policy");
		}
		set->items[set->count++] = (struct item){
			.str = copy, .origin = {.kind = ORIGIN_OPTION, .name = origin}};
	}
	set->set = true;
	return policy_check_environment(p, e);
}
