/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the rules about names of a plan (plan/rules.h) as rules of a profile.
 *
 * Should:   deny a path exactly where rules_judge() denies or protects it (I2).
 * Must not: write an exception as a rule that allows: it would open a path that another
 *           group or a mount closes.  An exception is a condition of the rules that it excepts.
 * Fails:    closed: ".git" of a repository that the run itself made is protected as well, because
 *           Seatbelt does not know which process created a file. */
#include "plan/seatbelt/internal.h"

#include "base/auto.h"
#include "base/path.h"
#include "base/str.h"
#include "plan/internal.h"

#include <string.h>

static const char *const operations[EFFECT_COUNT] = {
	[EFFECT_DENY] = "file-read* file-write* process-exec",
	[EFFECT_PROTECT] = "file-write*",
};

static void put_regex(struct writer *w, const struct rule *r, size_t count, bool whole) {
	struct buf text;
	buf_init(&text);
	seatbelt_regex(&text, r->anchor, &r->glob, count, whole);
	buf_puts(&w->out, "(regex ");
	if (text.failed) {
		w->out_of_memory = true;
	} else {
		seatbelt_string(w, text.data, text.len);
	}
	buf_puts(&w->out, ")");
	buf_done(&text);
}

/* ---- the trees in which a rule does not apply ---- */

static const char *rest_of(const char *path, const char *anchor) {
	return streq(anchor, "/") ? path : path + strlen(anchor);
}

/* A floating rule does not apply in a deeper granted tree; one that yields does not apply in a
 * granted tree that lies in a path that it denies. */
static bool leaves_out(const struct rule *r, const char *tree) {
	if (!path_within(tree, r->anchor)) {
		return false;
	}
	if (r->floating && !streq(tree, r->anchor)) {
		return true;
	}
	return r->yields && glob_matched(&r->glob, glob_walk(&r->glob, rest_of(tree, r->anchor)));
}

static bool leaves_any_out(const struct writer *w, const struct rule *r) {
	const struct rules *rules = &w->plan->rules;
	for (size_t i = 0; i < rules->nanchors; i++) {
		if (leaves_out(r, rules->anchors[i].path)) {
			return true;
		}
	}
	return false;
}

static void put_left_out(struct writer *w, const struct rule *r) {
	const struct rules *rules = &w->plan->rules;
	for (size_t i = 0; i < rules->nanchors; i++) {
		if (leaves_out(r, rules->anchors[i].path)) {
			buf_puts(&w->out, "\n    (require-not ");
			seatbelt_path(w, "subpath", rules->anchors[i].path);
			buf_puts(&w->out, ")");
		}
	}
}

/* ---- exceptions ---- */

static bool same_kind(const struct rule *a, const struct rule *b) {
	return a->effect == b->effect && a->group == b->group;
}

static bool same_pattern(const struct rule *a, const struct rule *b) {
	bool same = streq(a->anchor, b->anchor) && a->floating == b->floating &&
		    a->yields == b->yields && a->glob.count == b->glob.count &&
		    a->glob.fold == b->glob.fold;
	for (size_t i = 0; same && i < a->glob.count; i++) {
		const struct glob_name *x = &a->glob.names[i], *y = &b->glob.names[i];
		same = x->kind == y->kind && x->len == y->len &&
		       memcmp(x->text, y->text, x->len) == 0;
	}
	return same;
}

/* Facts about each rule, before the first is written. */
struct fact {
	size_t exceptions; /* that follow in its group: equal for two rules if the same ones do */
	bool none; /* an exception, or one for the same pattern follows: it denies no path */
	bool written;
};

static struct fact *find_facts(struct writer *w) {
	const struct rules *rules = &w->plan->rules;
	struct fact *facts = arena_array(w->a, rules->count + 1, sizeof *facts);
	for (size_t k = 0; facts != NULL && k < rules->count; k++) {
		const struct rule *r = &rules->list[k];
		facts[k].none = facts[k].none || r->except;
		for (size_t i = 0; r->except && i < k; i++) {
			if (same_kind(r, &rules->list[i])) {
				facts[i].exceptions++;
				facts[i].none = facts[i].none || same_pattern(r, &rules->list[i]);
			}
		}
	}
	w->out_of_memory = w->out_of_memory || facts == NULL;
	return facts;
}

static void put_exception(struct writer *w, const struct rule *r) {
	buf_puts(&w->out, "\n    (require-not ");
	if (leaves_any_out(w, r)) {
		buf_puts(&w->out, "(require-all ");
		put_regex(w, r, r->glob.count, true);
		put_left_out(w, r);
		buf_puts(&w->out, ")");
	} else {
		put_regex(w, r, r->glob.count, true);
	}
	buf_puts(&w->out, ")");
}

static void put_exceptions(struct writer *w, size_t i) {
	const struct rules *rules = &w->plan->rules;
	for (size_t k = i + 1; k < rules->count; k++) {
		if (rules->list[k].except && same_kind(&rules->list[k], &rules->list[i])) {
			put_exception(w, &rules->list[k]);
		}
	}
}

/* ---- rules with the same conditions, as one ---- */

static bool joins(const struct rules *rules, const struct fact *facts, size_t first, size_t i) {
	const struct rule *a = &rules->list[first], *b = &rules->list[i];
	return !facts[i].written && !facts[i].none && !b->yields && same_kind(a, b) &&
	       a->floating == b->floating && streq(a->anchor, b->anchor) &&
	       facts[i].exceptions == facts[first].exceptions;
}

static void put_form(struct writer *w, struct fact *facts, size_t first) {
	const struct rules *rules = &w->plan->rules;
	const struct rule *before = NULL, *r = &rules->list[first];
	size_t end = r->yields ? first + 1 : rules->count; /* its conditions are its own */
	buf_printf(&w->out, "(deny %s\n  (require-all (require-any", operations[r->effect]);
	for (size_t i = first; i < end; i++) {
		if (i != first && !joins(rules, facts, first, i)) {
			continue;
		}
		facts[i].written = true;
		if (before == NULL || !same_pattern(before, &rules->list[i])) {
			buf_puts(&w->out, "\n      ");
			put_regex(w, &rules->list[i], rules->list[i].glob.count, true);
		}
		before = &rules->list[i];
	}
	buf_puts(&w->out, ")");
	put_left_out(w, r);
	put_exceptions(w, first);
	buf_puts(&w->out, "))\n");
}

/* ---- directories that stay where they are (I3) ---- */

static void add_place(struct writer *w, struct texts *t, const struct rule *r, size_t count) {
	struct buf text;
	buf_init(&text);
	seatbelt_regex(&text, r->anchor, &r->glob, count, false);
	seatbelt_texts_add(w, t, text.failed ? NULL : arena_strdup(w->a, text.data));
	buf_done(&text);
}

/* The directory that the pattern begins in, and those above it in a writable tree: the plan has no
 * mount for a path that only a rule closes. */
static void add_anchor(struct writer *w, struct texts *t, const struct rule *r) {
	const char *at = r->anchor;
	while (at != NULL && path_depth(at) > 0) {
		enum visibility v = plan_mount_visibility(w->plan, at);
		struct buf text;
		if (v != VISIBILITY_WRITE && v != VISIBILITY_PRIVATE) {
			return;
		}
		buf_init(&text);
		seatbelt_regex_path(&text, at);
		seatbelt_texts_add(w, t, text.failed ? NULL : arena_strdup(w->a, text.data));
		buf_done(&text);
		at = arena_strndup(w->a, at, (size_t)(strrchr(at, '/') - at));
	}
	w->out_of_memory = w->out_of_memory || at == NULL;
}

/* Every directory at "**" within a pattern. */
static void add_depth(struct writer *w, struct texts *t, const struct rule *r, size_t count) {
	struct glob_name names[GLOB_NAMES_MAX + 1];
	struct rule there = *r;
	memcpy(names, r->glob.names, count * sizeof *names);
	names[count] = (struct glob_name){GLOB_ENDING, "", 0};
	there.glob.names = names;
	add_place(w, t, &there, count + 1);
}

/* The directories that lead to a match: each that a proper prefix of the pattern matches.  "**" at
 * the start names none: wherever a directory is moved in the tree, the pattern matches in it. */
static void add_places(struct writer *w, struct texts *named, struct texts *deep,
		       const struct rule *r) {
	if (!r->floating) {
		add_anchor(w, named, r);
	}
	for (size_t i = 0; i + 1 < r->glob.count; i++) {
		if (r->glob.names[i].kind != GLOB_DEPTH) {
			add_place(w, named, r, i + 1);
		} else if (i > 0) {
			add_depth(w, deep, r, i + 1);
		}
	}
}

static void put_places(struct writer *w, const char *head, struct texts *t, const char *tail) {
	seatbelt_texts_settle(t);
	for (size_t i = 0; i < t->count; i++) {
		buf_puts(&w->out, i == 0 ? head : "");
		buf_puts(&w->out, "\n    (regex ");
		seatbelt_string(w, t->list[i], strlen(t->list[i]));
		buf_puts(&w->out, ")");
	}
	buf_puts(&w->out, t->count == 0 ? "" : tail);
}

/* No exception applies here: a directory that cannot be renamed hinders less than a rule that can
 * be evaded.  A directory with a name of the pattern cannot be created either: it could be one that
 * was filled under another name.  At "**" it can: everything there would be closed otherwise. */
static void write_places(struct writer *w, const struct fact *facts) {
	const struct rules *rules = &w->plan->rules;
	struct texts named = {0}, deep = {0};
	for (size_t i = 0; i < rules->count; i++) {
		if (!facts[i].none) {
			add_places(w, &named, &deep, &rules->list[i]);
		}
	}
	put_places(w, "(deny file-write-unlink file-write-create\n  (require-any", &named, "))\n");
	put_places(w, "(deny file-write-unlink\n  (require-all (vnode-type DIRECTORY) (require-any",
		   &deep, ")))\n");
}

void seatbelt_write_rules(struct writer *w) {
	struct fact *facts = find_facts(w);
	for (size_t i = 0; facts != NULL && i < w->plan->rules.count; i++) {
		if (!facts[i].none && !facts[i].written) {
			put_form(w, facts, i);
		}
	}
	if (facts != NULL) {
		write_places(w, facts);
	}
}

/* ---- the plan ---- */

/* A directory of the workspace can be renamed into a directory of the run's own.  A name that is
 * denied at any depth is denied there as well. */
static void extend_to(struct builder *b, const char *tree, const char *from, size_t count) {
	struct rules *rules = &b->plan->rules;
	for (size_t i = 0; i < count; i++) {
		struct rule r = rules->list[i];
		if (r.effect != EFFECT_DENY || !r.floating || r.anchor != from ||
		    r.glob.names[0].kind != GLOB_DEPTH) {
			continue;
		}
		r.anchor = tree;
		r.floating = r.anywhere = false;
		if (arena_grow(b->a, &rules->list, rules->count, &rules->cap,
			       sizeof *rules->list) != 0) {
			b->out_of_memory = true;
			return;
		}
		rules->list[rules->count++] = r;
	}
}

void seatbelt_extend_rules(struct builder *b) {
	const struct plan *plan = b->plan;
	const struct own_dirs own = seatbelt_own_dirs(plan);
	size_t count = plan->rules.count;
	const char *from = NULL;
	for (size_t i = 0; i < plan->rules.nanchors; i++) {
		if (streq(plan->rules.anchors[i].path, plan->workspace_at)) {
			from = plan->rules.anchors[i].path;
		}
	}
	for (size_t i = 0; from != NULL && i < ARRAY_LEN(own.list); i++) {
		if (own.list[i] != NULL) {
			extend_to(b, own.list[i], from, count);
		}
	}
}
