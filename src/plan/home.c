/* The home inside: a private one, or the host's where the view takes it over.
 *
 * Should:   give every workspace a home of its own that lasts from run to run.
 * Must not: show the caller's home, or keep anything when the mode is read-only.
 * Fails:    open to an empty home, with a note, unless somebody asked for a kept one. */
#include "plan/internal.h"

#include "base/str.h"

#define NO_HOME "/home/corral"
#define NO_HOME_IN_HOST_VIEW "/run/home" /* /home belongs to the host there */

/* A stable name for the home that belongs to a workspace. */
static const char *home_name(struct builder *b) {
	uint64_t hash = 0xcbf29ce484222325ULL; /* FNV-1a, 64 bits */
	for (const char *p = b->plan->workspace; *p != '\0'; p++) {
		hash = (hash ^ (unsigned char)*p) * 0x100000001b3ULL;
	}
	char name[41];
	size_t n = 0;
	for (const char *p = strrchr(b->plan->workspace, '/') + 1;
	     *p != '\0' && n < sizeof name - 1; p++) {
		bool plain = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
			     (*p >= '0' && *p <= '9') || strchr("._-", *p) != NULL;
		name[n++] = (char)(plain ? *p : '_');
	}
	name[n] = '\0';
	return keep_printf(b, "%016llx-%s", (unsigned long long)hash, name);
}

/* True when the home can be kept between runs; notes why not when asked for. */
static bool home_is_kept(struct builder *b) {
	const struct value *home = &b->p->values[KEY_FS_HOME];
	if (home->num != HOME_PERSISTENT) {
		return false;
	}
	if (b->read_only) {
		if (home->origin.kind != ORIGIN_BUILTIN) {
			note_add(b, "the home is not kept: mode is read-only");
		}
		return false;
	}
	if (b->h->state_dir == NULL) {
		note_add(b, "the home is not kept: there is no state directory to keep it in");
		return false;
	}
	/* Who asked for it gets the error of making it; the default does without. */
	if (b->h->state_closed && home->origin.kind == ORIGIN_BUILTIN) {
		note_add(b, keep_printf(b, "the home is not kept: %s cannot be written",
					b->h->state_dir));
		return false;
	}
	return true;
}

static void show_private_home(struct builder *b) {
	struct plan *plan = b->plan;
	if (!home_is_kept(b)) {
		if (b->shared) {
			plan->home_at = keep_join(b, plan->run_dir, SHARED_HOME);
		}
		wish_private(b, plan->home_at, 0700, RANK_HOME, "private home");
		return;
	}
	plan->home_source = keep_join(b, keep_join(b, b->own_dirs[0], "homes"), home_name(b));
	if (b->shared) {
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
	wish_add(b, m, RANK_HOME)->own = true;
}

/* The host view takes the home over as it is, unless it lies where that view
 * does not look. */
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
	const char *home = b->view == VIEW_MINIMAL ? NULL : b->h->home;
	if (home != NULL && reserved_reason(home) != NULL) {
		home = NULL;
	}
	const char *none = b->view == VIEW_HOST ? NO_HOME_IN_HOST_VIEW : NO_HOME;
	b->plan->home_at = home == NULL ? none : home;
}

void home_show(struct builder *b) {
	if (path_within(b->plan->home_at, b->plan->workspace_at) || host_shows_home(b)) {
		return;
	}
	show_private_home(b);
}
