/* SPDX-License-Identifier: Apache-2.0 */
/* Requests masks over hidden paths and read-only mounts over protected paths, within the trees that
 * are shown.
 *
 * A path is resolved to its canonical path on the host and then masked at each path inside at
 * which a tree shows it: in the workspace at another path, in a grant, or twice.  The built-in
 * tables hide paths that exist and that the caller can access; a rule hides every path that it
 * names.
 *
 * Should:   apply to every name of the file inside (DN01, DN02).
 * Must not: depend on the order of rules: first all of them are collected, then the trees that
 *           they remove are dropped, then the remaining paths are masked.
 * Fails:    closed: a denied path that cannot be looked up hides the nearest directory that
 *           can be. */
#include "plan/internal.h"

#include "base/auto.h"
#include "base/path.h"
#include "base/str.h"
#include "data/seatbelt.h"

#include <limits.h>

/* ---- collecting ---- */

static bool shows(const struct mount_request *w, const char *path) {
	bool has_source = mount_request_is_tree(w) || (!w->dropped && w->m.kind == MOUNT_PROC);
	return has_source && path_within(path, w->m.source);
}

bool masks_is_shown(const struct builder *b, const char *path) {
	for (size_t i = 0; i < b->nrequests; i++) {
		if (shows(&b->requests[i], path)) {
			return true;
		}
	}
	return false;
}

void masks_hide(struct builder *b, struct hide h) {
	if (arena_grow(b->a, &b->hides, b->nhides, &b->hides_cap, sizeof *b->hides) != 0) {
		b->out_of_memory = true;
		return;
	}
	b->hides[b->nhides++] = h;
}

void masks_hide_if_shown(struct builder *b, const char *path, const char *note) {
	if (!masks_is_shown(b, path)) {
		return;
	}
	struct look seen = host_fs_look(b, path);
	if (seen.kind == LOOK_NOTHING || (seen.kind != LOOK_LINK && !seen.reachable)) {
		return;
	}
	const char *full = host_fs_canonical(b, path, seen);
	if (full == NULL) {
		return;
	}
	if (!streq(full, path)) {
		seen = host_fs_look(b, full);
	}
	if (seen.reachable) {
		masks_hide(b, (struct hide){.path = full,
					    .seen = seen,
					    .rank = RANK_SENSITIVE,
					    .note = note});
	}
}

/* The trees that show files of the caller's home.  With a private home they are few, and the table
 * of credentials is long: it is compared with these alone. */
struct home_trees {
	bool whole;         /* a tree shows the home itself */
	const char **below; /* paths of the others, relative to the home */
	size_t count;
};

static struct home_trees find_home_trees(struct builder *b) {
	const char *home = b->h->home;
	size_t skipped = home == NULL || streq(home, "/") ? 1 : strlen(home) + 1;
	struct home_trees t = {.below = arena_array(b->a, b->nrequests + 1, sizeof(const char *))};
	if (t.below == NULL) {
		b->out_of_memory = true;
		return t;
	}
	for (size_t i = 0; home != NULL && i < b->nrequests; i++) {
		const struct mount_request *w = &b->requests[i];
		if (!mount_request_is_tree(w)) {
			continue;
		}
		t.whole = t.whole || path_within(home, w->m.source);
		if (path_within(w->m.source, home) && !path_within(home, w->m.source)) {
			t.below[t.count++] = w->m.source + skipped;
		}
	}
	return t;
}

static bool home_shows(const struct home_trees *t, const char *row) {
	bool shown = t->whole;
	for (size_t i = 0; i < t->count && !shown; i++) {
		shown = path_within(row, t->below[i]);
	}
	return shown;
}

static void hide_in_home(struct builder *b, const struct home_trees *t, const char *row) {
	if (home_shows(t, row)) {
		masks_hide_if_shown(b, plan_keep_join(b, b->h->home, row), "credential");
	}
}

/* Hides the path in a variable of the caller; not the home, the workspace or a directory above
 * them, and not a path in the workspace, which belongs to the project. */
static void hide_named_one(struct builder *b, const char *path) {
	const char *home = b->h->home, *workspace = b->plan->workspace;
	const char *full = path[0] == '/' ? plan_keep_join(b, "/", path) : NULL;
	if (full == NULL || (home != NULL && path_within(home, full)) ||
	    path_within(workspace, full) || path_within(full, workspace) || path_depth(full) < 2) {
		return;
	}
	masks_hide_if_shown(b, full, "credential");
}

static void hide_named(struct builder *b, const char *list) {
	char one[PATH_MAX];
	while (list != NULL && *list != '\0') {
		size_t len = strcspn(list, ":");
		if (len > 0 && len < sizeof one) {
			memcpy(one, list, len);
			one[len] = '\0';
			hide_named_one(b, one);
		}
		list += len + (list[len] == ':');
	}
}

/* Whether a list of /etc shows that the host has no such path, as of most in the table. */
static bool etc_lacks(const struct name_filter *names, const char *path) {
	const char *name = path + strlen("/etc/");
	return str_starts(path, "/etc/") && !name_filter_may_have(names, name, strcspn(name, "/"));
}

static void hide_of_macos(struct builder *b, const struct home_trees *home) {
	for (size_t i = 0; i < macos_hidden.count; i++) {
		masks_hide_if_shown(b, macos_hidden.rows[i].path, "sensitive");
	}
	for (size_t i = 0; i < macos_credentials.count; i++) {
		hide_in_home(b, home, macos_credentials.rows[i].path);
	}
}

/* The names in /etc; false: look each name up. */
static bool etc_names(const struct builder *b, struct name_filter *out) {
	const struct host_fs *fs = &b->h->fs;
	if (fs->names == NULL || !masks_is_shown(b, "/etc")) {
		return false;
	}
	if (b->netc == 0) {
		return fs->names(fs->ctx, "/etc", out);
	}
	for (size_t i = 0; i < b->netc; i++) {
		const char *name = b->etc[i].path + strlen("/etc/");
		name_filter_add(out, name, strlen(name));
	}
	return !fs->folds(fs->ctx, "/etc");
}

static void hide_sensitive(struct builder *b) {
	struct home_trees home = find_home_trees(b);
	struct name_filter etc = {0};
	bool listed = etc_names(b, &etc);
	if (b->plan->engine == ENGINE_SEATBELT) {
		hide_of_macos(b, &home);
	}
	for (size_t i = 0; i < sensitive_paths.count; i++) {
		const struct path_row *row = &sensitive_paths.rows[i];
		if (!(b->no_namespaces && (row->flags & PATH_MILD) != 0) &&
		    !(listed && etc_lacks(&etc, row->path))) {
			masks_hide_if_shown(b, row->path, "sensitive");
		}
	}
	for (size_t i = 0; i < credential_paths.count; i++) {
		hide_in_home(b, &home, credential_paths.rows[i].path);
	}
	for (size_t i = 0; i < credential_variables.count; i++) {
		hide_named(b, plan_caller_variable(b->h, credential_variables.rows[i].path));
	}
}

/* For a caller that is root: looks at each entry of /etc, once. */
static void keep_etc_entry(void *arg, const char *name) {
	struct builder *b = arg;
	if (arena_grow(b->a, &b->etc, b->netc, &b->etc_cap, sizeof *b->etc) != 0) {
		b->out_of_memory = true;
		return;
	}
	const char *path = plan_keep_child(b, "/etc", name, strlen(name));
	b->etc[b->netc++] = (struct etc_entry){.path = path, .seen = host_fs_look(b, path)};
}

static void list_etc_for_root(struct builder *b) {
	/* With a gate, /etc may be mounted entry by entry, to add its resolv.conf. */
	bool etc = masks_is_shown(b, "/etc") || b->plan->net.resolver != NULL;
	if (b->h->privileged && etc) {
		/* An /etc that root cannot list has nothing to hide. */
		(void)b->h->fs.list(b->h->fs.ctx, "/etc", keep_etc_entry, b);
	}
}

/* Hides the entries of /etc that other users cannot read. */
static void hide_for_root(struct builder *b) {
	for (size_t i = 0; i < b->netc; i++) {
		const struct look seen = b->etc[i].seen;
		uint32_t needed = seen.kind == LOOK_DIR ? 05 : 04;
		if (seen.kind != LOOK_NOTHING && seen.kind != LOOK_LINK &&
		    (seen.mode & needed) != needed) {
			masks_hide(b, (struct hide){.path = b->etc[i].path,
						    .seen = seen,
						    .rank = RANK_SENSITIVE,
						    .note = "only for root"});
		}
	}
}

static void hide_other_home(void *arg, const char *name) {
	struct builder *b = arg;
	const char *path = plan_keep_join(b, "/home", name);
	if (b->h->home == NULL || !path_within(b->h->home, path)) {
		masks_hide_if_shown(b, path, "another user's home");
	}
}

static void hide_other_homes(struct builder *b) {
	if (b->view != VIEW_HOST) {
		return; /* the other views show no home at all */
	}
	/* Without /home there is nothing to hide. */
	(void)b->h->fs.list(b->h->fs.ctx, "/home", hide_other_home, b);
	if (b->h->home == NULL || !path_within(b->h->home, "/root")) {
		masks_hide_if_shown(b, "/root", "another user's home");
	}
}

/* ---- Corral's own files ---- */

/* A directory that does not exist cannot be masked: the command could create it and write the
 * policy of the next run into it. */
static int own_dir_missing(struct builder *b, const char *dir, struct err *e) {
	for (size_t i = 0; i < b->nrequests; i++) {
		const struct mount_request *w = &b->requests[i];
		if (!shows(w, dir) || !w->m.writable || w->m.kind == MOUNT_PROC) {
			continue;
		}
		err_set(e, ERR_REFUSED, WHERE,
			"%s does not exist, and the command could create it with a policy for the "
			"next run, or with sockets for others",
			dir);
		return err_fix(e, "create it first: mkdir -p %s", dir);
	}
	return 0;
}

static int hide_own(struct builder *b, struct err *e) {
	for (size_t i = 0; i < ARRAY_LEN(b->plan->own_dirs); i++) {
		const char *dir = b->plan->own_dirs[i];
		if (dir == NULL || !masks_is_shown(b, dir)) {
			continue;
		}
		struct look seen = host_fs_look(b, dir);
		if (seen.kind == LOOK_NOTHING) {
			if (own_dir_missing(b, dir, e) != 0) {
				return -1;
			}
			continue;
		}
		masks_hide(b, (struct hide){.path = dir,
					    .seen = seen,
					    .rank = RANK_OWN,
					    .note = "Corral's own"});
	}
	return 0;
}

/* ---- rules ---- */

static const char *key_of(enum rank rank) {
	return rank == RANK_DENY ? "fs.deny" : "fs.protect";
}

static int against_workspace(const struct builder *b, const struct hide *h, struct err *e) {
	char rule[128], workspace[128];
	policy_origin_text(&h->origin, rule, sizeof rule);
	policy_origin_text(&b->p->values[KEY_WORKSPACE].origin, workspace, sizeof workspace);
	err_set(e, ERR_USAGE, WHERE, "%s %s (%s) contains the workspace %s (%s)", key_of(h->rank),
		h->written, rule, b->plan->workspace, workspace);
	return err_fix(e, "remove the rule, or choose another workspace");
}

/* The /proc directory of one process: the sandbox has other processes, with other pids. */
static bool is_process(const char *path) {
	return str_starts(path, "/proc/") && path[6] >= '0' && path[6] <= '9';
}

/* Why a rule must not name this path: every run needs it, or it is not the host's path inside. */
static const char *why_needed(const struct hide *h) {
	if (is_process(h->path)) {
		return "is a process of the host, which no run sees";
	}
	if (streq(h->path, "/proc") ||
	    (h->rank == RANK_DENY && (streq(h->path, "/dev") || streq(h->path, "/dev/null")))) {
		return "is created for each run, and every run needs it";
	}
	return NULL;
}

static int against_run(const struct hide *h, const char *why, struct err *e) {
	char rule[128];
	policy_origin_text(&h->origin, rule, sizeof rule);
	err_set(e, ERR_USAGE, WHERE, "%s %s (%s): %s %s", key_of(h->rank), h->written, rule,
		h->path, why);
	return err_fix(e, "remove the rule");
}

/* The nearest directory above a missing path, if the caller cannot search it: the path may exist,
 * and the command could chmod the directory (DN15). */
static const char *closed_parent(struct builder *b, const char *path) {
	const char *dir = link_deepest_directory(b, path);
	struct look seen = host_fs_look(b, dir);
	return seen.kind == LOOK_DIR && !seen.reachable ? dir : NULL;
}

/* A rule about its name applies as soon as the path exists. */
static void note_missing(struct builder *b, const struct item *it, enum rank rank) {
	if (!it->optional) {
		char origin[128];
		plan_note(b, plan_keep_printf(
				     b, "does not exist yet: %s %s (%s)", key_of(rank), it->str,
				     policy_origin_text(&it->origin, origin, sizeof origin)));
	}
}

/* A mount covers the target of a symlink, not the symlink; a rule about its name covers both. */
static void note_link(struct builder *b, const struct item *it, enum rank rank) {
	const char *parent = host_fs_resolve(b, plan_keep_join(b, it->str, ".."));
	const char *name = strrchr(it->str, '/') + 1;
	const char *link = parent == NULL ? NULL : plan_keep_join(b, parent, name);
	if (b->plan->judges || link == NULL || host_fs_look(b, link).kind != LOOK_LINK) {
		return;
	}
	for (size_t i = 0; i < b->nrequests; i++) {
		if (shows(&b->requests[i], link) && b->requests[i].m.writable) {
			plan_note(b, plan_keep_printf(b,
						      "%s applies to the target of %s; the symlink "
						      "itself can be replaced",
						      key_of(rank), it->str));
			return;
		}
	}
}

/* full: the canonical path; NULL where it does not exist. */
static int collect_rule(struct builder *b, const struct item *it, const char *full, enum rank rank,
			struct err *e) {
	struct hide h = {.path = full,
			 .rank = rank,
			 .origin = it->origin,
			 .note = key_of(rank),
			 .written = it->str};
	if (h.path == NULL && rank == RANK_DENY) {
		h.path = closed_parent(b, it->str);
	}
	if (h.path == NULL) {
		note_missing(b, it, rank);
		return 0;
	}
	if (path_within(b->plan->workspace, h.path)) {
		return against_workspace(b, &h, e);
	}
	const char *needed = why_needed(&h);
	if (needed != NULL) {
		return against_run(&h, needed, e);
	}
	h.seen = host_fs_look(b, h.path);
	note_link(b, it, rank);
	masks_hide(b, h);
	return 0;
}

static int collect_rules(struct builder *b, enum key_id key, enum rank rank, struct err *e) {
	const struct value *list = &b->p->values[key];
	for (size_t i = 0; i < list->count; i++) {
		const struct item *it = &list->items[i];
		bool plain = it->kind == ITEM_PLAIN;
		const char *full = plain ? host_fs_resolve(b, it->str) : NULL;
		if (rank == RANK_DENY) {
			mapped_deny(b, it);
		}
		bool missing = plain && full == NULL;
		if (!missing && pattern_alone_covers(b, key, it, full)) {
			continue;
		}
		if (collect_rule(b, it, full, rank, e) != 0) {
			return -1;
		}
	}
	return 0;
}

/* ---- built-in names, where no broker can check them later ---- */

/* The path of a rule about one name directly in the workspace; NULL for any other. */
static const char *path_of_rule(struct builder *b, const struct rule *r) {
	const char *path = b->plan->workspace;
	if (r->set == NULL || r->except || r->floating || r->effect != EFFECT_PROTECT ||
	    r->glob.count == 0) {
		return NULL;
	}
	for (size_t i = 0; i < r->glob.count; i++) {
		const struct glob_name *name = &r->glob.names[i];
		if (name->kind != GLOB_LITERAL) {
			return NULL;
		}
		path = plan_keep_child(b, path, name->text, name->len);
	}
	return path;
}

static void protect_existing_names(struct builder *b) {
	const struct rules *rules = &b->plan->rules;
	for (size_t i = 0; i < rules->count && !b->plan->judges; i++) {
		const char *path = path_of_rule(b, &rules->list[i]);
		const char *full = path == NULL ? NULL : host_fs_resolve(b, path);
		if (full == NULL || !path_within(full, b->plan->workspace) ||
		    rules_judge(rules, path).protect == NULL) {
			continue;
		}
		masks_hide(b, (struct hide){.path = full,
					    .seen = host_fs_look(b, full),
					    .rank = RANK_PROTECT,
					    .note = rules->list[i].set});
	}
}

/* ---- applying ---- */

/* Trees that a rule removes as a whole need no mask.  A grant beneath a denied path stays and
 * re-opens its part (DN17), but not in Corral's own directories or where the floor denies (P4). */
static bool takes_away(const struct hide *h, const struct mount_request *w) {
	bool has_source = mount_request_is_tree(w) || w->m.kind == MOUNT_DEVICE;
	if (!has_source || !path_within(w->m.source, h->path)) {
		return false;
	}
	bool whole = streq(w->m.source, h->path);
	/* Beneath the tree that the policy grants, a mask would hide the path: it is not re-opened
	 * by the part (P6). */
	if (w->root != NULL && h->rank != RANK_PROTECT && h->rank != RANK_CLEAN &&
	    path_within(h->path, w->root) && !streq(h->path, w->root)) {
		return true;
	}
	if (w->rank >= h->rank) {
		return false;
	}
	switch (h->rank) {
	case RANK_SENSITIVE:
		return whole;
	case RANK_DENY:
	case RANK_OWN:
		return whole || w->rank < RANK_SENSITIVE || h->origin.kind == ORIGIN_FLOOR;
	default:
		return false;
	}
}

static void apply_to_trees(struct builder *b, const struct hide *h) {
	for (size_t i = 0; i < b->nrequests; i++) {
		struct mount_request *w = &b->requests[i];
		if (takes_away(h, w)) {
			w->dropped = true;
		}
		/* A grant within a protected tree does not re-open it, unlike with a deny. */
		if (h->rank == RANK_PROTECT && mount_request_is_tree(w) && w->m.writable &&
		    path_within(w->m.source, h->path)) {
			w->m.writable = false;
			w->m.reach = REACH_EXEC;
		}
	}
}

/* Whether a generated file can replace it: by a mount; without mounts by the broker, which does
 * not check paths of a read-only tree. */
static bool can_replace(const struct builder *b, const struct mount_request *w) {
	return !b->no_namespaces || (b->plan->broker && w->m.writable);
}

static struct mount cover(const struct builder *b, const struct hide *h,
			  const struct mount_request *w, const char *place) {
	bool is_dir = h->seen.kind == LOOK_DIR;
	struct mount m = {
		.target = place,
		.is_file = !is_dir,
		.dev = h->seen.dev,
		.ino = h->seen.ino,
		.origin = h->origin,
		.note = h->note,
		.named = h->written,
	};
	if (h->rank == RANK_PROTECT && w->m.kind == MOUNT_PROC) {
		m.kind = MOUNT_PIN; /* in the fresh procfs: a bind mount would show the host's
				     * processes */
	} else if (h->rank == RANK_PROTECT) {
		m.kind = MOUNT_BIND;
		m.source = h->path;
	} else if (h->text != NULL && can_replace(b, w)) {
		m.kind = MOUNT_TEXT;
		m.text = h->text;
		m.mode = h->seen.mode & 0666;
	} else {
		m.kind = is_dir ? MOUNT_MASK_DIR : MOUNT_MASK_FILE;
		m.maybe = h->rank == RANK_SENSITIVE; /* removed meanwhile: no file to hide */
	}
	return m;
}

/* Whether a built-in table hides this path.  A rule that protects it must not show it: even an
 * untrusted project file may add such a rule (P3). */
static bool is_masked(const struct builder *b, const char *place) {
	for (size_t i = 0; i < b->nrequests; i++) {
		const struct mount_request *w = &b->requests[i];
		bool mask = w->m.kind == MOUNT_MASK_DIR || w->m.kind == MOUNT_MASK_FILE;
		if (mask && !w->dropped && streq(w->m.target, place)) {
			return true;
		}
	}
	return false;
}

/* Masks the path at each place where one of the first ntrees requests shows it. */
static void apply_to_places(struct builder *b, const struct hide *h, size_t ntrees) {
	bool shown = false;
	for (size_t i = 0; i < ntrees; i++) {
		const struct mount_request *w = &b->requests[i];
		if (!shows(w, h->path)) {
			continue;
		}
		const char *place = compose_inside(b, w, h->path);
		if (compose_at(b, ntrees, place) != w) {
			continue; /* a deeper mount covers it there */
		}
		shown = true;
		bool wanted = h->rank != RANK_PROTECT || w->m.writable;
		bool kept = h->rank == RANK_PROTECT || h->rank == RANK_CLEAN;
		if (wanted && !(kept && is_masked(b, place))) {
			mount_request_add(b, cover(b, h, w, place), h->rank);
		}
	}
	if (!shown && h->written != NULL) {
		char origin[128];
		policy_origin_text(&h->origin, origin, sizeof origin);
		plan_note(b, plan_keep_printf(b, "has no effect, the path is not mounted: %s (%s)",
					      h->written, origin));
	}
}

int masks_build(struct builder *b, struct err *e) {
	if (b->plan->engine < ENGINE_LANDLOCK) {
		return 0; /* without Landlock no path can be hidden; the guarantees report that */
	}
	list_etc_for_root(b);
	hide_sensitive(b);
	hide_other_homes(b);
	hide_for_root(b);
	git_protect(b);
	own_keep_files(b);
	protect_existing_names(b);
	if (hide_own(b, e) != 0 || collect_rules(b, KEY_FS_DENY, RANK_DENY, e) != 0 ||
	    collect_rules(b, KEY_FS_PROTECT, RANK_PROTECT, e) != 0 || hard_links_check(b, e) != 0) {
		return -1;
	}
	for (size_t i = 0; i < b->nhides; i++) {
		apply_to_trees(b, &b->hides[i]);
	}
	size_t ntrees = b->nrequests;
	for (size_t i = 0; i < b->nhides; i++) {
		apply_to_places(b, &b->hides[i], ntrees);
	}
	return b->out_of_memory ? err_memory(e, WHERE) : 0;
}
