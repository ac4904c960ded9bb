/* SPDX-License-Identifier: Apache-2.0 */
/* Shows the user's compilers and interpreters (~/.cargo, ~/.nvm, PATH) read-only in the private
 * home.
 *
 * Should:   show the directories of programs in PATH, and the directories that they need.
 * Must not: show the home as a whole, or credentials that lie in a toolchain.
 * Fails:    closed: a toolchain that is not found, or lies where secrets do, is
 *           not shown; the command then does not find the program. */
#include "plan/internal.h"

#include "base/path.h"
#include "base/str.h"

#include <limits.h>
#include <string.h>

/* ---- paths that may be shown ---- */

/* A directory that a variable or PATH names: not the home, not above it. */
static bool acceptable(const struct builder *b, const char *path) {
	bool holds_home = b->h->home != NULL && path_within(b->h->home, path);
	const struct path_row *row = path_credential(b->h->home, path);
	return !holds_home && plan_reserved_reason(path) == NULL &&
	       (row == NULL || (row->flags & PATH_MIXED) != 0) && plan_own_dir(b, path) == NULL;
}

/* The workspace has its own mount, and a toolchain above it would show other directories beside
 * it. */
static bool meets_workspace(const struct builder *b, const char *path) {
	return path_within(path, b->plan->workspace) || path_within(b->plan->workspace, path);
}

/* A tree that is shown already contains the path. */
static bool covered(const struct builder *b, const char *path, enum rank rank) {
	for (size_t i = 0; i < b->nrequests; i++) {
		const struct mount_request *w = &b->requests[i];
		if (mount_request_is_tree(w) && w->rank == rank && path_within(path, w->m.target)) {
			return true;
		}
	}
	return false;
}

/* ---- showing ---- */

struct scan {
	struct builder *b;
	const char *dir;
};

static void scan_entry(void *arg, const char *name) {
	struct scan *s = arg;
	if (path_table_find(&credential_names, name) != NULL) {
		masks_hide_if_shown(s->b, plan_keep_join(s->b, s->dir, name), "credential");
	}
}

/* Where HOME is another path, a symlink in it leads programs to the toolchain. */
static void link_into_home(struct builder *b, const char *path, const char *full) {
	const char *home = b->h->home;
	if (streq(b->plan->home_at, home) || streq(path, home)) {
		return;
	}
	const char *at = plan_keep_join(b, b->plan->home_at, path + strlen(home) + 1);
	struct mount m = {.kind = MOUNT_LINK, .target = at, .text = full, .note = "toolchain"};
	mount_request_add(b, m, RANK_TOOLCHAIN)->alias = true;
}

/* `whole`: the root of a toolchain, where some programs keep their tokens. */
static void show_tool(struct builder *b, const char *path, bool whole) {
	struct look seen = host_fs_look(b, path);
	if (seen.kind == LOOK_NOTHING) {
		return;
	}
	const char *full = host_fs_canonical(b, path, seen);
	if (full == NULL || !acceptable(b, full) || meets_workspace(b, full) ||
	    meets_workspace(b, path)) {
		return;
	}
	bool at_home = b->h->home != NULL && path_within(full, b->h->home);
	if (!at_home && covered(b, full, RANK_SYSTEM)) {
		return;
	}
	struct show s = {
		.path = path,
		.canonical = full,
		.seen = streq(full, path) ? seen : host_fs_look(b, full),
		.reach = REACH_EXEC,
		.rank = RANK_TOOLCHAIN,
		.note = "toolchain",
	};
	if (s.seen.kind != LOOK_DIR && s.seen.kind != LOOK_FILE) {
		return;
	}
	mount_request_show(b, &s);
	if (b->no_namespaces && b->h->home != NULL && path_within(path, b->h->home)) {
		link_into_home(b, path, full);
	}
	if (whole && s.seen.kind == LOOK_DIR) {
		struct scan scan = {b, full};
		/* The command cannot read such a directory either. */
		(void)b->h->fs.list(b->h->fs.ctx, full, scan_entry, &scan);
	}
}

static void pass_variable(struct builder *b, const char *name, const char *value) {
	if (arena_grow(b->a, &b->tool_env, b->ntool_env, &b->tool_env_cap, sizeof *b->tool_env) !=
	    0) {
		b->out_of_memory = true;
		return;
	}
	b->tool_env[b->ntool_env++] = plan_keep_printf(b, "%s=%s", name, value);
}

/* Where the caller's variable puts this toolchain, or NULL. */
static const char *moved_to(struct builder *b, const struct toolchain *t) {
	const char *value = t->variable == NULL ? NULL : plan_caller_variable(b->h, t->variable);
	if (value == NULL || value[0] != '/') {
		return NULL;
	}
	const char *dir = plan_keep_join(b, "/", value);
	const char *full = host_fs_resolve(b, dir);
	if (full == NULL || host_fs_look(b, full).kind != LOOK_DIR || !acceptable(b, dir) ||
	    !acceptable(b, full)) {
		return NULL;
	}
	pass_variable(b, t->variable, value);
	return dir;
}

static void show_toolchain(struct builder *b, const struct toolchain *t, bool in_home) {
	const char *base = moved_to(b, t);
	if (base == NULL) {
		if (!in_home) {
			return;
		}
		base = plan_keep_join(b, b->h->home, t->home);
	}
	if (t->parts[0] == NULL) {
		show_tool(b, base, true);
		return;
	}
	if (host_fs_look(b, base).kind == LOOK_NOTHING) {
		return; /* one look-up instead of one per part */
	}
	for (size_t i = 0; i < TOOLCHAIN_PARTS && t->parts[i] != NULL; i++) {
		show_tool(b, plan_keep_join(b, base, t->parts[i]), false);
	}
}

/* ---- PATH ---- */

static bool holds_programs(const char *name) {
	return streq(name, "bin") || streq(name, "sbin") || streq(name, "shims");
}

/* Programs in ~/x/bin mostly need ~/x; those in ~/bin or ~/.local/bin do not. */
static const char *root_of_programs(struct builder *b, const char *dir) {
	const char *home = b->h->home;
	if (!holds_programs(strrchr(dir, '/') + 1)) {
		return dir;
	}
	const char *parent = plan_keep_join(b, dir, "..");
	if (!path_within(parent, home) || streq(parent, home) || meets_workspace(b, parent) ||
	    path_table_find(&generic_parents, parent + strlen(home) + 1) != NULL ||
	    !acceptable(b, parent)) {
		return dir;
	}
	return parent;
}

/* Whether a file begins as a script or an ELF program does.  Not known: it does not. */
static bool is_program(const struct builder *b, const char *path) {
	char head[4] = "";
	size_t n = b->h->fs.head == NULL ? 0 : b->h->fs.head(b->h->fs.ctx, path, head, sizeof head);

	return (n >= 2 && memcmp(head, "#!", 2) == 0) ||
	       (n == sizeof head && memcmp(head, "\177ELF", sizeof head) == 0);
}

/* Where many programs keep their tokens, an executable bit does not make a program. */
static bool may_hold_token(const struct builder *b, const char *path) {
	return path_credential(b->h->home, path) != NULL && !is_program(b, path);
}

/* Shows the target of a program that is a symlink to a file elsewhere in the home, as managers of
 * dotfiles create them. */
static void show_linked_program(void *arg, const char *name) {
	const struct scan *s = arg;
	struct builder *b = s->b;
	char text[PATH_MAX];
	const char *path = plan_keep_join(b, s->dir, name);
	/* A target beside it is shown, and has a turn of its own if it is a symlink. */
	if (!b->h->fs.readlink(b->h->fs.ctx, path, text, sizeof text) ||
	    strchr(text, '/') == NULL) {
		return;
	}
	const char *full = host_fs_resolve(b, path);
	if (full == NULL || !path_within(full, b->h->home) || covered(b, full, RANK_TOOLCHAIN)) {
		return;
	}
	struct look seen = host_fs_look(b, full);
	if (seen.kind == LOOK_FILE && (seen.mode & 0111) != 0 && !may_hold_token(b, full) &&
	    !view_led_astray(b, path, full)) {
		show_tool(b, full, false);
	}
}

static void show_path_entry(struct builder *b, const char *entry) {
	const char *home = b->h->home;
	const char *dir = plan_keep_join(b, "/", entry);
	if (!path_within(dir, home) || streq(dir, home)) {
		return;
	}
	if (!covered(b, dir, RANK_TOOLCHAIN)) {
		const char *root = root_of_programs(b, dir);
		show_tool(b, root, true);
		if (!streq(root, dir)) {
			show_tool(b, dir, false); /* it may be a symlink to another directory */
		}
	}
	if (covered(b, dir, RANK_TOOLCHAIN)) {
		struct scan scan = {b, dir};
		/* The command cannot list such a directory either. */
		host_fs_links(b, dir, show_linked_program, &scan);
	}
}

static void show_path(struct builder *b) {
	const char *path = plan_caller_variable(b->h, "PATH");
	if (path == NULL || b->h->home == NULL) {
		return;
	}
	for (const char *p = path;;) {
		size_t n = strcspn(p, ":");
		if (n > 0 && p[0] == '/') {
			show_path_entry(b, plan_keep_cut(b, p, n));
		}
		if (p[n] == '\0') {
			return;
		}
		p += n + 1;
	}
}

/* Marks the rows that may have a directory in the home: one listing instead of a look-up per
 * row. */
static void mark_rows(void *arg, const char *name) {
	bool *marks = arg;
	size_t n = strlen(name);
	for (size_t i = 0; i < toolchains_count; i++) {
		const char *home = toolchains[i].home;
		if (home != NULL && strncmp(home, name, n) == 0 &&
		    (home[n] == '\0' || home[n] == '/')) {
			marks[i] = true;
		}
	}
}

/* Clears the marks of rows in ~/.local/share that a list of it does not have: a third of the rows
 * is there. */
static void check_shared(struct builder *b, bool *marks) {
	static const char shared[] = ".local/share/";
	struct name_filter names = {0};
	bool listed = false;

	for (size_t i = 0; i < toolchains_count; i++) {
		const char *home = toolchains[i].home;
		if (!marks[i] || !str_starts(home, shared) || b->h->fs.names == NULL) {
			continue;
		}
		if (!listed &&
		    !b->h->fs.names(b->h->fs.ctx, plan_keep_join(b, b->h->home, ".local/share"),
				    &names)) {
			return;
		}
		listed = true;
		const char *name = home + strlen(shared);
		marks[i] = name_filter_may_have(&names, name, strcspn(name, "/"));
	}
}

int toolchains_show(struct builder *b, struct err *e) {
	bool *marks = arena_array(b->a, toolchains_count, sizeof *marks);
	if (marks == NULL) {
		return err_memory(e, WHERE);
	}
	bool listed =
		b->h->home != NULL && b->h->fs.list(b->h->fs.ctx, b->h->home, mark_rows, marks);
	check_shared(b, marks);
	for (size_t i = 0; i < toolchains_count; i++) {
		bool unlisted = b->h->home != NULL && !listed && toolchains[i].home != NULL;
		show_toolchain(b, &toolchains[i], marks[i] || unlisted);
	}
	show_path(b);
	return b->out_of_memory ? err_memory(e, WHERE) : 0;
}
