/* SPDX-License-Identifier: Apache-2.0 */
/* Turns fs.deny, fs.protect and fs.protect_names into rules about names, which the broker checks.
 *
 * A mount covers a path that exists (masks.c).  A mount is not enough when the name may be created
 * later, when the host replaces the file (that removes the mount), and for patterns and exceptions:
 * these become rules.
 *
 * Should:   anchor every rule at each path inside at which its directory is mounted.
 * Must not: walk a tree: a rule must cost the same in a large one.
 * Fails:    closed: without a broker the guarantee is not reported as enforced. */
#include "plan/internal.h"

#include "base/auto.h"
#include "base/path.h"
#include "base/str.h"
#include "data/name_globs.h"
#include "data/names.h"

#include <limits.h>
#include <stdlib.h>

/* A pattern becomes a rule in each granted tree, so two full lists would make millions.  The
 * broker compares each path with all of them. */
#define RULES_MAX ((size_t)24 * LIST_ITEMS_MAX)

static void append_rule(struct builder *b, struct rule r) {
	struct rules *rules = &b->plan->rules;
	if (rules->count >= RULES_MAX) {
		b->too_many_rules = true;
		return;
	}
	if (arena_grow(b->a, &rules->list, rules->count, &rules->cap, sizeof *rules->list) != 0) {
		b->out_of_memory = true;
		return;
	}
	rules->list[rules->count++] = r;
}

/* The policy parsed the pattern once before; a row of an agent is parsed by a test. */
static bool parse_rule(struct builder *b, struct rule *r, const char *pattern, bool fold) {
	struct err e = {0};
	if (glob_parse(b->a, pattern, fold, &r->glob, &e) != 0) {
		b->out_of_memory = true; /* the only remaining cause */
		return false;
	}
	return true;
}

static const char *escaped(struct builder *b, const char *text) {
	char *out = glob_escape(b->a, text);
	if (out == NULL) {
		b->out_of_memory = true;
		return "";
	}
	return out;
}

/* ---- anchors ---- */

static bool folds(const struct builder *b, const char *dir) {
	return b->h->fs.folds(b->h->fs.ctx, dir);
}

/* True for a tree that the user grants: a pattern without a leading slash applies in each. */
bool pattern_ground_is(const struct mount_request *w) {
	return mount_request_is_tree(w) && w->rank >= RANK_READ && w->rank <= RANK_WORKSPACE;
}

static void find_anchors(struct builder *b) {
	struct rules *rules = &b->plan->rules;
	rules->anchors = arena_array(b->a, b->nrequests + 1, sizeof *rules->anchors);
	if (rules->anchors == NULL) {
		b->out_of_memory = true;
		return;
	}
	for (size_t i = 0; i < b->nrequests; i++) {
		const struct mount_request *w = &b->requests[i];
		if (pattern_ground_is(w)) {
			rules->anchors[rules->nanchors++] = (struct anchor){
				.path = w->m.target, .folds = folds(b, w->m.source)};
		}
	}
}

static void append_floating(struct builder *b, struct rule r) {
	const bool fold = r.glob.fold;
	r.anywhere = r.group == GROUP_FLOOR; /* no grant overrides the floor (P4) */
	r.floating = !r.anywhere;
	for (size_t i = 0; i < b->plan->rules.nanchors; i++) {
		r.anchor = b->plan->rules.anchors[i].path;
		r.glob.fold = fold || b->plan->rules.anchors[i].folds;
		append_rule(b, r);
	}
}

static void add_floating(struct builder *b, struct rule r, const char *pattern, bool fold) {
	if (parse_rule(b, &r, pattern, fold)) {
		append_floating(b, r);
	}
}

/* A tree within the directory that is mounted at another path: fs.agent, fs.workspace_at, or the
 * path of a symlink.  The part of the pattern after the tree's own path becomes a rule there;
 * after a "**" there may be several such parts. */
static void append_moved(struct builder *b, struct rule r, const struct mount_request *w,
			 const char *dir) {
	const struct glob whole = r.glob;
	const char *rest = w->m.source + (dir[1] == '\0' ? 0 : strlen(dir));
	glob_set at = glob_walk(&whole, rest);
	r.anchor = w->m.target;
	for (size_t i = 0; i <= whole.count; i++) {
		bool implied =
			i > 0 && (at >> (i - 1) & 1) != 0 && whole.names[i - 1].kind == GLOB_DEPTH;
		if ((at >> i & 1) != 0 && !implied) {
			r.glob = glob_from(&whole, i); /* without a name: all of the tree */
			append_rule(b, r);
		}
	}
}

/* Adds the rule at each path at which a directory of the host, or a part of it, is mounted, and at
 * its own path. */
static void append_beneath(struct builder *b, struct rule r, const char *dir) {
	bool shown = false;
	for (size_t i = 0; i < b->nrequests; i++) {
		const struct mount_request *w = &b->requests[i];
		if (mount_request_is_tree(w) && path_within(dir, w->m.source)) {
			r.anchor = compose_inside(b, w, dir);
			shown = shown || streq(r.anchor, dir);
			append_rule(b, r);
		} else if (mount_request_is_tree(w) && path_within(w->m.source, dir) &&
			   !streq(w->m.source, w->m.target)) {
			append_moved(b, r, w, dir);
		}
	}
	if (!shown) {
		r.anchor = dir;
		append_rule(b, r);
	}
}

void pattern_beneath(struct builder *b, struct rule r, const char *dir, const char *pattern) {
	if (parse_rule(b, &r, pattern, folds(b, dir))) {
		append_beneath(b, r, dir);
	}
}

/* ---- paths ---- */

static void add_path(struct builder *b, struct rule r, const char *path) {
	if (path[1] == '\0') {
		return; /* the root has no name in a directory */
	}
	pattern_beneath(b, r, plan_keep_join(b, path, ".."), escaped(b, strrchr(path, '/') + 1));
}

void pattern_for_path(struct builder *b, const char *path, const char *note) {
	add_path(b,
		 (struct rule){.effect = EFFECT_PROTECT,
			       .group = GROUP_OURS,
			       .written = path,
			       .set = note},
		 link_half_resolved(b, path));
}

/* ---- links that a path goes through ---- */

static bool can_be_replaced(const struct builder *b, const char *path) {
	for (size_t i = 0; i < b->nrequests; i++) {
		const struct mount_request *w = &b->requests[i];
		if (mount_request_is_tree(w) && w->m.writable && path_within(path, w->m.source)) {
			return !streq(path, w->m.source);
		}
	}
	return false;
}

static const char *link_words(struct builder *b, const char *path) {
	char words[PATH_MAX];
	bool is_link = b->h->fs.readlink(b->h->fs.ctx, path, words, sizeof words);
	return is_link ? plan_keep_copy(b, words) : NULL;
}

/* Protects the symlink at a path with a canonical directory, and each symlink that its target goes
 * through, in the order in which the kernel follows them.  left: how many more the kernel would
 * follow.  Returns the end of the path. */
static const char *protect_chain(struct builder *b, struct rule r, const char *path, size_t *left) {
	const char *words = *left == 0 ? NULL : link_words(b, path);
	if (words == NULL) {
		return path;
	}
	(*left)--;
	if (can_be_replaced(b, path)) {
		add_path(b, r, path);
	}
	const char *at = words[0] == '/' ? "/" : plan_keep_join(b, path, "..");
	for (size_t len; *(words += strspn(words, "/")) != '\0'; words += len) {
		len = strcspn(words, "/");
		at = protect_chain(b, r, plan_keep_join(b, at, link_cut_path(b, words, len)), left);
	}
	return at;
}

/* Another symlink in its place would lead to files that no rule covers; the same applies to every
 * symlink on the way. */
static void protect_link(struct builder *b, struct rule r, const char *path) {
	size_t left = LINKS_MAX;
	r.effect = EFFECT_PROTECT;
	r.floating = r.yields = r.anywhere = false;
	(void)protect_chain(b, r, path, &left);
}

/* Protects the symlinks among the directories of a path as written, down to the first that is
 * missing or dangling. */
static void protect_links(struct builder *b, struct rule r, const char *path) {
	const char *dir = plan_keep_join(b, path, "..");
	if (r.except || dir[1] == '\0') {
		return;
	}
	struct link_ground_of ground = link_ground_of(b, path);
	bool direct = streq(ground.full, link_cut_path(b, path, ground.len));
	if (ground.len == strlen(dir) && direct) {
		return;
	}
	dir = link_cut_path(b, path, ground.len + 1 + strcspn(path + ground.len + 1, "/"));
	if (streq(dir, path)) {
		dir = link_cut_path(b, path, ground.len);
	}
	for (; dir[1] != '\0'; dir = plan_keep_join(b, dir, "..")) {
		protect_link(b, r, link_half_resolved(b, dir));
		if (direct) {
			return; /* no symlink above it */
		}
	}
}

/* Adds rules for the path as written and for its present target, whether that exists or not. */
static void add_plain(struct builder *b, struct rule r, const struct item *it, const char *full) {
	const char *named = link_half_resolved(b, it->str);
	protect_links(b, r, it->str);
	if (full == NULL) {
		full = link_end(b, named);
	}
	/* As with mounts a deeper grant re-opens its part; but nothing loosens the floor (P4). */
	r.yields = r.effect == EFFECT_DENY && r.group != GROUP_FLOOR;
	add_path(b, r, named);
	if (full != NULL && !streq(full, named)) {
		add_path(b, r, full);
		protect_link(b, r, named);
	}
}

const char *pattern_for_links(struct builder *b, const char *path, const char *note) {
	struct rule r = {
		.effect = EFFECT_PROTECT, .group = GROUP_OURS, .written = path, .set = note};
	const char *named = link_half_resolved(b, path);
	protect_links(b, r, path);
	protect_link(b, r, named);
	return named;
}

const char *pattern_for_file(struct builder *b, const char *path, const char *note) {
	struct rule r = {
		.effect = EFFECT_PROTECT, .group = GROUP_OURS, .written = path, .set = note};
	const char *named = pattern_for_links(b, path, note), *end = link_end(b, named);
	if (end == NULL) {
		end = named;
	}
	if (masks_is_shown(b, end)) {
		add_path(b, r, end);
	}
	return end;
}

/* ---- patterns ---- */

/* The length of the leading directories of an absolute pattern that contain no wildcard. */
static size_t literal_length(const char *pattern) {
	size_t end = 0;
	for (size_t at = 0; pattern[at] != '\0';) {
		size_t len = 1 + strcspn(pattern + at + 1, "/");
		for (size_t i = 0; i < len; i++) {
			if (strchr("*?[", pattern[at + i]) != NULL) {
				return end;
			}
			i += pattern[at + i] == '\\';
		}
		if (pattern[at + len] == '\0') {
			return end; /* the last name stays a pattern */
		}
		at += len;
		end = at;
	}
	return end;
}

static const char *unescaped(struct builder *b, const char *text, size_t len) {
	char *out = arena_alloc(b->a, len + 1);
	size_t n = 0;
	if (out == NULL) {
		b->out_of_memory = true;
		return "";
	}
	for (size_t i = 0; i < len; i++) {
		i += text[i] == '\\';
		out[n++] = text[i];
	}
	return out;
}

static void add_absolute(struct builder *b, struct rule r, const char *pattern) {
	size_t len = literal_length(pattern);
	if (len == 0) {
		pattern_beneath(b, r, "/", pattern);
		return;
	}
	const char *dir = unescaped(b, pattern, len), *full = host_fs_resolve(b, dir);
	protect_links(b, r, plan_keep_join(b, dir, "x")); /* "x": so that dir itself is included */
	pattern_beneath(b, r, full != NULL ? full : link_half_resolved(b, dir), pattern + len);
}

static void add_pattern(struct builder *b, struct rule r, const char *pattern) {
	if (pattern[0] == '/') {
		add_absolute(b, r, pattern);
	} else {
		add_floating(b, r, pattern, false);
	}
}

/* An exception for a git configuration includes its lock file, which the set @git protects, too. */
static void except_lock(struct builder *b, struct rule r, const char *pattern) {
	const char *slash = strrchr(pattern, '/'), *name = slash == NULL ? pattern : slash + 1;
	if (r.except && r.effect == EFFECT_PROTECT &&
	    (streq(name, "config") || streq(name, "config.worktree"))) {
		add_pattern(b, r, plan_keep_printf(b, "%s.lock", pattern));
	}
}

/* ---- sets ---- */

static void add_repositories(struct builder *b, struct rule r) {
	r.until_made = true;
	for (size_t i = 0; i < repository_names.count; i++) {
		r.written = repository_names.rows[i].pattern;
		r.reason = repository_names.rows[i].reason;
		r.glob = repository_globs[i];
		append_floating(b, r);
	}
}

static void add_row(struct builder *b, struct rule r, const struct name_row *row,
		    const struct glob *glob) {
	bool exception = row->pattern[0] == '!';
	r.except = r.except != exception;
	r.written = row->pattern;
	r.reason = row->reason;
	r.glob = *glob;
	if (row->pattern[exception] == '/') {
		r.anchor = b->plan->workspace_at;
		append_rule(b, r);
		return;
	}
	append_floating(b, r);
}

/* An exception of a row stays one when the policy excepts the whole set. */
static void add_set(struct builder *b, struct rule r, const char *name) {
	const struct name_set *set = name_set_find(name);
	r.set = name;
	for (size_t i = 0; set != NULL && i < set->count; i++) {
		if (!r.except || set->rows[i].pattern[0] != '!') {
			add_row(b, r, &set->rows[i], &name_set_globs[set - name_sets][i]);
		}
	}
	if (streq(name, "git") && r.effect == EFFECT_PROTECT) {
		add_repositories(b, r);
	}
	if (streq(name, "agents") && r.effect == EFFECT_PROTECT) {
		agents_keep(b, r);
	}
}

/* ---- the lists of the policy ---- */

static void find_exceptions(struct builder *b, enum key_id key) {
	const struct value *list = &b->p->values[key];
	bool *groups = b->excepts[key == KEY_FS_DENY ? EFFECT_DENY : EFFECT_PROTECT];
	for (size_t i = 0; i < list->count; i++) {
		const struct item *it = &list->items[i];
		if (it->except && it->kind == ITEM_PATTERN) {
			groups[item_group(it)] = true;
		}
	}
}

/* Whether its own group has an exception.  Exceptions of another group must not remove its mount,
 * or change its order after the sets (P3). */
static bool excepts(const struct builder *b, enum key_id key, const struct item *it) {
	return b->excepts[key == KEY_FS_DENY ? EFFECT_DENY : EFFECT_PROTECT][item_group(it)];
}

bool pattern_alone_covers(const struct builder *b, enum key_id key, const struct item *it,
			  const char *full) {
	return it->kind != ITEM_PLAIN || full == NULL || excepts(b, key, it);
}

/* An existing directory is hidden by its mount and is not replaced; a file is replaced whenever an
 * editor saves it.  Without mounts no_namespaces.c adds the trait where it is needed. */
static bool wants_reads(const struct builder *b, bool alone, const char *full) {
	return alone || (!b->no_namespaces && host_fs_look(b, full).kind != LOOK_DIR);
}

static void add_item(struct builder *b, enum key_id key, const struct item *it) {
	struct rule r = {
		.effect = key == KEY_FS_DENY ? EFFECT_DENY : EFFECT_PROTECT,
		.group = item_group(it),
		.except = it->except,
		.written = it->str,
		.origin = it->origin,
	};
	const char *full = it->kind == ITEM_PLAIN ? host_fs_resolve(b, it->str) : NULL;
	bool alone = pattern_alone_covers(b, key, it, full);
	if (r.effect == EFFECT_DENY && !r.except && wants_reads(b, alone, full)) {
		b->plan->rules.reads = true;
	}
	if (alone) {
		b->plan->rules.required =
			b->plan->rules.required || it->origin.kind != ORIGIN_BUILTIN;
		b->plan->rules.hides =
			b->plan->rules.hides || (r.effect == EFFECT_DENY && !r.except);
	}
	switch (it->kind) {
	case ITEM_PLAIN:
		add_plain(b, r, it, full);
		break;
	case ITEM_PATTERN:
		add_pattern(b, r, it->str);
		except_lock(b, r, it->str);
		break;
	case ITEM_SET:
		add_set(b, r, it->str);
		break;
	}
}

static int item_order(const void *left, const void *right) {
	const struct item *a = *(const struct item *const *)left;
	const struct item *b = *(const struct item *const *)right;
	return strcmp(a->str, b->str);
}

/* In the order of the list.  In a group without exceptions, paths come last and sorted: no
 * exception of a set overrides one, and their order has no effect (L2). */
static void add_list(struct builder *b, enum key_id key) {
	const struct value *list = &b->p->values[key];
	const struct item **paths = arena_array(b->a, list->count + 1, sizeof *paths);
	size_t npaths = 0;
	if (paths == NULL) {
		b->out_of_memory = true;
		return;
	}
	for (size_t i = 0; i < list->count; i++) {
		if (list->items[i].kind == ITEM_PLAIN && !excepts(b, key, &list->items[i])) {
			paths[npaths++] = &list->items[i];
		} else {
			add_item(b, key, &list->items[i]);
		}
	}
	qsort(paths, npaths, sizeof *paths, item_order);
	for (size_t i = 0; i < npaths; i++) {
		add_item(b, key, paths[i]);
	}
}

static void add_names(struct builder *b) {
	const struct value *list = &b->p->values[KEY_FS_PROTECT_NAMES];
	for (size_t i = 0; i < list->count; i++) {
		struct rule r = {
			.effect = EFFECT_PROTECT,
			.group = item_group(&list->items[i]),
			.written = list->items[i].str,
			.origin = list->items[i].origin,
		};
		b->plan->rules.required = true;
		add_floating(b, r, plan_keep_printf(b, "**/%s", escaped(b, list->items[i].str)),
			     true);
	}
}

/* ---- names of sets that are symlinks: their files may be elsewhere ---- */

/* Whether no later exception applies to the name that it would have. */
static bool still_holds(struct builder *b, const struct rule *r, const char *path, size_t next) {
	for (; next < r->glob.count; next++) {
		const struct glob_name *name = &r->glob.names[next];
		path = plan_keep_child(b, path, name->text, name->len);
	}
	struct ruling ruling = rules_judge(&b->plan->rules, path);
	return (r->effect == EFFECT_DENY ? ruling.deny : ruling.protect) != NULL;
}

/* next: how many names of the pattern lead to the link. */
static void follow_link(struct builder *b, struct rule r, const struct mount_request *w,
			const char *link, size_t next) {
	const char *end = host_fs_resolve(b, link);
	if (end == NULL) {
		end = link_end(b, link);
	}
	if (!still_holds(b, &r, compose_inside(b, w, link), next)) {
		return;
	}
	protect_link(b, r, link);
	r.floating = r.anywhere = false;
	if (end == NULL || (next == r.glob.count && path_within(b->plan->workspace, end))) {
		return; /* a loop of symlinks; or it contains the whole workspace */
	}
	if (next == r.glob.count) {
		plan_note(b, plan_keep_printf(b, "%s leads to %s, which is protected as well (@%s)",
					      link, end, r.set));
		add_path(b, r, end);
		return;
	}
	r.glob = glob_from(&r.glob, next);
	append_beneath(b, r, end);
}

/* A name at any depth is searched at the top only: no tree is walked. */
static void follow_rule(struct builder *b, struct tree_tops *tops, const struct rule *r) {
	char words[PATH_MAX];
	if (r->set == NULL || r->except || r->until_made || r->glob.count == 0) {
		return;
	}
	size_t first = r->glob.names[0].kind == GLOB_DEPTH;
	if (first < r->glob.count && tree_top_lacks(b, tops, r->anchor, &r->glob.names[first])) {
		return; /* most of them: before the search for the tree */
	}
	const struct mount_request *w = mount_request_tree_at(b, r->anchor);
	const char *path = w == NULL ? NULL : w->m.source;
	for (size_t i = first; w != NULL && i < r->glob.count; i++) {
		const struct glob_name *name = &r->glob.names[i];
		if (name->kind != GLOB_LITERAL) {
			return;
		}
		path = plan_keep_child(b, path, name->text, name->len);
		if (b->h->fs.readlink(b->h->fs.ctx, path, words, sizeof words)) {
			follow_link(b, *r, w, path, i + 1);
			return;
		}
	}
}

static void follow_rules(struct builder *b) {
	struct tree_tops tops = tree_top_list(b);
	size_t n = b->plan->rules.count;
	for (size_t i = 0; i < n; i++) {
		follow_rule(b, &tops, &b->plan->rules.list[i]);
	}
}

int patterns_check(const struct builder *b, struct err *e) {
	if (!b->too_many_rules) {
		return 0;
	}
	(void)err_set(e, ERR_USAGE, WHERE,
		      "fs.deny, fs.protect and fs.protect_names make more than %zu rules in all "
		      "granted trees",
		      RULES_MAX);
	return err_fix(e, "grant fewer paths with fs.read and fs.write, or use fewer patterns");
}

void patterns_build(struct builder *b) {
	static const enum key_id lists[] = {KEY_FS_DENY, KEY_FS_PROTECT};
	b->plan->judges = b->h->notify;
	if (b->plan->engine < ENGINE_LANDLOCK) {
		return; /* without Landlock no path can be hidden; the guarantees report that */
	}
	find_anchors(b);
	for (size_t k = 0; k < ARRAY_LEN(lists); k++) {
		find_exceptions(b, lists[k]);
		add_list(b, lists[k]);
	}
	add_names(b);
	follow_rules(b);
	agents_warn(b);
}
