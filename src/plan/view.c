/* SPDX-License-Identifier: Apache-2.0 */
/* Requests the mounts that the sandbox sees: system directories, workspace, home, grants.
 *
 * Should:   start from an empty root and add the trees that the policy's view names.
 * Must not: show /run, /dev, /proc or /sys of the host as a whole: they hold
 *           sockets, devices and kernel settings that a read-only mount does not
 *           close.
 * Fails:    closed: a granted path that is missing or of the wrong kind is an
 *           error that names its origin. */
#include "plan/internal.h"

#include "base/auto.h"
#include "base/path.h"
#include "base/str.h"
#include "data/seatbelt.h"

#include <limits.h>
#include <stdio.h>

/* A file or directory of the host at its own path, read-only. */
static void show_system(struct builder *b, const char *path, struct look seen, enum reach reach,
			const char *note) {
	const char *full = host_fs_canonical(b, path, seen);
	if (full == NULL || (seen.kind != LOOK_DIR && seen.kind != LOOK_FILE)) {
		return;
	}
	struct show s = {
		.path = path,
		.canonical = full,
		.seen = streq(full, path) ? seen : host_fs_look(b, full),
		.reach = reach,
		.rank = RANK_SYSTEM,
		.note = note,
	};
	mount_request_show(b, &s);
}

/* A symlink keeps its target, so that programs see the host's layout; the target is mounted as
 * well, unless a system root contains it already. */
static void show_link(struct builder *b, const char *path, enum reach reach, const char *note) {
	char text[PATH_MAX];
	if (!b->h->fs.readlink(b->h->fs.ctx, path, text, sizeof text)) {
		return;
	}
	const char *to = text[0] == '/' ? plan_keep_join(b, "/", text)
					: plan_keep_join(b, plan_keep_join(b, path, ".."), text);
	mount_request_link(b, path, plan_keep_copy(b, text), note);
	if (path_within(to, "/usr") || path_within(to, "/nix/store")) {
		return;
	}
	const char *full = host_fs_resolve(b, path);
	if (full != NULL && plan_reserved_reason(full) == NULL) {
		show_system(b, full, host_fs_look(b, full), reach, note);
	}
}

static void show_system_or_link(struct builder *b, const char *path, enum reach reach,
				const char *note) {
	struct look seen = host_fs_look(b, path);
	if (seen.kind == LOOK_LINK) {
		show_link(b, path, reach, note);
	} else if (seen.kind != LOOK_NOTHING) {
		show_system(b, path, seen, reach, note);
	}
}

/* ---- name servers ---- */

#define RESOLVER_FILE "/etc/resolv.conf"

/* A file must be added to /etc, which needs an own directory there and a bind mount for each entry
 * of the host's /etc: too slow for a run that resolves no names. */
static bool needs_own_etc(struct builder *b) {
	return net_has_names(&b->plan->net) && b->plan->net.resolver != NULL &&
	       host_fs_look(b, RESOLVER_FILE).kind == LOOK_NOTHING;
}

static void etc_entry(void *arg, const char *name) {
	struct builder *b = arg;
	show_system_or_link(b, plan_keep_join(b, "/etc", name), REACH_READ, "system");
}

static void show_own_etc(struct builder *b) {
	mount_request_dir(b, "/etc", 0755, REACH_READ);
	if (!b->h->fs.list(b->h->fs.ctx, "/etc", etc_entry, b)) {
		plan_note(b, "/etc cannot be listed, so it is empty in the sandbox");
	}
}

/* The path that RESOLVER_FILE resolves to, where the text must be. */
static const char *resolver_place(struct builder *b) {
	char text[PATH_MAX];
	const char *full = host_fs_resolve(b, RESOLVER_FILE);
	if (full != NULL || !b->h->fs.readlink(b->h->fs.ctx, RESOLVER_FILE, text, sizeof text)) {
		return full != NULL ? full : RESOLVER_FILE;
	}
	return plan_keep_join(b, "/etc", text); /* a dangling symlink on the host */
}

/* The host may replace its symlink by another one, or by a file. */
static void stand_by(struct builder *b, const struct mount *text) {
	struct look seen = host_fs_look(b, RESOLVER_FILE);
	struct mount *m = seen.kind == LOOK_LINK ? arena_alloc(b->a, sizeof *m) : NULL;
	if (m == NULL) {
		b->out_of_memory = b->out_of_memory || seen.kind == LOOK_LINK;
		return;
	}
	*m = *text;
	m->kind = MOUNT_TEXT;
	m->target = RESOLVER_FILE;
	m->dev = seen.dev;
	m->ino = seen.ino;
	b->plan->standby = m;
}

/* Over the host's file where its tree is shown, else a file of the new root. */
static void show_own_resolver(struct builder *b) {
	const char *at = resolver_place(b);
	struct look seen = host_fs_look(b, at);
	bool over = masks_is_shown(b, at), names = net_has_names(&b->plan->net);
	if (over && seen.kind != LOOK_FILE) {
		if (!names) {
			return;
		}
		plan_note(b, plan_keep_printf(
				     b, "%s cannot be placed at %s: programs find no name server",
				     RESOLVER_FILE, at));
		return;
	}
	struct mount m = {
		.kind = over ? MOUNT_TEXT : MOUNT_FILE,
		.target = at,
		.text = b->plan->net.resolver,
		.mode = 0444,
		.reach = over ? REACH_NONE : REACH_READ,
		.is_file = true,
		.steady = true,
		.dev = over ? seen.dev : 0,
		.ino = over ? seen.ino : 0,
		.note = names ? "the gate's name server" : "no name server",
	};
	mount_request_add(b, m, RANK_CLEAN);
	if (names) {
		stand_by(b, &m);
	}
}

/* ---- the three views ---- */

static void show_root(struct builder *b, const char *path, enum reach reach, const char *note) {
	if (streq(path, "/etc") && needs_own_etc(b)) {
		show_own_etc(b);
	} else {
		show_system_or_link(b, path, reach, note);
	}
}

static void show_roots(struct builder *b, unsigned only) {
	const struct path_table *roots =
		b->plan->engine == ENGINE_SEATBELT ? &macos_roots : &system_roots;
	for (size_t i = 0; i < roots->count; i++) {
		const struct path_row *row = &roots->rows[i];
		if ((row->flags & only) == only) {
			enum reach reach = row->flags & PATH_EXEC ? REACH_EXEC : REACH_READ;
			show_root(b, row->path, reach, "system");
		}
	}
}

/* Often a symlink into /run, which is not shown; this one file is. */
static void show_resolver(struct builder *b) {
	if (b->plan->net.resolver != NULL) {
		show_own_resolver(b);
		return;
	}
	if (host_fs_look(b, RESOLVER_FILE).kind != LOOK_LINK) {
		return;
	}
	const char *full = host_fs_resolve(b, RESOLVER_FILE);
	struct look seen = {.kind = LOOK_NOTHING};
	if (full != NULL) {
		seen = host_fs_look(b, full);
	}
	if (seen.kind == LOOK_FILE) {
		show_system(b, full, seen, REACH_READ, "system");
	}
}

/* The only user and group: the host's names and ids stay hidden. */
static void show_accounts(struct builder *b) {
	const struct plan *plan = b->plan;
	mount_request_file(b, "/etc/passwd",
			   plan_keep_printf(b, MINIMAL_USER ":x:%u:%u::%s:/bin/sh\n", plan->uid,
					    plan->gid, plan->home_at),
			   REACH_NONE);
	mount_request_file(b, "/etc/group", plan_keep_printf(b, MINIMAL_USER ":x:%u:\n", plan->gid),
			   REACH_NONE);
}

static void minimal_view(struct builder *b) {
	show_roots(b, PATH_MINIMAL);
	mount_request_dir(b, "/etc", 0755, REACH_READ);
	show_accounts(b);
	mount_request_file(b, "/etc/hosts", "127.0.0.1 localhost\n::1 localhost\n", REACH_NONE);
	mount_request_file(b, "/etc/hostname", "localhost\n", REACH_NONE);
	mount_request_file(b, "/etc/nsswitch.conf",
			   "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\n",
			   REACH_NONE);
	for (size_t i = 0; i < minimal_etc.count; i++) {
		show_system_or_link(b, minimal_etc.rows[i].path, REACH_READ, "system");
	}
	if (policy_num(b->p, KEY_NET_MODE) == NET_FULL) {
		show_system_or_link(b, RESOLVER_FILE, REACH_READ, "system");
	} else if (b->plan->net.resolver != NULL) {
		mount_request_file(b, RESOLVER_FILE, b->plan->net.resolver, REACH_NONE);
	}
}

static void host_entry(void *arg, const char *name) {
	struct builder *b = arg;
	if (path_table_find(&host_skipped, name) == NULL) {
		show_root(b, plan_keep_join(b, "/", name), REACH_EXEC, "host");
	}
}

/* Seatbelt has no entries to leave out one by one: masks hide them. */
static void show_whole_root(struct builder *b) {
	struct mount m = {
		.kind = MOUNT_BIND,
		.target = "/",
		.source = "/",
		.reach = REACH_EXEC,
		.note = "host",
	};
	mount_request_add(b, m, RANK_SYSTEM);
}

static int host_view(struct builder *b, struct err *e) {
	if (b->plan->engine == ENGINE_SEATBELT) {
		show_whole_root(b);
		return 0;
	}
	if (!b->h->fs.list(b->h->fs.ctx, "/", host_entry, b)) {
		return err_set(e, ERR_SETUP, WHERE,
			       "the root directory of this host cannot be listed");
	}
	for (size_t i = 0; i < system_roots.count; i++) {
		const struct path_row *row = &system_roots.rows[i];
		if (str_starts(row->path, "/sys/") || str_starts(row->path, "/run/")) {
			enum reach reach = row->flags & PATH_EXEC ? REACH_EXEC : REACH_READ;
			show_system_or_link(b, row->path, reach, "system");
		}
	}
	show_resolver(b);
	return 0;
}

static int show_view(struct builder *b, struct err *e) {
	switch (b->view) {
	case VIEW_MINIMAL:
		minimal_view(b);
		return 0;
	case VIEW_SYSTEM:
		show_roots(b, 0);
		show_resolver(b);
		return 0;
	case VIEW_HOST:
		return host_view(b, e);
	}
	return err_set(e, ERR_USAGE, WHERE, "this value of fs.view is not implemented");
}

/* ---- workspace and grants ---- */

static const char *wrong_kind(enum look_kind kind) {
	switch (kind) {
	case LOOK_SOCKET:
		return "it is a socket; pass it with --socket";
	case LOOK_DIR:
	case LOOK_FILE:
		return NULL;
	default:
		return "it is neither a file nor a directory";
	}
}

static int cannot_grant(const char *key, const char *path, const struct origin *o, const char *why,
			struct err *e) {
	char origin[128];
	return err_set(e, ERR_USAGE, WHERE, "%s %s (%s): %s", key, path,
		       policy_origin_text(o, origin, sizeof origin), why);
}

/* The trees that commands can write, in canonical form: the workspace and fs.write.  Resolved
 * once: every granted path is compared with all of them. */
static void find_roots(struct builder *b) {
	const struct value *writable = &b->p->values[KEY_FS_WRITE];
	b->roots = arena_array(b->a, writable->count + 1, sizeof *b->roots);
	if (b->roots == NULL) {
		b->out_of_memory = true;
		return;
	}
	b->roots[b->nroots++] = b->plan->workspace;
	for (size_t i = 0; i < writable->count; i++) {
		const char *full = host_fs_resolve(b, writable->items[i].str);
		if (full != NULL) {
			b->roots[b->nroots++] = full;
		}
	}
}

/* Whether a root contains the directory, but not the resolved path. */
static bool is_left(const struct builder *b, const char *dir, const char *full) {
	for (size_t i = 0; i < b->nroots; i++) {
		if (path_within(dir, b->roots[i]) && !path_within(full, b->roots[i])) {
			return true;
		}
	}
	return false;
}

/* In a writable tree an earlier command may have created a symlink at the path that a rule names:
 * the rule would grant the target of that symlink. */
bool view_led_astray(struct builder *b, const char *path, const char *full) {
	if (streq(path, full)) {
		return false; /* the path contains no symlink */
	}
	if (b->roots == NULL) {
		find_roots(b);
	}
	for (const char *dir = plan_keep_join(b, path, ".."); dir[0] == '/' && dir[1] != '\0';
	     dir = plan_keep_join(b, dir, "..")) {
		const char *real = host_fs_resolve(b, dir);
		if (real != NULL && is_left(b, real, full)) {
			return true;
		}
	}
	return false;
}

/* Fails when a path must not be granted. */
static int check_grant(struct builder *b, const struct show *s, struct err *e) {
	const char *why = plan_reserved_reason(s->path);
	if (why == NULL) {
		why = plan_reserved_reason(s->canonical);
	}
	if (why == NULL && !s->tool && plan_own_dir(b, s->canonical) != NULL) {
		why = "it belongs to Corral itself";
	}
	if (why == NULL) {
		why = wrong_kind(s->seen.kind);
	}
	if (why == NULL && view_led_astray(b, s->path, s->canonical)) {
		why = plan_keep_printf(b,
				       "a symlink in a writable tree leads to %s; grant that path "
				       "instead if you trust it",
				       s->canonical);
	}
	return why == NULL ? 0 : cannot_grant(s->note, s->path, &s->origin, why, e);
}

static int grant(struct builder *b, const struct item *it, bool write, struct err *e) {
	const char *key = write ? "fs.write" : "fs.read";
	const char *full = host_fs_resolve(b, it->str);
	char origin[128];
	if (full == NULL && it->optional) {
		policy_origin_text(&it->origin, origin, sizeof origin);
		plan_note(b,
			  plan_keep_printf(b, "skipped, does not exist: %s (%s)", it->str, origin));
		return 0;
	}
	if (full == NULL) {
		cannot_grant(key, it->str, &it->origin, "it does not exist", e);
		return err_fix(e, "create it, or append `?` to skip it when it is missing: %s?",
			       it->str);
	}
	struct show s = {
		.path = it->str,
		.canonical = full,
		.seen = host_fs_look(b, full),
		.writable = write && !b->read_only,
		.reach = write && !b->read_only ? REACH_WRITE : REACH_EXEC,
		.rank = write ? RANK_WRITE : RANK_READ,
		.origin = it->origin,
		.note = key,
		.root = it->part_of,
		.tool = it->tool && !write,
	};
	if (check_grant(b, &s, e) != 0) {
		return -1;
	}
	if (it->part_of != NULL && !path_within(full, it->part_of)) {
		return cannot_grant(key, it->str, &it->origin,
				    "it was replaced by a symlink out of the granted tree", e);
	}
	/* Without namespaces a tool is at its own path, where the command can rename nothing. */
	if (it->at != NULL && !(it->tool && b->no_namespaces)) {
		const char *why = mapped_show(b, &s, it->at);
		return why == NULL ? 0 : cannot_grant(key, it->at, &it->origin, why, e);
	}
	mount_request_show(b, &s);
	return 0;
}

static int show_grants(struct builder *b, enum key_id key, struct err *e) {
	const struct value *list = &b->p->values[key];
	for (size_t i = 0; i < list->count; i++) {
		if (grant(b, &list->items[i], key == KEY_FS_WRITE, e) != 0) {
			return -1;
		}
	}
	return 0;
}

static int show_mapped(struct builder *b, enum key_id key, const char *at, bool writable,
		       enum rank rank, struct err *e) {
	const struct value *value = &b->p->values[key];
	const char *name = key == KEY_WORKSPACE ? "workspace" : "fs.agent";
	bool known = key == KEY_WORKSPACE; /* the plan has its canonical path already */
	const char *full = known ? b->plan->workspace : host_fs_resolve(b, value->str);
	struct look seen = {.kind = LOOK_NOTHING};
	if (full != NULL) {
		seen = host_fs_look(b, full);
	}
	if (seen.kind != LOOK_DIR) {
		return cannot_grant(name, value->str, &value->origin, "it is not a directory", e);
	}
	struct show s = {
		.path = value->str,
		.canonical = full,
		.seen = seen,
		.origin = value->origin,
		.note = name,
	};
	if (check_grant(b, &s, e) != 0) {
		return -1;
	}
	struct mount m = {
		.kind = known && b->plan->cow_dir != NULL ? MOUNT_COW : MOUNT_BIND,
		.target = at,
		.source = full,
		.reach = writable ? REACH_WRITE : REACH_EXEC,
		.writable = writable,
		.dev = seen.dev,
		.ino = seen.ino,
		.origin = value->origin,
		.note = name,
	};
	mount_request_add(b, m, rank);
	return 0;
}

static int place_workspace(struct builder *b, struct err *e) {
	struct plan *plan = b->plan;
	const char *given = policy_str(b->p, KEY_WORKSPACE);
	if (given == NULL) {
		return err_set(e, ERR_USAGE, WHERE, "no workspace is set");
	}
	const char *full = host_fs_resolve(b, given);
	const char *at = policy_str(b->p, KEY_FS_WORKSPACE_AT);
	plan->workspace = full == NULL ? given : full;
	plan->workspace_at = at == NULL ? plan->workspace : plan_keep_join(b, "/", at);
	const char *why = plan_reserved_reason(plan->workspace_at);
	return why == NULL ? 0
			   : cannot_grant("fs.workspace_at", plan->workspace_at,
					  &b->p->values[KEY_FS_WORKSPACE_AT].origin, why, e);
}

static int show_workspace(struct builder *b, struct err *e) {
	return cow_choose(b, e) != 0 ? -1
				     : show_mapped(b, KEY_WORKSPACE, b->plan->workspace_at,
						   !b->read_only, RANK_WORKSPACE, e);
}

int view_build(struct builder *b, struct err *e) {
	if (place_workspace(b, e) != 0) {
		return -1;
	}
	home_choose(b); /* the minimal view writes it into passwd */
	if (b->plan->engine < ENGINE_LANDLOCK) {
		no_namespaces_open_view(b);
	} else if (show_view(b, e) != 0) {
		return -1;
	}
	if (b->no_namespaces) {
		no_namespaces_skeleton(b);
	} else {
		skeleton_show(b);
	}
	if (show_workspace(b, e) != 0) {
		return -1;
	}
	home_show(b);
	if (policy_str(b->p, KEY_FS_AGENT) != NULL &&
	    show_mapped(b, KEY_FS_AGENT, AGENT_AT, false, RANK_READ, e) != 0) {
		return -1;
	}
	if (show_grants(b, KEY_FS_READ, e) != 0 || show_grants(b, KEY_FS_WRITE, e) != 0 ||
	    mapped_check(b, e) != 0) {
		return -1;
	}
	git_show(b);
	skeleton_show_git_settings(b);
	return b->out_of_memory ? err_memory(e, WHERE) : 0;
}
