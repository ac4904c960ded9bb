/* SPDX-License-Identifier: Apache-2.0 */
/* Judges which programs of the host are safe to execute outside (outside_programs.h).
 *
 * Should:   look at every directory of the path: whoever can write one can replace the program.
 * Must not: know of a workspace: the caller asks about this run's grants itself.
 * Fails:    closed: a program whose owner and mode cannot be read is not safe. */
#include "data/outside_programs.h"

#include "base/auto.h"
#include "base/path.h"
#include "data/paths.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define OTHERS_WRITE 0002u
#define GROUP_WRITES 0020u
#define STICKY 01000u

/* Where the programs of a system are; commands of root could write a directory of root anywhere
 * else, such as /srv/project/bin. */
static const char *const system_trees[] = {"/bin",  "/gnu/store", "/nix/store", "/opt",
					   "/sbin", "/snap",      "/usr"};

/* A directory with such an entry is the top of a repository. */
static const char *const repository_names[] = {".git", ".hg", ".jj", ".svn"};

static bool is_repository(const struct outside_facts *f, const char *dir) {
	uint32_t uid, mode;
	char at[PATH_MAX];
	for (size_t i = 0; i < ARRAY_LEN(repository_names); i++) {
		int n = snprintf(at, sizeof at, "%s/%s", dir, repository_names[i]);
		if (n < 0 || (size_t)n >= sizeof at || f->look(f->arg, at, &uid, &mode)) {
			return true;
		}
	}
	return false;
}

/* The length of the toolchain's directory in the path; 0: the path is in none. */
static size_t toolchain_length(const char *home, const char *path) {
	size_t h = home == NULL || !path_within(path, home) ? 0 : strlen(home);
	const char *inner = h == 0 || path[h] != '/' ? NULL : path + h + 1;
	for (size_t i = 0; inner != NULL && i < toolchains_count; i++) {
		const struct toolchain *t = &toolchains[i];
		size_t n = t->home == NULL || !path_within(inner, t->home) ? 0 : strlen(t->home);
		bool inside = n > 0 && t->parts[0] == NULL;
		for (size_t p = 0; n > 0 && p < TOOLCHAIN_PARTS && t->parts[p] != NULL; p++) {
			inside = inside ||
				 (inner[n] == '/' && path_within(inner + n + 1, t->parts[p]));
		}
		if (inside) {
			return h + 1 + n;
		}
	}
	return 0;
}

bool outside_program_is_of_system(const char *path) {
	for (size_t i = 0; i < ARRAY_LEN(system_trees); i++) {
		if (path_within(path, system_trees[i])) {
			return true;
		}
	}
	return false;
}

/* tool: the toolchain's own directory may be a repository, as those of nvm and pyenv are. */
static bool is_safe_step(const struct outside_facts *f, const char *at, bool tool, bool owned) {
	uint32_t uid, mode;
	if (!f->look(f->arg, at, &uid, &mode)) {
		return false;
	}
	/* Of a user's own directories the group is mostly the user's own, too.  In a sticky
	 * directory the owner of an entry counts. */
	uint32_t bits = uid == 0 ? OTHERS_WRITE | GROUP_WRITES : OTHERS_WRITE;
	bool closed = (mode & STICKY) != 0 || (mode & bits) == 0;
	return closed && (uid == 0 || (owned && uid == f->uid)) && (tool || !is_repository(f, at));
}

bool outside_program_is_safe(const struct outside_facts *f, const char *path) {
	size_t len = strlen(path), tool = toolchain_length(f->home, path);
	char at[PATH_MAX];

	if (path[0] != '/' || len >= sizeof at ||
	    (tool == 0 && f->uid == 0 && !outside_program_is_of_system(path))) {
		return false;
	}
	memcpy(at, path, len + 1);
	for (size_t n = len; n > 0; n--) {
		at[n] = '\0';
		bool whole = n == len || path[n] == '/';
		if (whole && !is_safe_step(f, at, n == tool, tool != 0)) {
			return false;
		}
	}
	return is_safe_step(f, "/", false, false);
}
