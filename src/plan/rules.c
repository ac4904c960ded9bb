/* Judging a path by rules.
 *
 * Should:   answer for every path beneath an anchor, whether it exists or not.
 * Must not: allocate or look at the file system: pid 1 asks while a program waits.
 * Fails:    closed: a rule that matches counts unless an exception of its own group
 *           stands behind it. */
#include "plan/rules.h"

#include "base/str.h"

static const char *rest_of(const char *path, const char *anchor) {
	return streq(anchor, "/") ? path : path + strlen(anchor);
}

/* The deepest granted tree that holds the path; NULL when none does. */
static const char *anchor_of(const struct rules *rules, const char *path) {
	const char *best = NULL;
	size_t longest = 0;

	for (size_t i = 0; i < rules->nanchors; i++) {
		const char *at = rules->anchors[i].path;
		size_t len = strlen(at);
		if (len >= longest && path_within(path, at)) {
			best = at;
			longest = len;
		}
	}
	return best;
}

static bool speaks_of(const struct rule *r, const char *path, const char *anchor) {
	return r->floating ? r->anchor == anchor : path_within(path, r->anchor);
}

/* Neighbours mostly have the same anchor: what was found for one serves the next. */
struct ground {
	const char *anchor;
	bool holds;
	size_t depth;
};

/* The granted tree itself lies in what the rule denies: its grant is the more specific. */
static bool is_reopened(const struct rule *r, const char *deepest) {
	return deepest != NULL && path_within(deepest, r->anchor) &&
	       glob_matched(&r->glob, glob_walk(&r->glob, rest_of(deepest, r->anchor)));
}

static bool stands_on(struct ground *g, const struct rule *r, const char *path,
		      const char *deepest) {
	if ((r->floating && r->anchor != deepest) || (r->yields && is_reopened(r, deepest))) {
		return false;
	}
	if (g->anchor != r->anchor) {
		*g = (struct ground){.anchor = r->anchor,
				     .holds = path_within(path, r->anchor),
				     .depth = path_depth(r->anchor)};
	}
	return g->holds;
}

static bool matches(const struct rule *r, const struct glob_path *names, size_t depth,
		    const char *path) {
	if (names->deeper) {
		return glob_matched(&r->glob, glob_walk(&r->glob, rest_of(path, r->anchor)));
	}
	return glob_matches(&r->glob, names, depth);
}

/* Whether a rule behind it would say something else: an exception from a rule, a rule
 * after an exception, one without a condition after one that has one. */
static bool changes(const struct rule *r, const struct rule *before) {
	bool holds = before != NULL && !before->except;

	if (r->except) {
		return holds;
	}
	return !holds || (before->until_made && !r->until_made);
}

static const struct rule *stronger(const struct rule *a, const struct rule *b) {
	if (b == NULL || b->except) {
		return a;
	}
	return a == NULL || a->until_made ? b : a;
}

static inline struct ruling judge(const struct rules *rules, const char *path, bool deny_alone) {
	const struct rule *last[EFFECT_COUNT][RULE_GROUPS] = {0};
	const char *anchor = anchor_of(rules, path);
	struct ruling ruling = {0};
	struct ground ground = {0};
	struct glob_path names;

	glob_path_split(&names, path);

	for (size_t i = 0; i < rules->count; i++) {
		const struct rule *r = &rules->list[i];
		const struct rule **slot = &last[r->effect][r->group];
		if (deny_alone && r->effect != EFFECT_DENY) {
			continue;
		}
		if (changes(r, *slot) && stands_on(&ground, r, path, anchor) &&
		    matches(r, &names, ground.depth, path)) {
			*slot = r;
		}
	}
	for (size_t g = 0; g < RULE_GROUPS; g++) {
		ruling.deny = stronger(ruling.deny, last[EFFECT_DENY][g]);
		ruling.protect = stronger(ruling.protect, last[EFFECT_PROTECT][g]);
	}
	return ruling;
}

struct ruling rules_judge(const struct rules *rules, const char *path) {
	return judge(rules, path, false);
}

bool rules_deny(const struct rules *rules, const char *path) {
	return judge(rules, path, true).deny != NULL;
}

bool rules_except(const struct rules *rules, const char *path) {
	const char *anchor = anchor_of(rules, path);
	bool except = false;

	for (size_t i = 0; i < rules->count; i++) {
		const struct rule *r = &rules->list[i];
		if (r->effect == EFFECT_PROTECT && r->group == GROUP_OURS &&
		    speaks_of(r, path, anchor) &&
		    glob_matched(&r->glob, glob_walk(&r->glob, rest_of(path, r->anchor)))) {
			except = r->except;
		}
	}
	return except;
}

bool rules_same_tree(const struct rules *rules, const char *a, const char *b) {
	return anchor_of(rules, a) == anchor_of(rules, b);
}

/* Its ground lies beneath the path, or begins there; or one path is on it and the other
 * not; or they stand at different places of the pattern. */
static bool differs(const struct rule *r, const char *a, const char *b, const char *anchor_a,
		    const char *anchor_b) {
	bool in_a = speaks_of(r, a, anchor_a), in_b = speaks_of(r, b, anchor_b);

	if (in_a != in_b || path_within(r->anchor, a) || path_within(r->anchor, b)) {
		return true;
	}
	return in_a && glob_walk(&r->glob, rest_of(a, r->anchor)) !=
			       glob_walk(&r->glob, rest_of(b, r->anchor));
}

bool rules_differ_beneath(const struct rules *rules, const char *a, const char *b) {
	const char *anchor_a = anchor_of(rules, a), *anchor_b = anchor_of(rules, b);

	for (size_t i = 0; i < rules->count; i++) {
		if (differs(&rules->list[i], a, b, anchor_a, anchor_b)) {
			return true;
		}
	}
	return false;
}
