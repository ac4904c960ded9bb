/* SPDX-License-Identifier: Apache-2.0 */
/* Plans copy-on-write (--cow): an overlayfs over the workspace, its upper directory in Corral's
 * state.
 *
 * Should:   fail before the command starts when copy-on-write is not available.
 * Must not: let a second grant show the same files writable, without the overlay.
 * Fails:    closed: no command runs on the workspace itself when --cow is set. */
#include "plan/internal.h"

#include "base/path.h"
#include "base/str.h"

#define INSTEAD "remove --cow"

static int refuse(const struct builder *b, const char *why, struct err *e) {
	char origin[128];
	return err_set(e, ERR_SETUP, WHERE, "copy-on-write (%s) is not available: %s",
		       policy_origin_text(&b->p->values[KEY_FS_COW].origin, origin, sizeof origin),
		       why);
}

/* An overlay whose upper directory lies in its lower directory would show itself. */
static int state_in_workspace(const struct builder *b, struct err *e) {
	(void)refuse(b,
		     "the workspace contains Corral's state directory, where the changes would go",
		     e);
	return err_fix(e,
		       "choose a workspace that does not contain %s, or set XDG_STATE_HOME to a "
		       "directory outside it",
		       b->plan->own_dirs[0]);
}

int cow_choose(struct builder *b, struct err *e) {
	if (!policy_num(b->p, KEY_FS_COW)) {
		return 0;
	}
	if (b->read_only) {
		plan_note(b, "fs.cow has no effect: mode is read-only");
		return 0;
	}
	if (b->no_namespaces) {
		(void)refuse(b, "this engine has no mount namespace", e);
		return err_fix(e, "use a host with user namespaces (`corral status`), or " INSTEAD);
	}
	if (b->h->cow_dir == NULL || b->h->state_closed) {
		(void)refuse(b, "there is no state directory that Corral can write", e);
		return err_fix(e, "set HOME or XDG_STATE_HOME to a directory that you can write, "
				  "or " INSTEAD);
	}
	if (path_within(b->plan->own_dirs[0], b->plan->workspace)) {
		return state_in_workspace(b, e);
	}
	b->plan->cow_dir = b->h->cow_dir;
	return 0;
}

/* Whether the mount m shows the workspace, or a part of it, without the overlay. */
static bool shows_past(const struct builder *b, const struct mount *m) {
	const struct plan *plan = b->plan;
	if (m->kind != MOUNT_BIND || !m->writable) {
		return false;
	}
	if (path_within(m->source, plan->workspace)) {
		return true; /* at its own place it would have been pruned */
	}
	/* A tree around it is covered by the overlay if both keep their places. */
	return path_within(plan->workspace, m->source) &&
	       !(streq(m->source, m->target) && streq(plan->workspace, plan->workspace_at));
}

int cow_check(const struct builder *b, struct err *e) {
	for (size_t i = 0; b->plan->cow_dir != NULL && i < b->plan->nmounts; i++) {
		const struct mount *m = &b->plan->mounts[i];
		if (!shows_past(b, m)) {
			continue;
		}
		char origin[128];
		err_set(e, ERR_USAGE, WHERE,
			"%s (%s) shows the workspace writable a second time, without copy-on-write",
			m->target, policy_origin_text(&m->origin, origin, sizeof origin));
		return err_fix(e, "remove that grant, or " INSTEAD);
	}
	return 0;
}
