/* The files that the policy is read from: what decides about the next run must not be written by
 * this one.
 *
 * Should:   keep each where it lies, with every link that leads to it.
 * Must not: hide it: a project's file, or one among dot files, is read by git. */
#include "plan/internal.h"

#include "base/auto.h"
#include "base/str.h"

static void protect_file(struct builder *b, const char *path, const char *note) {
	struct look seen = host_fs_look(b, path);
	if (seen.kind == LOOK_FILE) {
		masks_hide(b,
			   (struct hide){
				   .path = path, .seen = seen, .rank = RANK_PROTECT, .note = note});
	}
}

/* A file that a policy is read from, wherever links lead.  What lies in a directory of
 * Corral's own is hidden with it. */
static void protect_policy_file(struct builder *b, const char *path) {
	const char *end =
		path == NULL || path[0] != '/' ? NULL : pattern_for_file(b, path, "corral");
	if (end != NULL && plan_own_dir(b, end) == NULL && masks_is_shown(b, end)) {
		protect_file(b, end, "policy file");
	}
}

void own_keep_files(struct builder *b) {
	protect_file(b, plan_keep_join(b, b->plan->workspace, PROJECT_FILE), "project file");
	for (size_t i = 0; i < ARRAY_LEN(b->p->files); i++) {
		protect_policy_file(b, b->p->files[i]);
	}
	for (size_t i = 0; i < ARRAY_LEN(b->plan->own_files); i++) {
		protect_policy_file(b, b->plan->own_files[i]);
	}
}
