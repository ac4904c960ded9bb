/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the existing files that rules about names cover, and adds a mount for each.
 *
 * Should:   walk every tree of the host that the plan shows, and compare the verdict with rules to
 *           the verdict by mounts.
 * Must not: follow a symlink.
 * Fails:    closed: a tree that is too large to be walked is an error. */
#include "docker/container.h"

#include "base/path.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

#define WHERE "container"
/* More would take longer than the start of a container. */
#define ENTRIES_MAX 200000
/* The engine passes them as arguments. */
#define MOUNTS_MAX 2000
#define DEPTH_MAX 128

struct walk {
	struct arena *a;
	const struct host *h;
	const struct plan *plan;
	const char *dir;    /* inside */
	const char *source; /* the same on the host */
	unsigned depth;
	struct mount *found;
	size_t nfound, found_cap, entries;
	bool full, out_of_memory;
};

static void walk_dir(struct walk *w);

static void cover(struct walk *w, const char *at, const char *source, enum mount_kind kind) {
	if (w->nfound == MOUNTS_MAX) {
		w->full = true;
		return;
	}
	if (arena_grow(w->a, &w->found, w->nfound, &w->found_cap, sizeof *w->found) != 0) {
		w->out_of_memory = true;
		return;
	}
	w->found[w->nfound++] = (struct mount){
		.kind = kind,
		.target = at,
		.source = kind == MOUNT_BIND ? source : NULL,
		.is_file = kind == MOUNT_MASK_FILE,
		.note = kind == MOUNT_BIND ? "protected name" : "denied name",
	};
}

static void walk_entry(void *arg, const char *name) {
	struct walk *w = arg;
	const char *at = path_join(w->a, w->dir, name);
	const char *source = path_join(w->a, w->source, name);

	if (at == NULL || source == NULL) {
		w->out_of_memory = true;
		return;
	}
	if (++w->entries > ENTRIES_MAX || w->depth > DEPTH_MAX) {
		w->full = true;
	}
	struct look seen = {.kind = LOOK_NOTHING};
	if (!w->full) {
		seen = w->h->fs.look(w->h->fs.ctx, source);
	}
	bool dir = seen.kind == LOOK_DIR;
	if (seen.kind == LOOK_NOTHING || seen.kind == LOOK_LINK) {
		return;
	}
	enum visibility by_mounts = plan_mount_visibility(w->plan, at);
	enum visibility now = plan_visibility(w->plan, at);
	if (now == VISIBILITY_DENIED && by_mounts != VISIBILITY_DENIED) {
		cover(w, at, source, dir ? MOUNT_MASK_DIR : MOUNT_MASK_FILE);
		return;
	}
	if (now == VISIBILITY_READ && by_mounts == VISIBILITY_WRITE) {
		cover(w, at, source, MOUNT_BIND);
	}
	if (dir && now != VISIBILITY_DENIED) {
		struct walk below = *w;
		below.dir = at;
		below.source = source;
		below.depth++;
		walk_dir(&below);
		below.dir = w->dir;
		below.source = w->source;
		below.depth = w->depth;
		*w = below;
	}
}

static void walk_dir(struct walk *w) {
	/* An unreadable directory has no entry that the command could open. */
	(void)w->h->fs.list(w->h->fs.ctx, w->source, walk_entry, w);
}

static int by_target(const void *a, const void *b) {
	return strcmp(((const struct mount *)a)->target, ((const struct mount *)b)->target);
}

static int merge(struct arena *a, const struct walk *w, struct plan *plan, struct err *e) {
	struct mount *all = arena_array(a, plan->nmounts + w->nfound + 1, sizeof *all);

	if (all == NULL) {
		return err_memory(e, WHERE);
	}
	memcpy(all, plan->mounts, plan->nmounts * sizeof *all);
	if (w->nfound > 0) {
		memcpy(all + plan->nmounts, w->found, w->nfound * sizeof *all);
	}
	plan->mounts = all;
	plan->nmounts += w->nfound;
	plan->mounts_cap = plan->nmounts + 1;
	qsort(all, plan->nmounts, sizeof *all, by_target); /* L1 */
	return 0;
}

int container_names(struct arena *a, const struct host *h, struct plan *plan, bool *ret_later,
		    struct err *e) {
	struct walk w = {.a = a, .h = h, .plan = plan};

	*ret_later = plan->rules.count > 0;
	for (size_t i = 0; i < plan->nmounts && plan->rules.count > 0; i++) {
		const struct mount *m = &plan->mounts[i];
		if (m->kind == MOUNT_BIND && !m->is_file && !streq(m->note, "system")) {
			w.dir = m->target;
			w.source = m->source;
			walk_dir(&w);
		}
	}
	if (w.out_of_memory) {
		return err_memory(e, WHERE);
	}
	if (w.full) {
		(void)err_set(e, ERR_SETUP, WHERE,
			      "the workspace and the grants have more than %d files, or more than "
			      "%d that a rule about names covers",
			      ENTRIES_MAX, MOUNTS_MAX);
		return err_fix(e, "use --backend auto, which checks names when they are used");
	}
	return merge(a, &w, plan, e);
}
