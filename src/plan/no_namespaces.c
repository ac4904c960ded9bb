/* SPDX-License-Identifier: Apache-2.0 */
/* Plans a run without namespaces, where the view is the host's own tree under Landlock.
 *
 * Theory.  Landlock grants a tree as a whole and has no exception within it; a right
 * on a directory applies to everything beneath it.  So there are two ways to hide or
 * protect a path within a granted tree.  A read-only tree is granted entry by entry,
 * without that path (spread).  In a writable tree, where new entries must be possible,
 * the filter sends every system call that opens or changes a file to the broker (traits).
 *
 * Should:   enforce every rule of the policy, or report which one is not enforced.
 * Must not: use a path that is not the host's: without a mount namespace nothing can be
 *           mounted elsewhere.
 * Fails:    closed: a setting that needs a new root is an error with a remedy. */
#include "plan/internal.h"

#include "base/auto.h"
#include "base/path.h"
#include "base/str.h"
#include "data/syscalls.h"

/* With more entries the start would take longer than most commands. */
#define SPREAD_MAX 4096

/* ---- settings that need namespaces ---- */

struct need {
	enum key_id key;
	const char *setting, *space, *instead;
};

static int needs_namespace(const struct builder *b, struct need n, struct err *e) {
	char origin[128];
	err_set(e, ERR_SETUP, WHERE, "%s (%s) needs a %s namespace, which engine %s does not have",
		n.setting, policy_origin_text(&b->p->values[n.key].origin, origin, sizeof origin),
		n.space, plan_engine_name(b->plan->engine));
	return err_fix(e, "%s", n.instead);
}

static int needs_own_root(const struct builder *b, enum key_id key, const char *setting,
			  const char *instead, struct err *e) {
	return needs_namespace(b, (struct need){key, setting, "mount", instead}, e);
}

/* Ids inside that differ from the caller's. */
static const enum key_id mapped_ids[] = {KEY_UID, KEY_GID};

static bool has_mapped_grant(const struct builder *b) {
	const struct value *read = &b->p->values[KEY_FS_READ];
	for (size_t i = 0; i < read->count; i++) {
		if (read->items[i].at != NULL && !read->items[i].tool) {
			return true;
		}
	}
	return false;
}

int no_namespaces_check(const struct builder *b, struct err *e) {
	if (b->plan->run_dir == NULL) {
		return err_set(e, ERR_SETUP, WHERE,
			       "there is no directory for the run's temporary files");
	}
	if (b->view == VIEW_MINIMAL && b->plan->engine >= ENGINE_LANDLOCK) {
		return needs_own_root(b, KEY_FS_VIEW, "fs.view minimal",
				      "use fs.view system, or a host with user namespaces", e);
	}
	if (policy_str(b->p, KEY_FS_WORKSPACE_AT) != NULL) {
		return needs_own_root(b, KEY_FS_WORKSPACE_AT, "fs.workspace_at",
				      "remove fs.workspace_at, or use a host with user namespaces",
				      e);
	}
	for (size_t i = 0; i < ARRAY_LEN(mapped_ids); i++) {
		if (b->p->values[mapped_ids[i]].set) {
			struct need n = {mapped_ids[i], keys[mapped_ids[i]].name, "user",
					 "remove it, or use a host with user namespaces"};
			return needs_namespace(b, n, e);
		}
	}
	if (has_mapped_grant(b)) {
		return needs_own_root(b, KEY_FS_READ, "fs.read PATH:DEST",
				      "use --read PATH, which shows it at its own path", e);
	}
	if (policy_str(b->p, KEY_FS_AGENT) != NULL) {
		return needs_own_root(b, KEY_FS_AGENT, "fs.agent",
				      "use --read DIR, which shows it at its own path", e);
	}
	return 0;
}

/* ---- the view ---- */

/* A device that the root of a mount namespace has as a symlink. */
static const char *const more_devices[] = {"/dev/random"};

static void show_device(struct builder *b, const char *path) {
	struct mount m = {
		.kind = MOUNT_DEVICE,
		.target = path,
		.source = path,
		.reach = REACH_DEVICE,
		.writable = true,
		.is_file = true,
		.maybe = true,
		.note = "device",
	};
	if (host_fs_look(b, path).kind == LOOK_OTHER) {
		mount_request_add(b, m, RANK_SYSTEM);
	}
}

void no_namespaces_skeleton(struct builder *b) {
	struct mount proc = {
		.kind = MOUNT_PROC,
		.target = "/proc",
		.source = "/proc",
		.reach = REACH_READ,
		.note = "processes of the host",
	};
	if (b->plan->engine != ENGINE_SEATBELT) { /* macOS has no procfs */
		mount_request_add(b, proc, RANK_SYSTEM);
	}
	for (size_t i = 0; i < devices.count; i++) {
		show_device(b, devices.rows[i].path);
	}
	for (size_t i = 0; i < ARRAY_LEN(more_devices); i++) {
		show_device(b, more_devices[i]);
	}
	mount_request_private(b, b->plan->run_dir, 0700, RANK_WINDOW, "private");
	/* For new terminals; existing ones in /dev/pts are not granted. */
	show_device(b, "/dev/ptmx");
	if (b->plan->broker && b->plan->engine == ENGINE_LANDLOCK) {
		b->plan->stand_in = b->plan->run_dir;
	}
}

/* Without Landlock no file is protected; the guarantees report that. */
void no_namespaces_open_view(struct builder *b) {
	struct mount m = {
		.kind = MOUNT_BIND,
		.target = "/",
		.source = "/",
		.reach = REACH_WRITE,
		.writable = true,
		.note = "not protected",
	};
	mount_request_add(b, m, RANK_SYSTEM);
}

/* ---- exceptions within a tree ---- */

static bool hides(const struct mount_request *w) {
	return w->m.kind == MOUNT_MASK_DIR || w->m.kind == MOUNT_MASK_FILE ||
	       w->m.kind == MOUNT_TEXT;
}

/* A read-only path, possibly in a writable tree. */
static bool keeps(const struct mount_request *w) {
	return (w->m.kind == MOUNT_BIND || w->m.kind == MOUNT_PIN) && !w->m.writable;
}

static bool in_writable_tree(const struct builder *b, const char *path) {
	for (size_t i = 0; i < b->nrequests; i++) {
		const struct mount_request *w = &b->requests[i];
		if (mount_request_is_tree(w) && w->m.writable && path_within(path, w->m.target)) {
			return true;
		}
	}
	return false;
}

struct spread {
	struct builder *b;
	const char *dir;
	size_t nfixed; /* the requests that existed before */
	struct mount tree;
	size_t *count;
};

/* The mask at this path, or one beneath it; NULL when there is neither. */
static const struct mount_request *mask_in(const struct spread *s, const char *path) {
	for (size_t i = 0; i < s->nfixed; i++) {
		const struct mount_request *w = &s->b->requests[i];
		if (hides(w) && path_within(w->m.target, path)) {
			return w;
		}
	}
	return NULL;
}

static void spread_dir(struct spread *s);

static void spread_path(const struct spread *s, const char *path, struct look seen) {
	const struct mount_request *mask = mask_in(s, path);

	if ((mask != NULL && streq(mask->m.target, path)) ||
	    (seen.kind != LOOK_DIR && seen.kind != LOOK_FILE) || ++*s->count > SPREAD_MAX) {
		return;
	}
	if (mask != NULL && seen.kind == LOOK_DIR) {
		struct spread deeper = *s;
		deeper.dir = path;
		spread_dir(&deeper);
		return;
	}
	struct mount m = s->tree;
	m.target = m.source = path;
	m.is_file = seen.kind == LOOK_FILE;
	m.dev = seen.dev;
	m.ino = seen.ino;
	m.maybe = true;
	mount_request_add(s->b, m, RANK_PIN); /* a rule for the path itself has a higher rank */
}

static void spread_entry(void *arg, const char *name) {
	const struct spread *s = arg;
	const char *path = plan_keep_join(s->b, s->dir, name);

	spread_path(s, path, host_fs_look(s->b, path));
}

/* Grants listing the directory, which also allows listing a hidden directory beneath. */
static void spread_dir(struct spread *s) {
	struct mount list = s->tree;
	list.target = list.source = s->dir;
	list.reach = REACH_LIST;
	list.dev = list.ino = 0;
	mount_request_add(s->b, list, RANK_PIN);
	if (s->b->netc > 0 && streq(s->dir, "/etc")) {
		for (size_t i = 0; i < s->b->netc; i++) {
			spread_path(s, s->b->etc[i].path, s->b->etc[i].seen);
		}
		return;
	}
	/* The command cannot list such a directory either. */
	(void)s->b->h->fs.list(s->b->h->fs.ctx, s->dir, spread_entry, s);
}

int no_namespaces_spread(struct builder *b, struct err *e) {
	size_t n = b->nrequests, count = 0;
	for (size_t i = 0; i < n; i++) {
		struct mount_request *w = &b->requests[i];
		if (!mount_request_is_tree(w) || w->m.writable || w->m.is_file ||
		    in_writable_tree(b, w->m.target)) {
			continue;
		}
		struct spread s = {
			.b = b, .dir = w->m.target, .nfixed = n, .tree = w->m, .count = &count};
		if (mask_in(&s, s.dir) == NULL) {
			continue;
		}
		w->dropped = true;
		b->plan->spread = true;
		spread_dir(&s);
	}
	if (count > SPREAD_MAX) {
		err_set(e, ERR_SETUP, WHERE,
			"hiding paths in trees of more than %d entries needs a mount namespace",
			SPREAD_MAX);
		return err_fix(e, "grant smaller trees, or use a host with user namespaces");
	}
	compose_settle(b);
	return 0;
}

/* ---- the system calls that the filter sends to the broker ---- */

static unsigned exceptions(const struct builder *b) {
	unsigned traits = 0;
	for (size_t i = 0; i < b->nrequests; i++) {
		const struct mount_request *w = &b->requests[i];
		if (w->dropped || !(hides(w) || keeps(w)) || !in_writable_tree(b, w->m.target)) {
			continue;
		}
		traits |= TRAIT_CHANGES | (hides(w) ? TRAIT_READS : 0);
	}
	return traits;
}

/* The files that the broker opens instead of files that have another content in the sandbox. */
static void place_texts(struct builder *b) {
	for (size_t i = 0; i < b->plan->nmounts; i++) {
		struct mount *m = &b->plan->mounts[i];
		if (m->kind == MOUNT_TEXT) {
			m->source = plan_keep_printf(b, "%s/.text-%zu", b->plan->run_dir, i);
		}
	}
}

void no_namespaces_traits(struct builder *b) {
	struct plan *plan = b->plan;
	bool open = plan->engine != ENGINE_LANDLOCK;
	unsigned traits = TRAIT_NO_NAMESPACES;

	if (plan->engine == ENGINE_SEATBELT) {
		return; /* it has no filter and no broker: the profile has the rules */
	}

	unsigned within = open ? 0 : exceptions(b);
	/* No mount could enforce these.  A run around this one protects the same names. */
	plan->rules.required = plan->rules.required || within != 0;
	plan->names_open =
		within != 0 && !plan->judges && plan_caller_variable(b->h, "CORRAL_LEVEL") == NULL;
	plan->exceptions = open ? 0 : within | broker_traits_set(b);
	traits |= plan->own_net ? TRAIT_NO_NET : 0;
	traits |= open ? TRAIT_OPEN : 0;
	if (plan->broker) {
		traits |= TRAIT_BROKER | (plan->judges ? plan->exceptions : 0);
		traits |= nested_traits(plan);
		traits |= open ? 0 : TRAIT_MARKS;
		traits |= b->h->sockets ? TRAIT_SOCKETS : 0;
		traits |= plan->stand_in != NULL ? TRAIT_MEMORY : 0;
		traits |= plan->landlock_abi < LANDLOCK_ABI_SCOPES ? TRAIT_SIGNALS : 0;
		traits |= !open && plan->landlock_abi < LANDLOCK_ABI_TRUNCATE ? TRAIT_TRUNCATE : 0;
	}
	plan->traits = open ? traits : broker_traits_watch(b, traits | broker_traits_ask(b));
	place_texts(b);
	if (plan->level != LEVEL_NONE && !plan->broker && b->h->notify_why != NULL) {
		plan_note(b,
			  plan_keep_printf(b, "the broker is not available: %s", b->h->notify_why));
	}
}
