/* Hints from the gate's decisions: what it saw is believed before what words may mean. */
#include "run/hint.h"

#include "base/str.h"

#include <stdio.h>

static bool is_said(const char *word, const struct overheard *const streams[], size_t nstreams) {
	for (size_t i = 0; word != NULL && i < nstreams; i++) {
		if (memmem(streams[i]->text, streams[i]->len, word, strlen(word)) != NULL) {
			return true;
		}
	}
	return false;
}

/* The first of those that the words name; else the first of all: what comes later is often a
 * second try, or the name with a search domain behind it. */
static const struct netlog_item *refusal(const struct netlog *n,
					 const struct overheard *const streams[], size_t nstreams,
					 bool *ret_said) {
	const struct netlog_item *first = NULL;

	*ret_said = false;
	for (size_t i = 0; i < n->count; i++) {
		const struct netlog_item *item = &n->items[i];
		if (item->outcome != NET_DENIED || (item->name == NULL && item->address == NULL)) {
			continue;
		}
		if (is_said(item->name, streams, nstreams) ||
		    is_said(item->address, streams, nstreams)) {
			*ret_said = true;
			return item;
		}
		first = first == NULL ? item : first;
	}
	return first;
}

/* Where a rule let it through, it was the other side that did not: no rule is to blame. */
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
		       rule == NULL ? "" : " (the rule is ", rule == NULL ? "" : rule,
		       rule == NULL ? "" : ")", todo[0] == '\0' ? "" : "; ", todo);
}

void hint_for_network(const struct netlog *n, const struct overheard *const streams[],
		      size_t nstreams, struct advice *ret) {
	bool said, other = ret->hint != NULL && strncmp(hint_advice_rule(ret), "net.", 4) != 0;
	const struct netlog_item *item = refusal(n, streams, nstreams, &said);
	const struct netlog_item *failed = failure(n);
	struct arena a;

	/* A search domain is tried behind a name that was not found; no rule has that one. */
	bool searched =
		item != NULL && !said && failed != NULL && failed->cause == NET_CAUSE_UNRESOLVED;
	if ((item == NULL || searched) && failed != NULL && !other) {
		*ret = (struct advice){0};
		item = failed->cause == NET_CAUSE_UNRESOLVED ? failed : NULL;
	} else if (other && !said) {
		item = NULL;
	}
	if (item == NULL) {
		return;
	}
	arena_init(&a);
	write_refusal(&a, item, ret);
	arena_done(&a);
}
