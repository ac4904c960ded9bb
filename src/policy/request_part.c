/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a part of a granted tree can be granted alone.
 *
 * A grant overrides a denial of a directory above it, and a rule about names holds beneath each
 * granted tree: so a grant of "TREE/secrets" could show files that the grant of TREE hides, and
 * one of "TREE/.git" could open hooks that a pattern protects there.  A request must not (P6).
 *
 * Should:   be wrong on the safe side only: the whole tree can be requested instead.
 * Must not: look at the file system.
 * Fails:    closed: a pattern that could hold for a name of the part refuses it. */
#include "policy/request.h"

#include "base/auto.h"
#include "base/glob.h"
#include "base/path.h"
#include "base/str.h"
#include "data/names.h"
#include "data/paths.h"

#include <limits.h>
#include <strings.h>

/* ---- paths that are hidden ---- */

static const char *by_rule(const struct asking *q, const struct item *it, const char *word) {
	char from[SHOWN_MAX];
	return arena_printf(q->by->a, "%s %s (%s)", word, it->str,
			    policy_origin_text(&it->origin, from, sizeof from));
}

/* Whether the rule names the path, or a directory of the tree above it. */
static bool names_path(const struct part *part, const char *rule) {
	return path_within(part->path, rule) && path_within(rule, part->tree);
}

static const char *plain_rule(struct asking *q, const struct part *part, enum key_id key) {
	const struct value *v = &q->base->values[key];
	for (size_t i = 0; i < v->count; i++) {
		char real[PATH_MAX];
		const char *path = v->items[i].str;
		bool dir;
		if (v->items[i].kind != ITEM_PLAIN || v->items[i].except) {
			continue;
		}
		if (policy_path_find(q->by->fs, path, real, &dir) == 0) {
			path = real; /* else the rule is about its name */
		}
		if (names_path(part, path)) {
			return by_rule(q, &v->items[i],
				       key == KEY_FS_DENY ? "hidden by fs.deny"
							  : "protected by fs.protect");
		}
	}
	return NULL;
}

const char *request_hidden_by(struct asking *q, const struct part *part) {
	const char *why = plain_rule(q, part, KEY_FS_DENY);
	if (why == NULL && part->write) {
		why = plain_rule(q, part, KEY_FS_PROTECT);
	}
	bool own = streq(part->path, part->tree); /* the policy grants this very path */
	if (why != NULL || own) {
		return why;
	}
	if (path_credential(q->by->home, part->path) != NULL) {
		return "it holds credentials, which the policy hides";
	}
	for (size_t i = 0; i < sensitive_paths.count; i++) {
		if (names_path(part, sensitive_paths.rows[i].path)) {
			return "it is sensitive, and the policy hides it";
		}
	}
	return NULL;
}

/* ---- rules about names ---- */

/* Whether the pattern, from its name `first` on, begins to match at the first name of rest: up to
 * the end of one of the two.  If it does, a part of the match may lie above the part. */
static bool begins_to_match(const struct glob *g, size_t first, const char *rest) {
	for (size_t i = first; i < g->count; i++) {
		struct glob one = glob_from(g, i);
		rest += strspn(rest, "/");
		size_t len = strcspn(rest, "/");
		if (len == 0 || g->names[i].kind == GLOB_DEPTH) {
			return true; /* "**" stands for any names */
		}
		one.count = 1;
		if (!glob_matched(&one, glob_step(&one, glob_start(&one), rest, len))) {
			return false;
		}
		rest += len;
	}
	return true;
}

/* A pattern that holds at any depth of the tree, or only directly in it. */
static bool pattern_spans(struct asking *q, const char *pattern, bool top, const char *rest) {
	struct glob g;
	struct err unused = {0};
	if (glob_parse(q->by->a, pattern + strspn(pattern, "/"), true, &g, &unused) != 0) {
		return true;
	}
	size_t first = g.count > 0 && g.names[0].kind == GLOB_DEPTH;
	for (size_t len; *(rest += strspn(rest, "/")) != '\0'; rest += len) {
		len = strcspn(rest, "/");
		if (begins_to_match(&g, first, rest)) {
			return true;
		}
		if (top && first == 0) {
			break;
		}
	}
	return false;
}

/* A pattern of the user: an absolute one holds wherever the tree is, but a grant of a path that it
 * matches would override it. */
static bool pattern_names(struct asking *q, const char *pattern, const struct part *part) {
	struct glob g;
	struct err unused = {0};
	if (pattern[0] != '/') {
		return pattern_spans(q, pattern, false, path_rest(part->path, part->tree));
	}
	return glob_parse(q->by->a, pattern + 1, true, &g, &unused) != 0 ||
	       glob_matched(&g, glob_walk(&g, part->path));
}

static bool set_names(struct asking *q, const struct name_set *set, const char *rest) {
	for (size_t i = 0; set != NULL && i < set->count; i++) {
		const char *row = set->rows[i].pattern;
		if (pattern_spans(q, row, row[0] == '/', rest)) {
			return true;
		}
	}
	return false;
}

/* The patterns and sets of a list; an exception can only open, and counts as well. */
static const char *named_by_list(struct asking *q, const struct part *part, enum key_id key) {
	const struct value *v = &q->base->values[key];
	const char *rest = path_rest(part->path, part->tree);
	for (size_t i = 0; i < v->count; i++) {
		const struct item *it = &v->items[i];
		bool names = it->kind == ITEM_SET       ? set_names(q, name_set_find(it->str), rest)
			     : it->kind == ITEM_PATTERN ? pattern_names(q, it->str, part)
							: false;
		if (names) {
			return by_rule(q, it,
				       key == KEY_FS_DENY ? "a name in it is of fs.deny"
							  : "a name in it is of fs.protect");
		}
	}
	return NULL;
}

static bool names_listed(const struct value *v, const char *rest) {
	for (size_t len; *(rest += strspn(rest, "/")) != '\0'; rest += len) {
		len = strcspn(rest, "/");
		for (size_t i = 0; i < v->count; i++) {
			if (strlen(v->items[i].str) == len &&
			    strncasecmp(v->items[i].str, rest, len) == 0) {
				return true;
			}
		}
	}
	return false;
}

/* The plan protects some of them without a rule of the policy. */
static bool is_dotted(const char *rest) {
	return strstr(rest, "/.") != NULL;
}

const char *request_part_obstacle(struct asking *q, const struct part *part) {
	const char *rest = path_rest(part->path, part->tree);
	const char *why = named_by_list(q, part, KEY_FS_DENY);
	if (why != NULL || !part->write) {
		return why;
	}
	why = named_by_list(q, part, KEY_FS_PROTECT);
	if (why == NULL && names_listed(&q->base->values[KEY_FS_PROTECT_NAMES], rest)) {
		why = "a name in it is of fs.protect_names";
	}
	if (why == NULL && (is_dotted(rest) || set_names(q, &repository_names, rest))) {
		why = "a name in it can belong to settings, or to a git repository";
	}
	return why;
}
