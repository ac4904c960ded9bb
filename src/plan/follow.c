/* SPDX-License-Identifier: Apache-2.0 */
/* Marks the single files that are mounted again when the host replaces them (rename over the name).
 *
 * A bind mount on a file of the host disappears when the host renames another file over its
 * mount point.  So does a mask, and the new file would be readable: masks are followed as well.
 * A new file in the place of one that is shown as a copy without credentials is masked, because
 * no code cleans it; a text that does not depend on the file (steady) covers the new one too.
 *
 * A Landlock rule belongs to an inode.  For a new file at a mount point the kernel walks up to the
 * directory of the mount point, so that directory must carry the right.  In a tree that is shown,
 * or in the private home, it does.  A directory of the new root gets it (`door`) if no other file
 * becomes accessible by that.
 *
 * Should:   follow every single file that the plan shows.
 * Must not: give a directory a right that a path beneath it does not have.
 * Fails:    to the file as it was at the start, with a note. */
#include "plan/internal.h"

#include "base/path.h"
#include "base/str.h"

/* The mount among the first n that decides about the directory of the target. */
static const struct mount *around(const struct plan *plan, size_t n, const char *target) {
	const struct mount *best = NULL;
	for (size_t i = 0; i < n; i++) { /* L1: deeper ones follow */
		const struct mount *m = &plan->mounts[i];
		if (m->kind != MOUNT_PIN && path_within(target, m->target)) {
			best = m;
		}
	}
	return best;
}

/* Whether the mount has the right already, or has no file that the right would open. */
static bool has_more(const struct mount *m, enum reach reach) {
	switch (m->kind) {
	case MOUNT_COVER:
	case MOUNT_DIR:
	case MOUNT_LINK:
	case MOUNT_MASK_FILE:
	case MOUNT_MASK_DIR:
	case MOUNT_TEXT:
	case MOUNT_PIN:
		return true;
	case MOUNT_BIND:
	case MOUNT_COW:
	case MOUNT_PRIVATE:
		return m->reach >= reach;
	case MOUNT_FILE:
	case MOUNT_PROC:
	case MOUNT_DEVICE:
	case MOUNT_PTS:
	case MOUNT_QUEUES:
		break;
	}
	return false;
}

static bool door_is_safe(struct builder *b, const struct mount *file) {
	const struct plan *plan = b->plan;
	const char *dir = plan_keep_join(b, file->target, "..");
	for (size_t i = 0; i < plan->nmounts; i++) {
		const struct mount *m = &plan->mounts[i];
		if (path_within(m->target, dir) && !has_more(m, file->reach)) {
			return false;
		}
	}
	return !streq(dir, "/");
}

static void mark(struct builder *b, size_t at) {
	struct mount *m = &b->plan->mounts[at];
	const struct mount *outer = around(b->plan, at, m->target);
	bool tree = outer != NULL && (outer->kind == MOUNT_BIND || outer->kind == MOUNT_COW ||
				      outer->kind == MOUNT_PRIVATE);
	m->door = !tree && b->plan->landlock_abi > 0 && door_is_safe(b, m);
	m->follow = tree || b->plan->landlock_abi == 0 || m->door ? m->source : NULL;
	b->plan->islands = b->plan->islands || (tree && outer->writable && !m->writable);
}

/* In the run's own root, and in an overlay, no process outside can remove a mask.  A steady text
 * hides nothing: when no names are resolved it only saves a time-out, which is not worth a helper
 * process. */
static void mark_cover(struct builder *b, struct mount *m, const struct mount *outer) {
	if (m->steady && !net_has_names(&b->plan->net)) {
		return;
	}
	if (outer != NULL && outer->kind == MOUNT_BIND) {
		m->follow = plan_keep_rebased(b, m->target, outer->target, outer->source);
		/* The path as written may contain symlinks, which the host may change. */
		const char *now = m->named == NULL ? NULL : host_fs_resolve(b, m->named);
		m->follow = now != NULL && streq(now, m->follow) ? m->named : m->follow;
	}
}

static void mark_one(struct builder *b, size_t at) {
	struct mount *m = &b->plan->mounts[at];
	if (!b->no_namespaces &&
	    (m->kind == MOUNT_MASK_FILE || m->kind == MOUNT_MASK_DIR || m->kind == MOUNT_TEXT)) {
		mark_cover(b, m, around(b->plan, at, m->target));
		return;
	}
	/* A socket (no reach) is not followed: a client that connects after its service restarted
	 * needs a new run. */
	if (m->kind != MOUNT_BIND || !m->is_file || m->reach == REACH_NONE) {
		return;
	}
	if (!b->no_namespaces) {
		mark(b, at);
	}
	/* An entry of a spread tree is not a grant of its own. */
	bool own_grant = !b->no_namespaces || !m->maybe;
	if (m->follow == NULL && own_grant && b->plan->engine >= ENGINE_LANDLOCK) {
		plan_note(b, plan_keep_printf(
				     b,
				     "%s is a single file: if the host replaces it, the sandbox "
				     "keeps the old one; grant its directory to see the new one",
				     m->target));
	}
}

void follow_mark(struct builder *b) {
	for (size_t i = 0; i < b->plan->nmounts; i++) {
		mark_one(b, i);
	}
	if (b->plan->standby != NULL) {
		struct mount *m = b->plan->standby;
		mark_cover(b, m, around(b->plan, b->plan->nmounts, m->target));
	}
}
