/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the git repository of a working tree, by the same rules as git.
 *
 * Theory.  A working tree has a directory .git, or a file of that name ("gitdir: PATH") that leads
 * to one: in a linked work tree and in a submodule.  That directory may lie outside all trees that
 * are shown, and without it no commit can be made.  The file lies in the workspace, so an earlier
 * command may have written it.  The directory is shown only when its own files, which no command
 * could write, name this working tree (L6).
 *
 * Should:   find the directories that git would use: symlinks, relative paths, commondir.
 * Must not: show a repository because only the workspace names it (L6).
 * Fails:    closed: a repository that does not name the tree is not shown, with a note. */
#include "plan/internal.h"

#include "base/path.h"
#include "base/str.h"
#include "plan/git/config.h"

#include <limits.h>

/* git does not read a longer .git file. */
#define LINE_MAX_BYTES ((size_t)1024 * 1024)

/* How many subdirectories of a workspace without a repository are searched for one: users keep
 * several repositories beside each other.  Each costs a system call. */
#define CHILDREN_MAX 512

/* ---- small files ---- */

/* The content of a file with one line, without the newline; NULL for any other file. */
static const char *read_line(struct builder *b, const char *path) {
	struct buf text;
	const char *line = NULL;

	buf_init(&text);
	if (b->h->fs.read(b->h->fs.ctx, path, LINE_MAX_BYTES, &text) && !buf_failed(&text)) {
		size_t len = text.len;
		while (len > 0 && (text.data[len - 1] == '\n' || text.data[len - 1] == '\r')) {
			len--;
		}
		bool one = len > 0 && len < PATH_MAX && memchr(text.data, '\n', len) == NULL &&
			   memchr(text.data, '\0', len) == NULL;
		line = one ? plan_keep_printf(b, "%.*s", (int)len, text.data) : NULL;
	}
	b->out_of_memory = b->out_of_memory || buf_failed(&text);
	buf_done(&text);
	return line;
}

/* False for a ".." after a name: that name may be a symlink. */
static bool is_straight(const char *path) {
	bool named = path[0] == '/';
	while (*path != '\0') {
		size_t len = strcspn(path, "/");
		bool up = len == 2 && strncmp(path, "..", 2) == 0;
		if (up && named) {
			return false;
		}
		named = named || (!up && len > 0 && !(len == 1 && path[0] == '.'));
		path += len;
		path += strspn(path, "/");
	}
	return true;
}

const char *git_path(struct builder *b, const char *base, const char *path) {
	return is_straight(path) ? plan_keep_join(b, base, path) : NULL;
}

/* The path after `head` in a file, as written; NULL when there is none. */
static const char *named_by(struct builder *b, const char *file, const char *head,
			    const char *base) {
	const char *line = read_line(b, file);
	if (line == NULL || !str_starts(line, head) || line[strlen(head)] == '\0') {
		return NULL;
	}
	return git_path(b, base, line + strlen(head));
}

const char *git_follow(struct builder *b, const char *file, const char *head, const char *base) {
	const char *path = named_by(b, file, head, base);
	return path == NULL ? NULL : host_fs_resolve(b, path);
}

/* The directory that several work trees share (commondir), canonical; NULL when it cannot be
 * resolved. */
static const char *common_of(struct builder *b, const char *dir, const char **ret_named) {
	const char *file = plan_keep_join(b, dir, "commondir");
	if (host_fs_look(b, file).kind == LOOK_NOTHING) {
		return dir;
	}
	*ret_named = named_by(b, file, "", dir);
	return *ret_named == NULL ? NULL : host_fs_resolve(b, *ret_named);
}

/* ---- the tree that a repository names ---- */

/* core.worktree of a submodule's repository. */
static const char *tree_named_by(struct builder *b, const char *dir) {
	struct git_config c;
	struct buf text;
	enum git_config_event event;
	const char *tree = NULL;

	buf_init(&text);
	bool good = b->h->fs.read(b->h->fs.ctx, plan_keep_join(b, dir, "config"), GIT_CONFIG_MAX,
				  &text);
	git_config_init(&c, good ? text.data : "", good ? text.len : 0);
	while ((event = git_config_next(&c)) == GIT_CONFIG_SECTION || event == GIT_CONFIG_ENTRY) {
		if (git_config_failed(&c)) {
			break;
		}
		if (event == GIT_CONFIG_ENTRY && git_config_is(&c, "core", "worktree") &&
		    c.has_value) {
			const char *path = git_path(b, dir, c.value.data);
			tree = path == NULL ? NULL : host_fs_resolve(b, path);
		}
	}
	b->out_of_memory = b->out_of_memory || git_config_failed(&c) || buf_failed(&text);
	git_config_done(&c);
	buf_done(&text);
	return tree;
}

static const char *parent_of(struct builder *b, const char *path) {
	return plan_keep_join(b, path, "..");
}

static bool agrees(struct builder *b, const struct repository *r) {
	if (streq(r->dir, r->common)) {
		const char *tree = tree_named_by(b, r->dir);
		return tree != NULL && streq(tree, r->tree);
	}
	/* A directory that a command created may name any other as its commondir, so the commondir
	 * must contain it. */
	if (!streq(parent_of(b, r->dir), plan_keep_join(b, r->common, "worktrees"))) {
		return false;
	}
	const char *back = git_follow(b, plan_keep_join(b, r->dir, "gitdir"), "", r->dir);
	return back != NULL && streq(back, r->link);
}

/* ---- showing it ---- */

bool git_can_be_written(const struct builder *b, const char *path) {
	for (size_t i = 0; i < b->nrequests; i++) {
		const struct mount_request *w = &b->requests[i];
		if (mount_request_is_tree(w) && w->m.writable && path_within(path, w->m.source)) {
			return true;
		}
	}
	return false;
}

static const char *why_not(struct builder *b, const struct repository *r) {
	if (path_within(r->tree, r->common)) {
		return "it contains this tree and others";
	}
	if (plan_reserved_reason(r->common) != NULL || plan_own_dir(b, r->common) != NULL) {
		return "no rule may show this path";
	}
	if (!floor_allows(b, KEY_FS_READ, r->common)) {
		return "the floor does not allow it";
	}
	return agrees(b, r) ? NULL : "its files do not name this tree as their working tree";
}

/* A repository outside, for the work tree that is the workspace or a grant. */
static void show_outside(struct builder *b, const struct repository *r) {
	if (r->link == NULL || git_can_be_written(b, r->common)) {
		return;
	}
	const char *why = why_not(b, r);
	if (why != NULL) {
		plan_note(b, plan_keep_printf(b,
					      "the repository of %s, %s, is not shown: %s; to show "
					      "it: --write %s",
					      r->tree, r->common, why, r->common));
		return;
	}
	/* It is not granted by name; with fs.cow a commit would change the host. */
	bool writable = !b->read_only && b->plan->cow_dir == NULL &&
			floor_allows(b, KEY_FS_WRITE, r->common);
	struct show s = {
		.path = r->common,
		.canonical = r->common,
		.seen = host_fs_look(b, r->common),
		.writable = writable,
		.reach = writable ? REACH_WRITE : REACH_EXEC,
		.rank = RANK_WRITE,
		.note = "repository",
	};
	mount_request_show(b, &s);
	plan_note(b, plan_keep_printf(b, "%s is shown: it is the repository of %s", r->common,
				      r->tree));
	if (b->plan->cow_dir != NULL) {
		plan_note(b,
			  plan_keep_printf(b,
					   "%s is read-only: it lies outside the workspace, where "
					   "fs.cow has no effect; to allow changes: --write %s",
					   r->common, r->common));
	}
}

/* ---- finding it ---- */

/* State while the entries of a directory are listed. */
struct children {
	struct builder *b;
	const char *tree;
	size_t n;
	bool closed; /* it can be listed but not searched */
};

static bool exists(const struct builder *b, const char *path) {
	return host_fs_look(b, path).kind != LOOK_NOTHING;
}

/* Any of them: a command may have renamed one, so that the next run would not protect the
 * repository. */
static bool looks_used(struct builder *b, const char *dir) {
	return exists(b, plan_keep_join(b, dir, "HEAD")) ||
	       exists(b, plan_keep_join(b, dir, "config")) ||
	       exists(b, plan_keep_join(b, dir, "hooks")) ||
	       exists(b, plan_keep_join(b, dir, "objects"));
}

static bool is_bare(struct builder *b, const char *dir) {
	return exists(b, plan_keep_join(b, dir, "HEAD")) &&
	       exists(b, plan_keep_join(b, dir, "objects")) &&
	       exists(b, plan_keep_join(b, dir, "refs"));
}

static void look_at_first(void *arg, const char *name) {
	struct children *c = arg;
	c->closed =
		c->closed || (c->n++ == 0 && !exists(c->b, plan_keep_join(c->b, c->tree, name)));
}

/* Whether a directory can be listed and searched. */
static bool opens(struct builder *b, const char *dir) {
	struct children c = {.b = b, .tree = dir};
	return b->h->fs.list(b->h->fs.ctx, dir, look_at_first, &c) && !c.closed;
}

static void repository_add(struct builder *b, struct repository r) {
	if (arena_grow(b->a, &b->repositories, b->nrepositories, &b->repositories_cap,
		       sizeof *b->repositories) != 0) {
		b->out_of_memory = true;
		return;
	}
	b->repositories[b->nrepositories++] = r;
}

/* Adds the repository of an existing .git, by its canonical path. */
static void add_found(struct builder *b, const char *tree, const char *path, const char *alias,
		      bool show) {
	struct look seen = host_fs_look(b, path);
	struct repository r = {.tree = tree, .alias = alias, .dir = path};
	if (seen.kind == LOOK_FILE) {
		r.link = path;
		r.named = named_by(b, path, "gitdir: ", plan_keep_join(b, path, ".."));
		r.dir = r.named == NULL ? NULL : host_fs_resolve(b, r.named);
	} else if (seen.kind != LOOK_DIR) {
		return; /* git ignores it as well */
	}
	bool open = r.dir != NULL && (!masks_is_shown(b, r.dir) || opens(b, r.dir));
	r.common = open ? common_of(b, r.dir, &r.common_named) : NULL;
	if (r.common == NULL) {
		r.dir = path; /* git may be able to read more of it */
	} else if (show) {
		show_outside(b, &r);
	}
	if (r.common == NULL || r.link != NULL || looks_used(b, r.common)) {
		r.has_submodules = exists(b, plan_keep_join(b, tree, ".gitmodules"));
		repository_add(b, r);
	}
}

/* False when there is none directly in the tree. */
static bool look_in(struct builder *b, const char *tree, bool show) {
	const char *path = plan_keep_join(b, tree, ".git");
	enum look_kind kind = host_fs_look(b, path).kind;
	if (kind == LOOK_NOTHING) {
		return false;
	}
	const char *full = kind == LOOK_LINK ? host_fs_resolve(b, path) : path;
	if (full != NULL) {
		add_found(b, tree, full, kind == LOOK_LINK ? path : NULL,
			  show && kind == LOOK_FILE);
	}
	return true;
}

static void look_in_child(void *arg, const char *name) {
	struct children *c = arg;
	const char *path = plan_keep_join(c->b, c->tree, name);
	if (c->n++ >= CHILDREN_MAX || !exists(c->b, plan_keep_join(c->b, path, ".git"))) {
		return;
	}
	const char *tree = host_fs_resolve(c->b, path);
	if (tree != NULL) {
		(void)look_in(c->b, tree, false); /* it has one */
	}
}

static void look_at_tree(struct builder *b, const char *tree, bool show) {
	struct children c = {.b = b, .tree = tree};
	if (look_in(b, tree, show)) {
		return;
	}
	if (is_bare(b, tree)) {
		repository_add(b, (struct repository){.tree = tree, .dir = tree, .common = tree});
		return;
	}
	/* The command cannot list such a tree either. */
	(void)b->h->fs.list(b->h->fs.ctx, tree, look_in_child, &c);
	if (c.n > CHILDREN_MAX) {
		plan_add_unkept(
			b, plan_keep_printf(b,
					    "repositories beneath %s are protected only in %d of "
					    "its %zu directories",
					    tree, CHILDREN_MAX, c.n));
	}
}

void git_show(struct builder *b) {
	static const enum key_id grants[] = {KEY_FS_WRITE, KEY_FS_READ};
	if (b->plan->engine < ENGINE_LANDLOCK) {
		return; /* files are not protected there */
	}
	look_at_tree(b, b->plan->workspace, true);
	for (size_t g = 0; g < 2; g++) {
		const struct value *list = &b->p->values[grants[g]];
		for (size_t i = 0; i < list->count; i++) {
			const char *tree = host_fs_resolve(b, list->items[i].str);
			if (tree != NULL && host_fs_look(b, tree).kind == LOOK_DIR) {
				look_at_tree(b, tree, grants[g] == KEY_FS_WRITE);
			}
			if (list->items[i].part_of != NULL) {
				look_at_tree(b, list->items[i].part_of, false);
			}
		}
	}
}
