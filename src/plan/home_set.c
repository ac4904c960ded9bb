/* SPDX-License-Identifier: Apache-2.0 */
/* Names the set of mount points that a run has in its private home.
 *
 * Theory.  All runs of a workspace use one private home, and a mount point is a name in it.  A
 * process can rename or remove every name that is not a mount point in its own mount namespace: a
 * mount that another run has there moves with the name, or the kernel detaches it.  So a run could
 * put its own file where another one has a granted file.  Therefore:
 *
 *  - the directories between the home and a mount point are pinned, each a mount point itself
 *    (compose.c);
 *  - only runs with the same mount points use a home at the same time (linux/home_set.c).  The
 *    kernel refuses each of them the names of all.
 *
 * The usual set has no name, so that a run with it need not read a record: the workspace at its own
 * path, if that lies in HOME.
 *
 * Should:   give two plans the same name only if their mount points are the same.
 * Must not: count a mount point in a tree of the host, which no name of the home leads to.
 * Fails:    closed: out of memory stops the plan. */
#include "plan/internal.h"

#include "base/path.h"
#include "base/str.h"

/* Characters of the hash in the name of a home that is used apart. */
#define HASH_SHOWN 16

/* Without namespaces nothing is mounted: no name of the home is kept from the command. */
#define NOTHING_MOUNTED "no mounts"

/* Where Corral's state is by default, in HOME. */
#define STATE_DIR ".local/state/corral"

static void add(struct buf *set, const char *text) {
	buf_add(set, text, strlen(text) + 1);
}

/* Whether the view has HOME and the workspace at their own paths. */
static bool is_usual_view(struct builder *b) {
	const struct plan *plan = b->plan;
	const char *home = b->h->home;
	return home != NULL && streq(plan->home_at, home) &&
	       streq(plan->workspace_at, plan->workspace) && b->h->state_dir != NULL &&
	       streq(b->h->state_dir, plan_keep_join(b, home, STATE_DIR));
}

/* The mounts are sorted, so those in another one follow it. */
static void add_mounts(const struct plan *plan, bool usual, struct buf *set) {
	const char *home = plan->home_at, *tree = NULL;
	for (size_t i = 0; i < plan->nmounts; i++) {
		const struct mount *m = &plan->mounts[i];
		bool in_home = path_within(m->target, home) && !streq(m->target, home);
		if (!in_home || (tree != NULL && path_within(m->target, tree))) {
			continue;
		}
		if (m->kind != MOUNT_PIN) {
			tree = m->target;
		}
		if (!usual || !path_within(plan->workspace, m->target)) {
			add(set, m->target + strlen(home));
		}
	}
}

static void move_home(struct plan *plan, const char *to) {
	for (size_t i = 0; i < plan->nmounts; i++) {
		const char **source = &plan->mounts[i].source;
		if (*source != NULL && streq(*source, plan->home_source)) {
			*source = to;
		}
	}
	plan->home_source = to;
}

const char *home_set_apart(struct builder *b, const char *home) {
	char hash[65];
	const char *set = b->plan->home_set == NULL ? "" : b->plan->home_set;
	trust_sha256_hex(set, strlen(set), hash);
	size_t len = strlen(home) - strlen("/" HOME_DIR);
	return plan_keep_printf(b, "%.*s+%.*s/" HOME_DIR, (int)len, home, HASH_SHOWN, hash);
}

/* Whether a run with the usual view has a mount point in the home. */
static bool usual_has_mount(const struct builder *b) {
	return b->h->home != NULL && path_within(b->plan->workspace, b->h->home);
}

/* Only a host with namespaces has other runs that mount. */
void home_set_without_mounts(struct builder *b) {
	b->plan->home_set = b->h->userns && usual_has_mount(b) ? NOTHING_MOUNTED : NULL;
}

void home_set_build(struct builder *b) {
	struct plan *plan = b->plan;
	struct buf set;
	if (plan->home_source == NULL || b->no_namespaces) {
		return;
	}
	bool usual = is_usual_view(b);
	buf_init(&set);
	add_mounts(plan, usual, &set);
	if (set.len > 0 || (!usual && usual_has_mount(b))) {
		char hash[65];
		add(&set, usual ? "" : plan->home_at);
		trust_sha256_hex(set.data, set.len, hash);
		plan->home_set = plan_keep_copy(b, hash);
	}
	b->out_of_memory = b->out_of_memory || buf_failed(&set);
	buf_done(&set);
	if (b->h->home_taken) {
		move_home(plan, home_set_apart(b, plan->home_source));
	}
}
