/* Copy-on-write: the workspace inside is an overlay, and what the command changes
 * lands in a directory of Corral's own.
 *
 * Should:   say before anything runs why it cannot be had here.
 * Must not: let a second grant show the same files writable, past the overlay.
 * Fails:    closed: nothing runs on the workspace itself when a copy was asked for. */
#include "plan/internal.h"

#include "base/path.h"
#include "base/str.h"

#define INSTEAD "leave --cow out"

static int refuse(const struct builder *b, const char *why, struct err *e) {
	char origin[128];
	return err_set(e, ERR_SETUP, WHERE, "fs.cow (%s) cannot be had: %s",
		       policy_origin_text(&b->p->values[KEY_FS_COW].origin, origin, sizeof origin),
		       why);
}

/* An overlay whose changes lie in what it shows would show itself. */
static int state_in_workspace(const struct builder *b, struct err *e) {
	(void)refuse(b, "the workspace holds Corral's own state, where the changes would go", e);
	return err_fix(e, "choose a workspace that does not hold %s, or set XDG_STATE_HOME",
		       b->plan->own_dirs[0]);
}

int cow_choose(struct builder *b, struct err *e) {
	if (!policy_num(b->p, KEY_FS_COW)) {
		return 0;
	}
	if (b->read_only) {
		plan_note(b, "fs.cow has nothing to keep apart: mode is read-only");
		return 0;
	}
	if (b->no_namespaces) {
		(void)refuse(b, "it needs mount namespaces, which this engine has not", e);
		return err_fix(e, "use a host with user namespaces (`corral status`), or " INSTEAD);
	}
	if (b->h->cow_dir == NULL || b->h->state_closed) {
		(void)refuse(b, "there is no state directory to keep changes in", e);
		return err_fix(e, "set HOME or XDG_STATE_HOME to a directory that you can write, "
				  "or " INSTEAD);
	}
	if (path_within(b->plan->own_dirs[0], b->plan->workspace)) {
		return state_in_workspace(b, e);
	}
	b->plan->cow_dir = b->h->cow_dir;
	return 0;
}

/* Where the tree m would show the workspace, or a part of it, besides the overlay. */
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
			"%s (%s) shows the workspace writable a second time, past fs.cow",
			m->target, policy_origin_text(&m->origin, origin, sizeof origin));
		return err_fix(e, "leave that grant out, or " INSTEAD);
	}
	return 0;
}
