/* SPDX-License-Identifier: Apache-2.0 */
/* Composes the ordered list of mounts from the mount requests.
 *
 * Should:   keep one mount per target, parents first (L1), the same for every
 *           order of the rules (L2); pin every directory whose rename would
 *           move a masked or read-only path.
 * Must not: create files inside a tree of the host (L4).
 * Fails:    closed: a mount point that does not exist there is an error. */
#include "plan/internal.h"

#include "base/path.h"
#include "base/str.h"

#include <assert.h>

/* ---- order ---- */

void compose_settle(struct builder *b) {
	size_t kept = 0;
	for (size_t i = 0; i < b->nrequests; i++) {
		if (!b->requests[i].dropped) {
			b->requests[kept++] = b->requests[i];
		}
	}
	b->nrequests = kept;
	if (kept == 0) {
		return;
	}
	if (mount_request_sort(b) != 0) {
		b->out_of_memory = true;
		return;
	}
	kept = 1;
	for (size_t i = 1; i < b->nrequests; i++) {
		if (!streq(b->requests[i].m.target, b->requests[kept - 1].m.target)) {
			b->requests[kept++] = b->requests[i];
		} else {
			assert(b->requests[kept - 1].rank >= b->requests[i].rank); /* L3 */
		}
	}
	b->nrequests = kept;
}

/* Files of the new root.  prune() drops them in a tree of the host (L4), which then shows its own
 * there: an image may have a directory /var/run. */
static bool is_created(const struct mount_request *w) {
	return w->m.kind == MOUNT_DIR || w->m.kind == MOUNT_LINK || w->m.kind == MOUNT_FILE;
}

const struct mount_request *compose_at(const struct builder *b, size_t n, const char *path) {
	const struct mount_request *best = NULL, *created = NULL;
	size_t longest = 0, longest_created = 0;
	for (size_t i = 0; i < n; i++) {
		const struct mount_request *w = &b->requests[i];
		if (w->dropped || w->m.kind == MOUNT_PIN || !path_within(path, w->m.target)) {
			continue; /* a pin does not change the content */
		}
		size_t len = strlen(w->m.target);
		if (is_created(w) && len >= longest_created) {
			created = w;
			longest_created = len;
		} else if (!is_created(w) && len >= longest) {
			best = w;
			longest = len;
		}
	}
	bool kept = created != NULL && longest_created >= longest &&
		    (best == NULL || !mount_request_is_tree(best));
	return kept ? created : best;
}

const char *compose_inside(struct builder *b, const struct mount_request *w, const char *path) {
	return plan_keep_rebased(b, path, w->m.source, w->m.target);
}

/* ---- enclosing requests ---- */

/* Requests are sorted, so those that enclose the current one form a stack. */
struct stack {
	struct mount_request **items;
	size_t n;
};

static int stack_init(struct builder *b, struct stack *s) {
	*s = (struct stack){.items = arena_array(b->a, b->nrequests + 1, sizeof *s->items)};
	return s->items == NULL ? -1 : 0;
}

static struct mount_request *stack_top(struct stack *s, const char *target) {
	while (s->n > 0 && !path_within(target, s->items[s->n - 1]->m.target)) {
		s->n--;
	}
	return s->n == 0 ? NULL : s->items[s->n - 1];
}

static bool hides(const struct mount_request *w) {
	return w->m.kind == MOUNT_MASK_DIR || w->m.kind == MOUNT_MASK_FILE ||
	       w->m.kind == MOUNT_TEXT;
}

/* The host's path of a target that lies in the tree `outer`. */
static const char *host_path_of(struct builder *b, const struct mount_request *outer,
				const char *target) {
	return plan_keep_rebased(b, target, outer->m.target, outer->m.source);
}

/* ---- pruning ---- */

static int no_mount_point(const struct mount_request *w, const struct mount_request *outer,
			  struct err *e) {
	err_set(e, ERR_USAGE, WHERE, "%s cannot be mounted: %s has no such %s as a mount point",
		w->m.target, outer->m.target, w->m.is_file ? "file" : "directory");
	return err_fix(e, "choose a path that exists, or one outside %s", outer->m.target);
}

/* A tree inside a tree: either redundant, or it needs an existing mount point. */
static int prune_tree(struct builder *b, struct mount_request *w, const struct mount_request *outer,
		      struct err *e) {
	const char *host = host_path_of(b, outer, w->m.target);
	if (streq(host, w->m.source)) {
		w->dropped = w->m.kind != MOUNT_COW && w->m.writable == outer->m.writable &&
			     w->m.reach <= outer->m.reach;
		return 0;
	}
	if (w->alias) {
		w->dropped = true; /* the host's own symlink is visible there */
		return 0;
	}
	enum look_kind kind = host_fs_look(b, host).kind;
	if (kind == LOOK_NOTHING || kind == LOOK_LINK || (kind == LOOK_DIR) == w->m.is_file) {
		return no_mount_point(w, outer, e);
	}
	return 0;
}

static int prune_in_tree(struct builder *b, struct mount_request *w,
			 const struct mount_request *outer, struct err *e) {
	switch (w->m.kind) {
	case MOUNT_BIND:
	case MOUNT_COW:
		return prune_tree(b, w, outer, e);
	case MOUNT_PRIVATE:
		w->dropped = !b->no_namespaces && /* there it lies in the run's own directory */
			     host_fs_look(b, host_path_of(b, outer, w->m.target)).kind != LOOK_DIR;
		return 0;
	case MOUNT_DIR:
	case MOUNT_LINK:
	case MOUNT_FILE:
		w->dropped = true; /* no file is created in a tree of the host (L4) */
		return 0;
	default:
		return 0;
	}
}

static int prune_one(struct builder *b, struct mount_request *w, const struct mount_request *outer,
		     struct err *e) {
	if (outer == NULL) {
		return 0;
	}
	if (outer->m.kind == MOUNT_LINK || outer->m.kind == MOUNT_FILE || outer->m.is_file) {
		if (w->alias || hides(w)) {
			w->dropped = true;
			return 0;
		}
		return no_mount_point(w, outer, e);
	}
	if (outer->m.kind == MOUNT_MASK_DIR) {
		w->dropped = hides(w) || w->rank == RANK_PROTECT || w->m.kind == MOUNT_PIN;
		return 0;
	}
	return mount_request_is_tree(outer) ? prune_in_tree(b, w, outer, e) : 0;
}

static int prune(struct builder *b, struct err *e) {
	struct stack s;
	if (stack_init(b, &s) != 0) {
		return err_memory(e, WHERE);
	}
	for (size_t i = 0; i < b->nrequests; i++) {
		struct mount_request *w = &b->requests[i];
		if (prune_one(b, w, stack_top(&s, w->m.target), e) != 0) {
			return -1;
		}
		if (!w->dropped) {
			s.items[s.n++] = w;
		}
	}
	return 0;
}

/* ---- pins ---- */

/* Pins the directories between a writable tree and a masked or read-only path in it, and between a
 * private directory and each mount in it: a rename of one would move the mount and leave its name
 * free (DN05, DN06).  In a read-only tree nothing can be renamed. */
static void pin_ancestors(struct builder *b, const char *target,
			  const struct mount_request *outer) {
	const char *from = target + strlen(outer->m.target) + 1;
	bool own = !mount_request_is_tree(outer);
	for (const char *p = strchr(from, '/'); p != NULL; p = strchr(p + 1, '/')) {
		const char *dir = plan_keep_cut(b, target, (size_t)(p - target));
		struct mount m = {
			.kind = MOUNT_PIN,
			.target = dir,
			.writable = true,
			.note = own ? "contains a mount point" : "contains a protected path",
		};
		mount_request_add(b, m, RANK_PIN)->own = own;
	}
}

/* Whether a rename in `outer` could move the mount, or leave its name free. */
static bool needs_pins(const struct mount_request *w, const struct mount_request *outer) {
	if (outer == NULL || w->m.kind == MOUNT_PIN) {
		return false;
	}
	if (mount_request_is_tree(outer)) {
		bool restricts = hides(w) || (mount_request_is_tree(w) && !w->m.writable);
		return restricts && outer->m.writable;
	}
	if (outer->m.kind == MOUNT_PRIVATE) {
		return w->rank == RANK_READ || w->rank == RANK_WRITE; /* this run's alone */
	}
	return outer->own && w->m.kind != MOUNT_DIR && w->m.kind != MOUNT_LINK &&
	       w->m.kind != MOUNT_FILE;
}

static int pin(struct builder *b, struct err *e) {
	struct stack s;
	size_t n = b->nrequests;
	/* Adding pins may move the array. */
	struct mount_request *fixed = arena_array(b->a, n + 1, sizeof *fixed);
	if (fixed == NULL || stack_init(b, &s) != 0) {
		return err_memory(e, WHERE);
	}
	memcpy(fixed, b->requests, n * sizeof *fixed);
	for (size_t i = 0; i < n; i++) {
		const struct mount_request *outer = stack_top(&s, fixed[i].m.target);
		if (needs_pins(&fixed[i], outer) &&
		    !(b->no_namespaces && !mount_request_is_tree(outer))) {
			pin_ancestors(b, fixed[i].m.target, outer);
		}
		if (fixed[i].m.kind != MOUNT_PIN) {
			s.items[s.n++] = &fixed[i]; /* a pin does not change the content */
		}
	}
	return 0;
}

/* ---- the list of mounts ---- */

/* Whether the mount point may be created: only in the run's own root or tmpfs, never in a tree of
 * the host (L4). */
static bool may_create_mount_point(const struct mount_request *outer) {
	return outer == NULL || outer->own || outer->m.kind == MOUNT_PRIVATE ||
	       outer->m.kind == MOUNT_DIR || outer->m.kind == MOUNT_MASK_DIR ||
	       outer->m.kind == MOUNT_COVER;
}

static int list_mounts(struct builder *b, struct err *e) {
	struct stack s;
	struct plan *plan = b->plan;
	plan->mounts = arena_array(b->a, b->nrequests + 1, sizeof *plan->mounts);
	if (plan->mounts == NULL || stack_init(b, &s) != 0) {
		return err_memory(e, WHERE);
	}
	plan->mounts_cap = b->nrequests + 1;
	for (size_t i = 0; i < b->nrequests; i++) {
		struct mount_request *w = &b->requests[i];
		assert(i == 0 || path_order(w[-1].m.target, w->m.target) < 0); /* L1 */
		w->m.create = may_create_mount_point(stack_top(&s, w->m.target));
		s.items[s.n++] = w;
		plan->mounts[plan->nmounts++] = w->m;
	}
	return 0;
}

int compose(struct builder *b, struct err *e) {
	compose_settle(b);
	if (prune(b, e) != 0) {
		return -1;
	}
	compose_settle(b); /* removes the pruned requests */
	if (pin(b, e) != 0) {
		return -1;
	}
	compose_settle(b);
	if (b->plan->engine != ENGINE_SEATBELT && b->no_namespaces &&
	    no_namespaces_spread(b, e) != 0) {
		return -1;
	}
	return b->out_of_memory ? err_memory(e, WHERE) : list_mounts(b, e);
}
