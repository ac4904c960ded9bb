/* SPDX-License-Identifier: Apache-2.0 */
/* Hints from the gate's log: a recorded refusal is more certain than a phrase in the output.
 *
 * Should:   name the destination, the reason and the option that allows it.
 * Must not: blame a rule when an allowed connection failed outside.
 * Fails:    open: without a log there is no hint. */
#include "run/hint.h"

#include "base/str.h"

#include <stdio.h>

static bool is_in_output(const char *word, const struct output_tail *const streams[],
			 size_t nstreams) {
	for (size_t i = 0; word != NULL && i < nstreams; i++) {
		if (memmem(streams[i]->text, streams[i]->len, word, strlen(word)) != NULL) {
			return true;
		}
	}
	return false;
}

/* The first refused destination that the output names; else the first of all: later ones are
 * often retries, or the name with a search domain appended. */
static const struct netlog_item *refusal(const struct netlog *n,
					 const struct output_tail *const streams[], size_t nstreams,
					 bool *ret_named) {
	const struct netlog_item *first = NULL;

	*ret_named = false;
	for (size_t i = 0; i < n->count; i++) {
		const struct netlog_item *item = &n->items[i];
		if (item->outcome != NET_DENIED || (item->name == NULL && item->address == NULL)) {
			continue;
		}
		if (is_in_output(item->name, streams, nstreams) ||
		    is_in_output(item->address, streams, nstreams)) {
			*ret_named = true;
			return item;
		}
		first = first == NULL ? item : first;
	}
	return first;
}

/* The first allowed connection or lookup that failed outside: no rule caused it. */
static const struct netlog_item *failure(const struct netlog *n) {
	for (size_t i = 0; i < n->count; i++) {
		if (n->items[i].outcome == NET_FAILED) {
			return &n->items[i];
		}
	}
	return NULL;
}

static void write_refusal(struct arena *a, const struct netlog_item *item, struct advice *ret) {
	const char *place = netlog_place(a, item), *todo = netlog_advice(a, item);
	const char *why = item->why == NULL ? "refused" : item->why;
	const char *rule = item->cause == NET_CAUSE_DENIED ? item->rule : NULL;

	if (place == NULL) {
		return;
	}
	*ret = (struct advice){.hint = item->outcome == NET_FAILED ? &hint_failed
				       : item->rule == NULL        ? &hint_unlisted
								   : &hint_forbidden};
	(void)snprintf(ret->text, sizeof ret->text, "%s: %s%s%s%s%s%s", place, why,
		       rule == NULL ? "" : " (rule: ", rule == NULL ? "" : rule,
		       rule == NULL ? "" : ")", todo[0] == '\0' ? "" : "; ", todo);
}

void hint_for_network(const struct netlog *n, const struct output_tail *const streams[],
		      size_t nstreams, struct advice *ret) {
	bool named, other = ret->hint != NULL && strncmp(hint_advice_rule(ret), "net.", 4) != 0;
	const struct netlog_item *item = refusal(n, streams, nstreams, &named);
	const struct netlog_item *failed = failure(n);
	struct arena a;

	/* After an allowed name was not found, the resolver tries it with a search domain, which
	 * no rule allows: that refusal is not the cause. */
	bool searched =
		item != NULL && !named && failed != NULL && failed->cause == NET_CAUSE_UNRESOLVED;
	if ((item == NULL || searched) && failed != NULL && !other) {
		*ret = (struct advice){0};
		item = failed->cause == NET_CAUSE_UNRESOLVED ? failed : NULL;
	} else if (other && !named) {
		item = NULL;
	}
	if (item == NULL) {
		return;
	}
	arena_init(&a);
	write_refusal(&a, item, ret);
	arena_done(&a);
}
