/* SPDX-License-Identifier: Apache-2.0 */
/* Resolves paths that do not exist, or not completely: follows symlinks and finds the deepest
 * existing directory.
 *
 * Should:   need few look-ups for paths of any depth.
 * Must not: read or list files.
 * Fails:    closed: a loop of symlinks has no end (NULL). */
#include "plan/internal.h"

#include "base/str.h"

#include <limits.h>

const char *link_cut_path(struct builder *b, const char *path, size_t len) {
	return len == 0 ? "/" : plan_keep_cut(b, path, len);
}

/* The length of the path up to a slash between low and high, near the middle; `high` when there is
 * none. */
static size_t slash_between(const char *path, size_t low, size_t high) {
	size_t at = low + (high - low) / 2;
	while (at > low && path[at] != '/') {
		at--;
	}
	if (at == low) {
		at = low + 1 + strcspn(path + low + 1, "/");
	}
	return at < high ? at : high;
}

/* A binary search: a missing directory has nothing beneath it, and a project's file may name
 * thousands of paths that are thousands of names deep. */
struct link_ground_of link_ground_of(struct builder *b, const char *path) {
	size_t high = (size_t)(strrchr(path, '/') - path);
	const char *full = host_fs_resolve(b, link_cut_path(b, path, high));
	struct link_ground_of found = {.full = full == NULL ? "/" : full,
				       .len = full == NULL ? 0 : high};
	for (size_t at; full == NULL && (at = slash_between(path, found.len, high)) < high;) {
		const char *dir = host_fs_resolve(b, link_cut_path(b, path, at));
		if (dir == NULL) {
			high = at;
		} else {
			found = (struct link_ground_of){.full = dir, .len = at};
		}
	}
	return found;
}

const char *link_deepest_directory(struct builder *b, const char *path) {
	return link_ground_of(b, path).full;
}

const char *link_half_resolved(struct builder *b, const char *path) {
	if (path[1] == '\0') {
		return path;
	}
	struct link_ground_of ground = link_ground_of(b, path);
	return plan_keep_join(b, ground.full, path + ground.len + 1);
}

const char *link_target(struct builder *b, const char *dir, char *words) {
	for (size_t len = strlen(words); len > 1 && words[len - 1] == '/'; len--) {
		words[len - 1] = '\0';
	}
	char *slash = strrchr(words, '/');
	const char *name = slash == NULL ? words : slash + 1;
	const char *whole = plan_keep_join(b, dir, words);
	if (slash != NULL && slash != words && !streq(name, "..") && !streq(name, ".")) {
		*slash = '\0';
		dir = host_fs_resolve(b, words[0] == '/'
						 ? plan_keep_copy(b, words)
						 : plan_keep_printf(b, "%s/%s", dir, words));
		return dir == NULL ? link_half_resolved(b, whole) : plan_keep_join(b, dir, name);
	}
	return link_half_resolved(b, whole);
}

const char *link_end(struct builder *b, const char *path) {
	char words[PATH_MAX];
	const char *end = NULL;
	for (size_t i = 0; i < LINKS_MAX; i++) {
		if (!b->h->fs.readlink(b->h->fs.ctx, path, words, sizeof words)) {
			return end;
		}
		end = path = link_target(b, plan_keep_join(b, path, ".."), words);
	}
	return NULL; /* a loop: no file can be created through it */
}
