/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the files of a repository read-only that decide which programs the next git command on the
 * host runs.
 *
 * Theory.  Hooks are programs, and the configuration names programs; commondir, gitdir and a work
 * tree's .git file name the directories of both.  These files are read-only; the rest of a
 * repository stays writable, so that commits, branches, stashes and new work trees can be made.
 * Submodules and linked work trees have the same files again.
 *
 * Should:   protect existing files by a mount, and every name by a rule too: the host may replace a
 *           file, which removes its mount, and a missing name has no mount.
 * Must not: walk without a bound: a directory with too many entries becomes read-only as a whole.
 * Fails:    closed: a repository that cannot be read is read-only. */
#include "plan/internal.h"

#include "base/auto.h"
#include "base/path.h"
#include "base/str.h"
#include "plan/git/clean.h"
#include "plan/git/config.h"
#include "plan/git/submodules.h"

#include <limits.h>
#include <string.h>

#define NOTE "git"

/* More mounts than this would cost more than most commands. */
#define ENTRIES_MAX 96
/* Directories between modules/ and a repository: a submodule's name has slashes. */
#define DEPTH_MAX 16
/* git's own limit for files that include files. */
#define INCLUDES_MAX 10

static const char *const repository_names[] = {"commondir", "config", "config.worktree", "hooks"};
static const char *const tree_names[] = {"commondir", "config.worktree", "gitdir"};

/* ---- one path ---- */

/* Whether a trusted part of the policy grants this very path. */
static bool is_granted(struct builder *b, enum key_id key, const char *path) {
	const struct value *grants = &b->p->values[key];
	for (size_t i = 0; i < grants->count; i++) {
		const char *full = host_fs_resolve(b, grants->items[i].str);
		if (full != NULL && streq(full, path)) {
			return true;
		}
	}
	return false;
}

/* The groups in which the set @git is in force; '!@git' makes git's files writable.  An untrusted
 * file can cancel only its own rules, and no file those of the floor (P3, P4). */
struct force {
	bool ours, others;
};

static struct force in_force(const struct builder *b) {
	const struct value *rules = &b->p->values[KEY_FS_PROTECT];
	bool kept[RULE_GROUPS] = {false};
	for (size_t i = 0; i < rules->count; i++) {
		const struct item *it = &rules->items[i];
		if (it->kind == ITEM_SET && streq(it->str, NOTE)) {
			kept[item_group(it)] = !it->except;
		}
	}
	return (struct force){.ours = kept[GROUP_OURS],
			      .others = kept[GROUP_FLOOR] || kept[GROUP_UNTRUSTED]};
}

/* Whether the policy excepts this very path from the rules of GROUP_OURS. */
static bool is_excepted(struct builder *b, const char *path) {
	for (size_t i = 0; i < b->nrequests; i++) {
		const struct mount_request *w = &b->requests[i];
		if (mount_request_is_tree(w) && path_within(path, w->m.source) &&
		    rules_except(&b->plan->rules, compose_inside(b, w, path))) {
			return true;
		}
	}
	return false;
}

static void add_name_rule(struct builder *b, const char *path) {
	if (masks_is_shown(b, path)) {
		pattern_for_path(b, path, NOTE);
	}
}

/* Protects the missing target of a dangling symlink. */
static void protect_target(struct builder *b, const char *link) {
	const char *end = link_end(b, link);
	if (end != NULL) {
		add_name_rule(b, end);
	}
}

static void protect_file(struct builder *b, const char *path) {
	struct look seen = host_fs_look(b, path);
	if (path_within(b->plan->workspace, path)) {
		plan_add_unkept(b, plan_keep_printf(b,
						    "the git hooks directory is %s, which contains "
						    "the workspace: hooks are not protected",
						    path));
		return;
	}
	add_name_rule(b, path);
	if (seen.kind == LOOK_NOTHING) {
		return;
	}
	if (seen.kind == LOOK_FILE && seen.names > 1 && masks_is_shown(b, path)) {
		plan_add_unkept(
			b, plan_keep_printf(b, "%s has other hard links, which are not protected",
					    path));
	}
	masks_hide(b,
		   (struct hide){.path = path, .seen = seen, .rank = RANK_PROTECT, .note = NOTE});
}

static void protect(struct builder *b, const char *path) {
	const char *full = host_fs_resolve(b, path);
	struct force force = in_force(b);
	if (!force.others && (!force.ours || is_excepted(b, path))) {
		return;
	}
	if (host_fs_look(b, path).kind != LOOK_LINK) {
		protect_file(b, path);
		return;
	}
	add_name_rule(b, path);
	(void)pattern_for_links(b, path, NOTE);
	if (full != NULL) {
		protect_file(b, full);
	} else {
		protect_target(b, path);
	}
}

/* Protects the target of a path through symlinks, and each of those symlinks.  Managers of
 * dotfiles create symlinks from HOME into a workspace. */
static void protect_through_links(struct builder *b, const char *path) {
	struct force force = in_force(b);
	if (force.ours || force.others) {
		const char *named = pattern_for_links(b, path, NOTE), *end = link_end(b, named);
		end = end == NULL ? named : end;
		if (git_can_be_written(b, end)) {
			protect(b, end);
		}
	}
}

/* Protects a path that a configuration names. */
static void protect_named(struct builder *b, const char *path) {
	const char *named = link_half_resolved(b, path);
	struct force force = in_force(b);
	if (!masks_is_shown(b, named)) {
		protect_through_links(b, path);
		return;
	}
	if (force.ours || force.others) {
		(void)pattern_for_links(b, path, NOTE);
	}
	protect(b, named);
}

/* Protects the lock file of a configuration: the host's git writes the new configuration to it and
 * renames it, so a command that has opened or linked the lock could change the configuration
 * afterwards.  By its name alone: it exists for a moment.  In a ".git" the rows of data/names.c
 * have it. */
static void protect_lock(struct builder *b, const char *config) {
	const char *path = plan_keep_printf(b, "%s.lock", config);
	struct force force = in_force(b);
	if (strstr(path, "/.git/") == NULL &&
	    (force.others || (force.ours && !is_excepted(b, path)))) {
		add_name_rule(b, path);
	}
}

static void protect_all(struct builder *b, const char *dir, const char *const *names, size_t n) {
	for (size_t i = 0; i < n; i++) {
		const char *path = plan_keep_join(b, dir, names[i]);
		protect(b, path);
		if (str_starts(names[i], "config")) {
			protect_lock(b, path);
		}
	}
}

/* ---- configuration ---- */

struct settings {
	const char *base;  /* the work tree, to which hooksPath is relative; NULL: not known */
	const char *hooks; /* core.hooksPath as written, or NULL */
	const char *tree;  /* core.worktree, or NULL */
};

/* As git expands a path in its configuration; NULL for another user's home. */
static const char *expand(struct builder *b, const char *base, const char *path) {
	if (path[0] == '~') {
		bool own = path[1] == '/' && b->h->home != NULL;
		return own ? plan_keep_join(b, b->h->home, path + 2) : NULL;
	}
	if (path[0] == '/') {
		return plan_keep_join(b, "/", path);
	}
	return base == NULL ? NULL : plan_keep_join(b, base, path);
}

/* If the text contains a credential: requests a copy without it over the file. */
static void hide_credentials(struct builder *b, const char *path, const struct buf *text) {
	struct buf out;
	buf_init(&out);
	enum git_clean got = git_clean(text->data, text->len, &out);
	if (buf_failed(&out)) {
		b->out_of_memory = true;
	} else if (got != GIT_CLEAN_SAME && !is_granted(b, KEY_FS_READ, path) &&
		   !is_granted(b, KEY_FS_WRITE, path) && !is_excepted(b, path)) {
		bool readable = got == GIT_CLEAN_CHANGED;
		masks_hide(b, (struct hide){
				      .path = path,
				      .seen = host_fs_look(b, path),
				      .rank = RANK_CLEAN,
				      .note = readable ? "without credentials" : "credential",
				      .text = readable ? plan_keep_printf(b, "%s", out.data) : NULL,
			      });
		plan_note(b, plan_keep_printf(b,
					      "%s contains a credential, which the command cannot "
					      "read; to show it: --read %s",
					      path, path));
	}
	buf_done(&out);
}

static void read_config(struct builder *b, const char *path, struct settings *s, int depth);

static void take_entry(struct builder *b, const char *path, struct settings *s, int depth,
		       const struct git_config *c) {
	const char *dir = plan_keep_join(b, path, "..");
	if (!c->has_value) {
		return;
	}
	if (git_config_is(c, "core", "hookspath")) {
		s->hooks = plan_keep_printf(b, "%s", c->value.data);
	} else if (git_config_is(c, "core", "worktree")) {
		const char *tree = git_path(b, dir, c->value.data);
		s->tree = tree == NULL ? NULL : host_fs_resolve(b, tree);
	} else if (git_config_is(c, "include", "path") || git_config_is(c, "includeif", "path")) {
		const char *other = expand(b, dir, c->value.data);
		if (other != NULL && depth < INCLUDES_MAX) {
			protect_named(b, other);
			read_config(b, other, s, depth + 1);
		}
	}
}

static void read_config(struct builder *b, const char *path, struct settings *s, int depth) {
	const char *full = host_fs_resolve(b, path);
	struct git_config c;
	struct buf text;
	enum git_config_event event;

	if (full == NULL) {
		return;
	}
	buf_init(&text);
	if (!b->h->fs.read(b->h->fs.ctx, full, GIT_CONFIG_MAX, &text) || buf_failed(&text)) {
		plan_add_unkept(
			b, plan_keep_printf(
				   b, "%s cannot be read: hooks that it names are not protected",
				   full));
		buf_done(&text);
		return;
	}
	if (masks_is_shown(b, full)) {
		hide_credentials(b, full, &text);
	}
	git_config_init(&c, text.data, text.len);
	while ((event = git_config_next(&c)) != GIT_CONFIG_END && !git_config_failed(&c)) {
		if (event == GIT_CONFIG_ENTRY) {
			take_entry(b, full, s, depth, &c);
		}
	}
	b->out_of_memory = b->out_of_memory || git_config_failed(&c);
	git_config_done(&c);
	buf_done(&text);
}

static void protect_hooks_at(struct builder *b, const char *base, const char *hooks) {
	const char *full = expand(b, base, hooks);
	if (full != NULL) {
		protect_named(b, full);
	}
}

/* If the repository has no core.hooksPath, those of the caller's configuration apply. */
static void protect_hooks(struct builder *b, const struct settings *s) {
	const struct git_obeyed *o = &b->h->git_obeyed;
	if (s->hooks != NULL) {
		protect_hooks_at(b, s->base, s->hooks);
		return;
	}
	for (size_t i = 0; i < o->nhooks; i++) {
		protect_hooks_at(b, s->base, o->hooks[i]);
	}
}

/* ---- listing ---- */

struct names {
	struct builder *b;
	const char *dir;
	const char *items[ENTRIES_MAX];
	size_t n; /* more than ENTRIES_MAX: the rest was left out */
};

static void name_add(void *arg, const char *name) {
	struct names *all = arg;
	if (all->n < ENTRIES_MAX) {
		all->items[all->n] = plan_keep_join(all->b, all->dir, name);
	}
	all->n++;
}

/* False when there are too many entries, or they cannot be listed; then the directory is protected
 * as a whole. */
static bool list_names(struct builder *b, const char *dir, struct names *all) {
	*all = (struct names){.b = b, .dir = dir};
	if (host_fs_look(b, dir).kind == LOOK_NOTHING) {
		return true;
	}
	return b->h->fs.list(b->h->fs.ctx, dir, name_add, all) && all->n <= ENTRIES_MAX;
}

static void protect_whole(struct builder *b, const char *dir) {
	protect(b, dir);
	plan_note(b,
		  plan_keep_printf(
			  b, "%s is read-only as a whole: it has too many entries to protect each",
			  dir));
}

/* ---- linked work trees ---- */

static void protect_tree(struct builder *b, const char *dir, const char *hooks) {
	const char *link = git_follow(b, plan_keep_join(b, dir, "gitdir"), "", dir);
	struct settings s = {.hooks = hooks};

	if (host_fs_look(b, dir).kind != LOOK_DIR) {
		return;
	}
	protect_all(b, dir, tree_names, ARRAY_LEN(tree_names));
	if (link != NULL && masks_is_shown(b, link)) {
		protect(b, link);
		s.base = plan_keep_join(b, link, "..");
	}
	read_config(b, plan_keep_join(b, dir, "config.worktree"), &s, 0);
	protect_hooks(b, &s);
}

static void protect_trees(struct builder *b, const char *common, const char *hooks) {
	const char *dir = plan_keep_join(b, common, "worktrees");
	struct names all;
	if (!list_names(b, dir, &all)) {
		protect_whole(b, dir);
		return;
	}
	for (size_t i = 0; i < all.n; i++) {
		protect_tree(b, all.items[i], hooks);
	}
}

/* ---- a repository, and those of its submodules ---- */

static void protect_repository(struct builder *b, const char *dir, const char *tree) {
	struct settings s = {.base = tree};
	protect_all(b, dir, repository_names, ARRAY_LEN(repository_names));
	read_config(b, plan_keep_join(b, dir, "config"), &s, 0);
	read_config(b, plan_keep_join(b, dir, "config.worktree"), &s, 0);
	if (s.tree != NULL) {
		const char *link = plan_keep_join(b, s.tree, ".git");
		s.base = s.tree;
		if (host_fs_look(b, link).kind != LOOK_DIR && masks_is_shown(b, link)) {
			protect(b, link);
		}
	}
	protect_hooks(b, &s);
	protect_trees(b, dir, s.hooks);
}

struct modules {
	const char *dirs[ENTRIES_MAX];
	size_t n, looked;
};

/* False when there are too many. */
static bool find_modules(struct builder *b, const char *dir, struct modules *found, int depth) {
	struct names all;
	if (depth > DEPTH_MAX || !list_names(b, dir, &all)) {
		return false;
	}
	for (size_t i = 0; i < all.n; i++) {
		const char *path = all.items[i];
		if (host_fs_look(b, path).kind != LOOK_DIR) {
			continue;
		}
		bool is_one = host_fs_look(b, plan_keep_join(b, path, "HEAD")).kind != LOOK_NOTHING;
		if (++found->looked > ENTRIES_MAX || (is_one && found->n == ENTRIES_MAX)) {
			return false;
		}
		if (is_one) {
			found->dirs[found->n++] = path;
		}
		if (!find_modules(b, is_one ? plan_keep_join(b, path, "modules") : path, found,
				  depth + 1)) {
			return false;
		}
	}
	return true;
}

static void protect_modules(struct builder *b, const char *common) {
	const char *dir = plan_keep_join(b, common, "modules");
	struct modules found = {.n = 0};
	if (!find_modules(b, dir, &found, 0)) {
		protect_whole(b, dir);
		return;
	}
	for (size_t i = 0; i < found.n; i++) {
		protect_repository(b, found.dirs[i], NULL);
	}
}

/* Excepts a name in modules/, which the repository of a submodule may have.  The group is its
 * own, so that the exception lifts no rule about the files beneath. */
static void allow_module(struct builder *b, const char *dir, const char *name) {
	const char *first = plan_keep_printf(b, "%.*s", (int)strcspn(name, "/"), name);
	char *pattern = glob_escape(b->a, first);
	if (pattern == NULL) {
		b->out_of_memory = true;
	} else if (first[0] != '\0' && !streq(first, ".") && !streq(first, "..")) {
		struct rule r = {.effect = EFFECT_PROTECT,
				 .group = GROUP_MODULES,
				 .except = true,
				 .written = dir,
				 .set = NOTE};
		pattern_beneath(b, r, dir, pattern);
	}
}

static void protect_other_modules(struct builder *b, const struct repository *r, const char *dir) {
	const char *names[SUBMODULES_MAX];
	size_t n = submodules_list(b, r, names);
	struct names there;
	struct rule every = {
		.effect = EFFECT_PROTECT, .group = GROUP_MODULES, .written = dir, .set = NOTE};

	if (!masks_is_shown(b, dir) || !list_names(b, dir, &there)) {
		return; /* protect_modules() protects all of it */
	}
	pattern_beneath(b, every, dir, "*");
	for (size_t i = 0; i < n; i++) {
		allow_module(b, dir, names[i]);
	}
	for (size_t i = 0; i < there.n; i++) {
		allow_module(b, dir, strrchr(there.items[i], '/') + 1);
	}
}

/* "git submodule add" clones into modules/ and changes the index before it writes to
 * .gitmodules and the configuration, which are protected.  Where a new name in modules/ is
 * protected as well, the command fails before it changes anything. */
static void protect_new_modules(struct builder *b, const struct repository *r) {
	const char *dir = plan_keep_join(b, r->common, "modules");
	const char *file = r->tree == NULL ? NULL : plan_keep_join(b, r->tree, ".gitmodules");
	struct force force = in_force(b);
	if (file == NULL || !masks_is_shown(b, file) || (!force.ours && !force.others) ||
	    (is_excepted(b, file) && is_excepted(b, plan_keep_join(b, r->common, "config")))) {
		return;
	}
	if (r->has_submodules) {
		protect_other_modules(b, r, dir);
	} else if (host_fs_look(b, dir).kind == LOOK_NOTHING) {
		protect(b, dir);
	}
}

/* A linked work tree has its own submodules. */
static void protect_modules_of_trees(struct builder *b, const char *common) {
	struct names all;
	if (!list_names(b, plan_keep_join(b, common, "worktrees"), &all)) {
		return; /* protect_trees() protects all of it */
	}
	for (size_t i = 0; i < all.n; i++) {
		protect_modules(b, all.items[i]);
	}
}

/* r->tree: hooksPath is relative to it; of a bare repository its own directory. */
static void protect_found(struct builder *b, const struct repository *r) {
	if (r->link != NULL) {
		protect(b, r->link);
	}
	struct force force = in_force(b);
	if (r->alias != NULL && (force.ours || force.others)) {
		add_name_rule(b, r->alias);
	}
	const char *const named[] = {r->alias, r->named, r->common_named};
	for (size_t i = 0; i < ARRAY_LEN(named); i++) {
		if (named[i] != NULL && (force.ours || force.others)) {
			(void)pattern_for_links(b, named[i], NOTE);
		}
	}
	if (r->common == NULL) {
		protect(b, r->dir);
		plan_note(b,
			  plan_keep_printf(b, "%s is read-only: Corral cannot read it as git does",
					   r->dir));
		return;
	}
	if (!masks_is_shown(b, r->common)) {
		return; /* the command cannot reach it */
	}
	protect_repository(b, r->common, r->tree);
	protect_modules(b, r->common);
	protect_new_modules(b, r);
	protect_modules_of_trees(b, r->common);
	if (!path_within(r->dir, r->common)) {
		protect_modules(b, r->dir); /* of a work tree at another path */
	}
}

/* Git applies the caller's settings, and the files that they include, in every repository. */
static void protect_obeyed(struct builder *b) {
	const struct git_obeyed *o = &b->h->git_obeyed;
	for (size_t i = 0; i < o->nfiles; i++) {
		if (o->linked[i]) {
			protect_through_links(b, o->files[i]);
		} else if (git_can_be_written(b, o->files[i])) {
			protect(b, o->files[i]);
		}
	}
	if (o->more) {
		plan_add_unkept(b, "the caller's git configuration names more hooks or files than "
				   "Corral reads: the rest is not protected");
	}
}

void git_protect(struct builder *b) {
	protect_obeyed(b);
	for (size_t i = 0; i < b->nrepositories; i++) {
		protect_found(b, &b->repositories[i]);
	}
}
