/* SPDX-License-Identifier: Apache-2.0 */
/* Matches a path against the rules about names.
 *
 * Should:   decide about every path beneath an anchor, whether it exists or not.
 * Must not: allocate or read the file system: the broker in pid 1 calls it while a program waits.
 * Fails:    closed: a rule that matches applies unless a later exception of its own group
 *           matches. */
#include "plan/rules.h"

#include "base/auto.h"
#include "base/path.h"
#include "base/str.h"

#include <limits.h>
#include <string.h>
#include <strings.h>

/* A directory and the target of a symlink in it. */
#define LED_MAX ((size_t)2 * PATH_MAX)

static const char *rest_of(const char *path, const char *anchor) {
	return streq(anchor, "/") ? path : path + strlen(anchor);
}

/* The deepest granted tree that contains the path; NULL when none does. */
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

static bool applies_to(const struct rule *r, const char *path, const char *anchor) {
	return r->floating ? r->anchor == anchor : path_within(path, r->anchor);
}

/* A cache: consecutive rules mostly have the same anchor. */
struct anchor_cache {
	const char *anchor;
	bool holds;
	size_t depth;
};

/* The granted tree itself lies in the path that the rule denies: its grant is more specific. */
static bool is_reopened(const struct rule *r, const char *deepest) {
	return deepest != NULL && path_within(deepest, r->anchor) &&
	       glob_matched(&r->glob, glob_walk(&r->glob, rest_of(deepest, r->anchor)));
}

static bool is_applicable(struct anchor_cache *g, const struct rule *r, const char *path,
			  const char *deepest) {
	if ((r->floating && r->anchor != deepest) || (r->yields && is_reopened(r, deepest))) {
		return false;
	}
	if (g->anchor != r->anchor) {
		*g = (struct anchor_cache){.anchor = r->anchor,
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

/* Whether a later rule could change the result: an exception after a rule, a rule after an
 * exception, a rule without a condition after one with a condition. */
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
	struct anchor_cache ground = {0};
	struct glob_path names;

	glob_path_split(&names, path);

	for (size_t i = 0; i < rules->count; i++) {
		const struct rule *r = &rules->list[i];
		const struct rule **slot = &last[r->effect][r->group];
		if ((deny_alone && r->effect != EFFECT_DENY) || !glob_may_match(&r->glob, &names)) {
			continue;
		}
		if (changes(r, *slot) && is_applicable(&ground, r, path, anchor) &&
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

bool rules_keep_repository(const struct rules *rules, const char *path) {
	/* git runs the programs that these name or hold. */
	static const char *const files[] = {"/config", "/hooks"};
	char at[LED_MAX];
	size_t len = strlen(path);

	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		size_t more = strlen(files[i]) + 1;
		if (len + more > sizeof at) {
			return true;
		}
		memcpy(at, path, len + 1);
		memcpy(at + len, files[i], more);
		if (rules_judge(rules, at).protect != NULL) {
			return true;
		}
	}
	return false;
}

static bool is_ours(const struct rule *r) {
	return r->effect == EFFECT_PROTECT && r->group == GROUP_OURS;
}

bool rules_except(const struct rules *rules, const char *path) {
	bool found = false; /* most policies have no exception: then no pattern is matched */
	for (size_t i = 0; i < rules->count && !found; i++) {
		found = rules->list[i].except && is_ours(&rules->list[i]);
	}
	if (!found) {
		return false;
	}
	const char *anchor = anchor_of(rules, path);
	/* The last rule that matches decides. */
	for (size_t i = rules->count; i-- > 0;) {
		const struct rule *r = &rules->list[i];
		if (is_ours(r) && applies_to(r, path, anchor) &&
		    glob_matched(&r->glob, glob_walk(&r->glob, rest_of(path, r->anchor)))) {
			return r->except;
		}
	}
	return false;
}

bool rules_same_tree(const struct rules *rules, const char *a, const char *b) {
	return anchor_of(rules, a) == anchor_of(rules, b);
}

/* The anchor lies at or beneath one path; or only one path lies beneath the anchor; or the two
 * paths match different prefixes of the pattern. */
static bool differs(const struct rule *r, const char *a, const char *b, const char *anchor_a,
		    const char *anchor_b) {
	bool in_a = applies_to(r, a, anchor_a), in_b = applies_to(r, b, anchor_b);

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

static bool same_glob(const struct glob *a, const struct glob *b) {
	bool same = a->count == b->count;

	for (size_t i = 0; same && i < a->count; i++) {
		const struct glob_name *x = &a->names[i], *y = &b->names[i];
		same = x->kind == y->kind && x->len == y->len &&
		       memcmp(x->text, y->text, x->len) == 0;
	}
	return same;
}

/* A later exception cancels the rule, or cancels it for everything beneath the path. */
static bool is_excepted(const struct rules *rules, size_t which, const char *path,
			const char *anchor) {
	const struct rule *r = &rules->list[which];

	for (size_t i = which + 1; i < rules->count; i++) {
		const struct rule *e = &rules->list[i];
		if (!e->except || e->effect != r->effect || e->group != r->group ||
		    !applies_to(e, path, anchor)) {
			continue;
		}
		if ((e->anchor == r->anchor && same_glob(&e->glob, &r->glob)) ||
		    glob_matched(&e->glob, glob_walk(&e->glob, rest_of(path, e->anchor)))) {
			return true;
		}
	}
	return false;
}

/* The set of matched prefixes of the pattern decides about paths beneath a directory, so a symlink
 * to a directory with the same set changes nothing.  If that set is the start of the pattern, as
 * for names at any depth, a floating rule applies in every granted tree; for another rule, a path
 * outside all granted trees was not created by a command. */
static bool leads_astray(const struct rule *r, const char *at, const char *anchor, const char *to,
			 const char *anchor_to) {
	if (path_within(r->anchor, at)) {
		return true;
	}
	if (!applies_to(r, at, anchor)) {
		return false;
	}
	glob_set set = glob_walk(&r->glob, rest_of(at, r->anchor));
	bool begins = (set & ~glob_start(&r->glob)) == 0;
	if (set == 0 || glob_matched(&r->glob, set) || (begins && r->floating)) {
		return false;
	}
	if (to == NULL || (begins && anchor_to == NULL)) {
		return to == NULL;
	}
	return !applies_to(r, to, anchor_to) || glob_walk(&r->glob, rest_of(to, r->anchor)) != set;
}

/* Appends one component of a symlink target to the path; false when there is no room. */
static bool add_word(char path[LED_MAX], const char *word, size_t len) {
	size_t at = strlen(path);

	if (at + len + 2 > LED_MAX) {
		return false;
	}
	path[at] = '/';
	memcpy(path + at + 1, word, len);
	path[at + 1 + len] = '\0';
	return true;
}

/* The path of a symlink target by its text alone; the directory of the symlink contains no
 * symlink. False when only the file system could decide, which may change: ".." after a name. */
static bool led_to(const char *link, const char *words, char out[LED_MAX]) {
	bool named = words[0] == '/';
	size_t dir = named ? 0 : (size_t)(strrchr(link, '/') - link);

	if (dir >= LED_MAX) {
		return false;
	}
	memcpy(out, link, dir);
	out[dir] = '\0';
	for (size_t len; words[0] != '\0'; words += len) {
		words += strspn(words, "/");
		len = strcspn(words, "/");
		if (len == 0 || (len == 1 && words[0] == '.')) {
			continue;
		}
		if (len == 2 && words[0] == '.' && words[1] == '.') {
			char *slash = strrchr(out, '/');
			if (named || slash == NULL) {
				return false;
			}
			*slash = '\0';
			continue;
		}
		named = true;
		if (!add_word(out, words, len)) {
			return false;
		}
	}
	return out[0] == '/';
}

bool rules_lead_astray(const struct rules *rules, const char *link, const char *words) {
	char led[LED_MAX];
	const char *to = led_to(link, words, led) ? led : NULL;
	const char *anchor = anchor_of(rules, link);
	const char *anchor_to = to == NULL ? NULL : anchor_of(rules, to);

	for (size_t i = 0; i < rules->count; i++) {
		const struct rule *r = &rules->list[i];
		/* A repository that the run creates belongs to it, at any path. */
		if (!r->except && !r->until_made && leads_astray(r, link, anchor, to, anchor_to) &&
		    !is_excepted(rules, i, link, anchor)) {
			return true;
		}
	}
	return false;
}

static bool same_parent(const char *a, const char *b) {
	size_t len = (size_t)(strrchr(a, '/') - a);

	return (size_t)(strrchr(b, '/') - b) == len && strncmp(a, b, len) == 0;
}

bool rules_lead_alike(const struct rules *rules, const char *from, const char *to) {
	static const char anywhere[] = "a/.."; /* led_to() cannot decide */

	return !rules_lead_astray(rules, to, anywhere) ||
	       (same_parent(from, to) && !rules_differ_beneath(rules, from, to));
}

/* ---- symlinks in a repository ---- */

size_t rules_repository(const struct rules *rules, const char *path) {
	static const char within[] = "/.git/";
	const size_t name = sizeof within - 2; /* without the last slash */
	const char *anchor = anchor_of(rules, path);
	char repository[LED_MAX];

	if (anchor == NULL) {
		return 0;
	}
	/* From the last name of the granted tree on, which may be a ".git" itself. */
	for (const char *at = path + (strrchr(anchor, '/') - anchor); at != NULL;
	     at = strchr(at + 1, '/')) {
		if (strncasecmp(at, within, sizeof within - 1) != 0) {
			continue;
		}
		size_t len = (size_t)(at - path) + name;
		if (len >= sizeof repository) {
			return len;
		}
		memcpy(repository, path, len);
		repository[len] = '\0';
		if (rules_keep_repository(rules, repository)) {
			return len;
		}
	}
	return 0;
}

bool rules_lead_out(const struct rules *rules, const char *link, const char *words) {
	char led[LED_MAX];
	size_t len = rules_repository(rules, link);

	return len > 0 && !(led_to(link, words, led) && strncmp(led, link, len) == 0 &&
			    (led[len] == '/' || led[len] == '\0'));
}

/* A relative target that stays within a repository does so from every directory of this depth. */
bool rules_move_out(const struct rules *rules, const char *from, const char *to) {
	size_t len = rules_repository(rules, to);

	return len > 0 && !(rules_repository(rules, from) == len && strncmp(from, to, len) == 0 &&
			    path_depth(from) == path_depth(to));
}
