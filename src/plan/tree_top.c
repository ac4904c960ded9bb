/* SPDX-License-Identifier: Apache-2.0 */
/* The names at the top of the granted trees.
 *
 * The sets of data/names.c have about 130 names, and most of them are in no tree: one list of the
 * tree shows that, instead of a look-up for each name.
 *
 * Should:   list a tree only where many names would be looked up in it.
 * Must not: take a name as missing in a directory that folds case: it has several spellings.
 * Fails:    open: a tree that cannot be listed lacks no name, and each is looked up.  A name that
 *           appears after the list is missed, as one that appears after a look-up. */
#include "plan/internal.h"

#include "base/str.h"

/* Fewer look-ups cost less than a list. */
#define LIST_WORTH 16

/* The request of an anchor.  The anchors come from the requests, in their order. */
static const struct mount_request *tree_of(const struct builder *b, const char *path,
					   size_t *next) {
	for (size_t i = *next; i < b->nrequests; i++) {
		if (b->requests[i].m.target == path && mount_request_is_tree(&b->requests[i])) {
			*next = i + 1;
			return &b->requests[i];
		}
	}
	return mount_request_tree_at(b, path);
}

struct tree_tops tree_top_list(struct builder *b) {
	const struct rules *rules = &b->plan->rules;
	bool worth = b->h->fs.names != NULL && rules->count / LIST_WORTH > rules->nanchors;
	struct tree_tops tops = {0};
	tops.list = worth ? arena_array(b->a, rules->nanchors, sizeof *tops.list) : NULL;
	size_t next = 0;
	for (size_t i = 0; tops.list != NULL && i < rules->nanchors; i++) {
		const struct mount_request *w = tree_of(b, rules->anchors[i].path, &next);
		tops.list[i].listed =
			w != NULL && !w->m.is_file && !rules->anchors[i].folds &&
			b->h->fs.names(b->h->fs.ctx, w->m.source, &tops.list[i].names);
	}
	return tops;
}

/* The index of an anchor; nanchors: none. */
static size_t anchor_at(const struct rules *rules, const char *anchor, size_t next) {
	size_t i = next < rules->nanchors ? next : 0;
	if (rules->anchors[i].path == anchor) {
		return i;
	}
	for (i = 0; i < rules->nanchors && !streq(rules->anchors[i].path, anchor); i++) {
	}
	return i;
}

bool tree_top_lacks(const struct builder *b, struct tree_tops *tops, const char *anchor,
		    const struct glob_name *name) {
	const struct rules *rules = &b->plan->rules;
	if (tops->list == NULL || rules->nanchors == 0 || name->kind != GLOB_LITERAL) {
		return false;
	}
	size_t i = anchor_at(rules, anchor, tops->next);
	if (i == rules->nanchors) {
		return false;
	}
	tops->next = i + 1;
	return tops->list[i].listed &&
	       !name_filter_may_have(&tops->list[i].names, name->text, name->len);
}
