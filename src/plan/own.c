/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the policy files read-only in the sandbox: a command must not change the rules of the next
 * run.
 *
 * Should:   protect each file, and every symlink that leads to it.
 * Must not: hide it: git reads a project's file, and one among dot files.
 * Fails:    closed: a policy file that does not exist yet is protected by a rule about its name. */
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

/* Protects a policy file, also through symlinks.  A file in a directory of Corral is hidden with
 * that directory. */
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
