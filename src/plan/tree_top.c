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

const struct tree_top *tree_top_list(struct builder *b) {
	const struct rules *rules = &b->plan->rules;
	bool worth = b->h->fs.names != NULL && rules->count / LIST_WORTH > rules->nanchors;
	struct tree_top *tops = worth ? arena_array(b->a, rules->nanchors, sizeof *tops) : NULL;
	for (size_t i = 0; tops != NULL && i < rules->nanchors; i++) {
		const struct mount_request *w = mount_request_tree_at(b, rules->anchors[i].path);
		tops[i].listed = w != NULL && !w->m.is_file && !rules->anchors[i].folds &&
				 b->h->fs.names(b->h->fs.ctx, w->m.source, &tops[i].names);
	}
	return tops;
}

bool tree_top_lacks(const struct builder *b, const struct tree_top *tops, const char *anchor,
		    const struct glob_name *name) {
	const struct rules *rules = &b->plan->rules;
	size_t i = 0;
	if (tops == NULL) {
		return false;
	}
	while (i < rules->nanchors && !streq(rules->anchors[i].path, anchor)) {
		i++;
	}
	return i < rules->nanchors && tops[i].listed &&
	       !name_filter_may_have(&tops[i].names, name->text, name->len);
}
