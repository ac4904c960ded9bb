/* SPDX-License-Identifier: Apache-2.0 */
/* Requests for paths: fs.read and fs.write (policy/request.h).
 *
 * The deepest tree that contains the path decides, as it does for a command: a path that fs.read
 * names within a writable tree is read-only.  A path in the workspace or in the view needs no grant
 * of its own.
 *
 * Should:   compare canonical paths: a symlink in a granted tree may point out of it.
 * Must not: drop a path of fs.read that makes a part of a writable tree read-only; grant a part of
 *           a tree by its path alone where the whole tree would hide or protect it.
 * Fails:    closed: a path that does not exist, or cannot be resolved, is refused. */
#include "policy/request.h"

#include "base/auto.h"
#include "base/path.h"
#include "base/str.h"
#include "data/paths.h"

#include <errno.h>
#include <limits.h>

/* A tree of the policy. */
struct tree {
	const char *real;
	const struct item *item; /* NULL: the workspace */
	bool write;
};

struct trees {
	struct tree *list;
	size_t n;
};

/* The canonical path, in the arena; NULL: *ret_sys has the reason. */
static const char *real_path(const struct asking *q, const char *path, int *ret_sys) {
	char real[PATH_MAX];
	bool dir;
	*ret_sys = policy_path_find(q->by->fs, path, real, &dir);
	const char *copy = *ret_sys == 0 ? arena_strdup(q->by->a, real) : NULL;
	*ret_sys = *ret_sys == 0 && copy == NULL ? ENOMEM : *ret_sys;
	return copy;
}

/* A mapped grant does not show its files at their own path. */
static void put_trees(const struct asking *q, const struct value *v, bool write,
		      struct trees *ret) {
	for (size_t i = 0; i < v->count; i++) {
		const struct item *it = &v->items[i];
		int sys = 0;
		const char *real = it->at == NULL ? real_path(q, it->str, &sys) : NULL;
		if (real != NULL) {
			ret->list[ret->n++] = (struct tree){real, it, write};
		}
	}
}

static int find_trees(const struct asking *q, struct trees *ret) {
	const struct value *read = &q->base->values[KEY_FS_READ];
	const struct value *write = &q->base->values[KEY_FS_WRITE];
	bool writes = q->base->values[KEY_MODE].num != MODE_READ_ONLY;
	ret->n = 0;
	ret->list = arena_array(q->by->a, read->count + write->count + 1, sizeof *ret->list);
	if (ret->list == NULL) {
		return err_memory(q->e, "policy");
	}
	put_trees(q, read, false, ret);
	put_trees(q, write, writes, ret);
	ret->list[ret->n++] = (struct tree){q->base->values[KEY_WORKSPACE].str, NULL, writes};
	return 0;
}

/* The last of equal ones: fs.write before fs.read, the workspace before both. */
static const struct tree *deepest(const struct trees *t, const char *path) {
	const struct tree *best = NULL;
	for (size_t i = 0; i < t->n; i++) {
		bool holds = path_within(path, t->list[i].real);
		if (holds && (best == NULL || strlen(t->list[i].real) >= strlen(best->real))) {
			best = &t->list[i];
		}
	}
	return best;
}

static bool view_shows(const struct asking *q, const char *path) {
	int64_t view = q->base->values[KEY_FS_VIEW].num;
	for (size_t i = 0; i < system_roots.count; i++) {
		const struct path_row *row = &system_roots.rows[i];
		bool shown = view != VIEW_MINIMAL || (row->flags & PATH_MINIMAL) != 0;
		if (shown && path_within(path, row->path)) {
			return true;
		}
	}
	return view == VIEW_HOST;
}

/* One request while it is answered. */
struct wish {
	enum key_id key;
	const struct item *it;
	const char *real;
	struct value *given;
};

static int refuse(struct asking *q, const struct wish *w, const char *why) {
	return request_refused(q, w->key, w->it, why, request_option(q, w->key, w->it));
}

/* Adds a grant of the path, which is a part of `tree`. */
static int grant_part(struct asking *q, const struct wish *w, const char *tree) {
	struct item item = {.str = w->real, .part_of = tree, .origin = w->it->origin};
	return value_put(q->by->a, &keys[w->key], w->given, &item, q->e) != 0
		       ? -1
		       : request_granted(q, w->key, w->it);
}

/* The tree of the policy is read-only. */
static int refuse_read_only(struct asking *q, const struct wish *w, const struct tree *t) {
	char from[SHOWN_MAX];
	if (q->base->values[KEY_MODE].num == MODE_READ_ONLY) {
		return request_refused(q, w->key, w->it, "mode is read-only", NULL);
	}
	return refuse(q, w,
		      arena_printf(q->by->a,
				   "the policy grants it for reading only: fs.read %s (%s)",
				   t->item->str,
				   policy_origin_text(&t->item->origin, from, sizeof from)));
}

static int answer_in_tree(struct asking *q, const struct wish *w, const struct tree *t) {
	struct part part = {t->real, w->real, w->key == KEY_FS_WRITE};
	if (part.write && !t->write) {
		return refuse_read_only(q, w, t);
	}
	const char *why = request_hidden_by(q, &part);
	if (why != NULL) {
		return request_refused(q, w->key, w->it, why, NULL);
	}
	if (t->item != NULL && !streq(w->real, t->real)) {
		why = request_part_obstacle(q, &part);
	}
	if (why != NULL) {
		return request_refused(q, w->key, w->it, why,
				       arena_printf(q->by->a, "request %s as a whole", t->real));
	}
	return t->item == NULL ? request_granted(q, w->key, w->it) : grant_part(q, w, t->real);
}

/* A path that no tree contains. */
static int answer_outside(struct asking *q, const struct wish *w) {
	struct part part = {"/", w->real, w->key == KEY_FS_WRITE};
	if (q->base->values[KEY_MODE].num == MODE_FULL_ACCESS) {
		return grant_part(q, w, NULL);
	}
	if (part.write || !view_shows(q, w->real)) {
		return refuse(q, w,
			      part.write ? "the policy does not grant it for writing"
					 : "the policy does not grant it");
	}
	const char *why = request_hidden_by(q, &part);
	return why == NULL ? request_granted(q, w->key, w->it) : refuse(q, w, why);
}

/* "PATH:DEST": only a grant with the same two. */
static int answer_mapped(struct asking *q, const struct wish *w) {
	const struct value *base = &q->base->values[w->key];
	for (size_t i = 0; i < base->count; i++) {
		const struct item *it = &base->items[i];
		if (it->at != NULL && streq(it->at, w->it->at) && streq(it->str, w->it->str)) {
			return value_put(q->by->a, &keys[w->key], w->given, it, q->e) != 0
				       ? -1
				       : request_granted(q, w->key, w->it);
		}
	}
	return refuse(q, w, "the policy does not grant it at that place");
}

static int answer(struct asking *q, const struct trees *trees, struct wish *w) {
	int sys = 0;
	if (w->it->at != NULL) {
		return answer_mapped(q, w);
	}
	w->real = real_path(q, w->it->str, &sys);
	if (w->real == NULL) {
		return sys == ENOMEM ? err_memory(q->e, "policy")
				     : request_refused(q, w->key, w->it,
						       sys == ENOENT || sys == ENOTDIR
							       ? "it does not exist"
							       : "it cannot be resolved",
						       NULL);
	}
	const struct tree *t = deepest(trees, w->real);
	return t == NULL ? answer_outside(q, w) : answer_in_tree(q, w, t);
}

static int answer_key(struct asking *q, const struct trees *trees, enum key_id key,
		      struct value *ret) {
	const struct value *asked = &q->layer->values[key], *base = &q->base->values[key];
	*ret = (struct value){.set = base->set, .origin = base->origin};
	for (size_t i = 0; i < asked->count; i++) {
		struct wish w = {.key = key, .it = &asked->items[i], .given = ret};
		if (answer(q, trees, &w) != 0) {
			return -1;
		}
	}
	return 0;
}

/* Whether a tree that is writable in the end contains the path. */
static bool is_in_writable(const struct asking *q, const char *path) {
	const struct value *write = &q->p->values[KEY_FS_WRITE];
	int sys = 0;
	if (path_within(path, q->base->values[KEY_WORKSPACE].str)) {
		return true;
	}
	for (size_t i = 0; i < write->count; i++) {
		const char *real = real_path(q, write->items[i].str, &sys);
		if (real != NULL && path_within(path, real)) {
			return true;
		}
	}
	return false;
}

static int keep_restricting(struct asking *q, const struct trees *trees, struct value *given) {
	for (size_t i = 0; i < trees->n; i++) {
		const struct tree *t = &trees->list[i];
		bool reads = t->item != NULL && !t->write;
		if (reads && is_in_writable(q, t->real) &&
		    value_put(q->by->a, &keys[KEY_FS_READ], given, t->item, q->e) != 0) {
			return -1;
		}
	}
	return 0;
}

int request_paths(struct asking *q) {
	const struct value *asked = q->layer->values;
	bool reads = q->by->closed || asked[KEY_FS_READ].set;
	bool writes = q->by->closed || asked[KEY_FS_WRITE].set;
	struct trees trees;
	struct value read, write;
	if (!reads && !writes) {
		return 0;
	}
	if (find_trees(q, &trees) != 0 || answer_key(q, &trees, KEY_FS_WRITE, &write) != 0 ||
	    answer_key(q, &trees, KEY_FS_READ, &read) != 0) {
		return -1;
	}
	if (writes) {
		q->p->values[KEY_FS_WRITE] = write;
	}
	if (!reads) {
		return 0;
	}
	if (keep_restricting(q, &trees, &read) != 0 ||
	    settle_value(q->by->a, &keys[KEY_FS_READ], &read, q->e) != 0) {
		return -1;
	}
	q->p->values[KEY_FS_READ] = read;
	return 0;
}
