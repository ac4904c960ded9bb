/* SPDX-License-Identifier: Apache-2.0 */
/* The symlink tool.
 *
 * A command may create a symlink with any target.  A tool creates only those with a target
 * that is readable in the sandbox and, on the host, beneath a directory that commands may
 * write: a program outside that follows the link reaches no file that the sandbox hides.
 *
 * Should:   resolve the target twice: through the plan's mounts, and on the host.
 * Must not: replace an existing entry.
 * Fails:    closed: a target that cannot be resolved is refused. */
#include "files/tools.h"

#include "base/auto.h"
#include "base/path.h"
#include "base/str.h"
#include "files/mounts.h"
#include "files/target.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

/* The target, from the link's directory, must be readable in the sandbox; it may be missing. */
static int check_inside(const struct lens *v, const struct place *p, const char *words,
			struct err *e) {
	char path[2 * PATH_MAX];
	struct place to;

	if (words[0] == '\0' || strlen(words) >= PATH_MAX) {
		return err_set(e, ERR_USAGE, "files", "the symlink target is empty or too long");
	}
	/* The link does not exist yet, so a relative target starts at its directory. */
	int dir = words[0] == '/' ? 0 : (int)(strrchr(p->path, '/') - p->path);
	(void)snprintf(path, sizeof path, "%.*s/%s", dir, p->path, words); /* it fits */
	if (access_allowed(v, path, 0, ACCESS_READ, &to, e) != 0) {
		return -1;
	}
	place_done(&to);
	return 0;
}

/* Whether the sandbox shows this path of the host through that mount, not covered by another
 * mount and not hidden. */
static bool mount_shows(const struct plan *plan, const struct mount *m, const char *host) {
	char inside[PATH_MAX], covered[PATH_MAX];

	if (!mount_is_tree(m) || !path_within(host, m->source) ||
	    !path_rebase(host, m->source, m->target, inside, sizeof inside)) {
		return false;
	}
	const struct mount *over = plan_mount_over(plan, inside);
	enum visibility sight = plan_visibility(plan, inside);
	return over != NULL && mount_is_tree(over) && sight != VISIBILITY_NONE &&
	       sight != VISIBILITY_DENIED &&
	       path_rebase(inside, over->target, over->source, covered, sizeof covered) &&
	       streq(covered, host);
}

static bool in_writable_root(const struct plan *plan, const char *host) {
	for (size_t i = 0; i < plan->nmounts; i++) {
		const struct mount *m = &plan->mounts[i];
		if (m->writable && mount_shows(plan, m, host)) {
			return true;
		}
	}
	return false;
}

static int check_on_host(const struct lens *v, const struct place *p, const char *words,
			 struct err *e) {
	char host[PATH_MAX];
	int r = target_on_host(p->dir, words, host);

	if (r == 0 && in_writable_root(v->plan, host)) {
		return 0;
	}
	(void)err_set(
		e, ERR_OUTSIDE, "files",
		r == 0 ? "the symlink target %s is outside the boundary: on the host it is %s, "
			 "which is not in a writable directory of the policy"
		       : "the symlink target %s is outside the boundary: on the host it cannot "
			 "be resolved%s",
		words, r == 0 ? host : "");
	return err_fix(e, "use a relative target in %s", v->plan->workspace_at);
}

int tool_check_target(const struct lens *v, const struct place *p, const char *words,
		      struct err *e) {
	return check_inside(v, p, words, e) != 0 || check_on_host(v, p, words, e) != 0 ? -1 : 0;
}

int tool_symlink(const struct lens *v, const char *words, const char *path, struct err *e) {
	struct place p;

	if (access_allowed(v, path, WALK_STAY, ACCESS_WRITE, &p, e) != 0) {
		return -1;
	}
	int rc = 0;
	if (p.kind != PLACE_MISSING) {
		rc = place_failed(EEXIST, "create the symlink", p.path, e);
	} else if (p.dir < 0) {
		rc = place_failed(ENOENT, "create the symlink", p.path, e);
	} else if (tool_check_target(v, &p, words, e) != 0) {
		rc = -1;
	} else if (rules_lead_astray(&v->plan->rules, p.path, words) ||
		   rules_lead_out(&v->plan->rules, p.path, words)) {
		rc = place_failed(EBUSY, "create the symlink", p.path, e); /* as for a command */
	} else if (symlinkat(words, p.dir, p.name) != 0) {
		rc = place_failed(errno, "create the symlink", p.path, e);
	}
	place_done(&p);
	return rc;
}
