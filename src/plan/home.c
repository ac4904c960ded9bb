/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses HOME in the sandbox: a private directory, the workspace, or the host's home where the
 * view shows it.
 *
 * Should:   give every workspace its own home, kept between runs, in which the directories
 *           above the workspace are read-only: a file that a command writes beside the
 *           workspace (../result.txt) would not be where the user looks for it.
 * Must not: show the caller's home, or keep files when the mode is read-only.
 * Fails:    open to an empty home, with a note, unless the policy requires a kept one. */
#include "plan/home.h"

#include "base/path.h"
#include "base/str.h"
#include "plan/internal.h"

#define NO_HOME "/home/corral"
#define NO_HOME_IN_HOST_VIEW "/run/home" /* /home belongs to the host there */

/* Length of the hash and of the workspace's name in the name of its home: at level standard the
 * name is part of HOME, and programs put unix sockets there, whose paths have at most 108 bytes. */
#define HASH_SHOWN 32
#define NAME_SHOWN 18

/* A stable name for the home of a workspace.  The hash must be collision resistant: with a second
 * path of the same hash a project would read another project's home. */
static const char *home_name(struct builder *b) {
	const char *workspace = b->plan->workspace;
	char hash[65], name[NAME_SHOWN + 1];
	size_t n = 0;
	trust_sha256_hex(workspace, strlen(workspace), hash);
	for (const char *p = strrchr(workspace, '/') + 1; *p != '\0' && n < NAME_SHOWN; p++) {
		bool plain = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
			     (*p >= '0' && *p <= '9') || strchr("._-", *p) != NULL;
		name[n++] = (char)(plain ? *p : '_');
	}
	name[n] = '\0';
	return plan_keep_printf(b, "%.*s-%s", HASH_SHOWN, hash, name);
}

/* With the workspace in it, files that a command writes beside that would be lost without a word: a
 * warning.  Else a note, which -v and `corral explain` print. */
static void say_not_kept(struct builder *b, const char *why) {
	const char *text = plan_keep_printf(
		b, "the home is not kept: %s; set XDG_STATE_HOME to a directory that you can write",
		why);

	(path_within(b->plan->workspace_at, b->plan->home_at) ? plan_warn : plan_note)(b, text);
}

/* True when the home is kept between runs; adds a note with the reason if it cannot be. */
static bool home_is_kept(struct builder *b) {
	const struct value *home = &b->p->values[KEY_FS_HOME];
	if (home->num != HOME_PERSISTENT) {
		return false;
	}
	if (b->read_only) {
		if (home->origin.kind != ORIGIN_BUILTIN) {
			plan_note(b, "the home is not kept: mode is read-only");
		}
		return false;
	}
	if (b->h->state_dir == NULL) {
		say_not_kept(b, "there is no state directory");
		return false;
	}
	/* A policy that sets fs.home gets the error of creating it; the default uses an empty
	 * home. */
	if (b->h->state_closed && home->origin.kind == ORIGIN_BUILTIN) {
		say_not_kept(b, plan_keep_printf(b, "%s cannot be written", b->h->state_dir));
		return false;
	}
	return true;
}

bool home_is_for_tools(const char *name, size_t len) {
	if (name[0] == '.') {
		return true;
	}
	for (size_t i = 0; i < toolchains_count; i++) {
		const char *home = toolchains[i].home;
		if (home != NULL && strncmp(home, name, len) == 0 &&
		    (home[len] == '/' || home[len] == '\0')) {
			return true;
		}
	}
	return false;
}

/* Makes the directories between the private home and the workspace read-only.  A grant of the same
 * directory has a higher rank. */
static void protect_parents(struct builder *b) {
	const char *home = b->plan->home_at, *workspace = b->plan->workspace_at;
	if (streq(home, workspace) || !path_within(workspace, home)) {
		return;
	}
	const char *first = workspace + strlen(home) + 1;
	const char *slash = strchr(first, '/');
	if (slash == NULL || home_is_for_tools(first, (size_t)(slash - first))) {
		return;
	}
	for (; slash != NULL; slash = strchr(slash + 1, '/')) {
		struct mount m = {
			.kind = MOUNT_PIN,
			.target = plan_keep_cut(b, workspace, (size_t)(slash - workspace)),
			.note = "above the workspace",
		};
		mount_request_add(b, m, RANK_PIN)->own = true;
	}
}

static void show_private_home(struct builder *b) {
	struct plan *plan = b->plan;
	if (!home_is_kept(b)) {
		if (b->no_namespaces) {
			plan->home_at = plan_keep_join(b, plan->run_dir, SHARED_HOME);
		}
		mount_request_private(b, plan->home_at, 0700, RANK_HOME, "private home");
		return;
	}
	plan->home_source =
		plan_keep_printf(b, "%s/homes/%s/" HOME_DIR, b->plan->own_dirs[0], home_name(b));
	if (b->h->home_taken) {
		plan_warn(b, "other runs of this workspace use its private HOME with other grants "
			     "in HOME; this run uses a separate one");
	}
	if (b->no_namespaces) {
		home_set_without_mounts(b);
		plan->home_source =
			b->h->home_taken ? home_set_apart(b, plan->home_source) : plan->home_source;
		plan->home_at = plan->home_source;
	}
	struct mount m = {
		.kind = MOUNT_BIND,
		.target = plan->home_at,
		.source = plan->home_source,
		.reach = REACH_WRITE,
		.writable = true,
		.note = "private home",
	};
	mount_request_add(b, m, RANK_HOME)->own = true;
}

/* View host shows the caller's home, unless it lies in a directory that this view skips. */
static bool host_shows_home(const struct builder *b) {
	const char *home = b->h->home;
	if (b->view != VIEW_HOST || home == NULL) {
		return false;
	}
	for (size_t i = 0; i < host_skipped.count; i++) {
		size_t n = strlen(host_skipped.rows[i].path);
		if (strncmp(home + 1, host_skipped.rows[i].path, n) == 0 &&
		    (home[n + 1] == '/' || home[n + 1] == '\0')) {
			return false;
		}
	}
	return true;
}

void home_choose(struct builder *b) {
	bool shared = policy_num(b->p, KEY_FS_HOME) == HOME_WORKSPACE;
	const char *home = b->view == VIEW_MINIMAL ? NULL : b->h->home;
	if (home != NULL && plan_reserved_reason(home) != NULL) {
		home = NULL;
	}
	const char *none = b->view == VIEW_HOST ? NO_HOME_IN_HOST_VIEW : NO_HOME;
	b->plan->home_at = shared ? b->plan->workspace_at : home == NULL ? none : home;
	b->plan->home_own = home;
}

void home_show(struct builder *b) {
	if (b->plan->full_access && b->h->home != NULL) {
		return; /* the caller's own */
	}
	if (path_within(b->plan->home_at, b->plan->workspace_at) || host_shows_home(b)) {
		return;
	}
	show_private_home(b);
	protect_parents(b);
}
