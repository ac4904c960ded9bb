/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the entry that a path names.  named.h has the reason.
 *
 * Should:   find the entry again if it moves meanwhile.
 * Must not: follow a symlink that is the last component.
 * Fails:    closed: an entry that keeps changing is an error. */
#include "files/named.h"

#include "base/beneath.h"
#include "base/path.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define AGAIN_MAX 16 /* look-ups of an entry that changes meanwhile */

/* The path without its trailing slashes; "/" stays. */
static int copy_path(const char *path, char out[PATH_MAX], bool *ret_slash, struct err *e) {
	size_t len = path == NULL ? 0 : strlen(path), all = len;

	while (len > 1 && path[len - 1] == '/') {
		len--;
	}
	if (len == 0) {
		return err_set(e, ERR_USAGE, "files", "the path is empty");
	}
	if (len >= PATH_MAX) {
		return place_failed(ENAMETOOLONG, "resolve a path that begins with", path, e);
	}
	memcpy(out, path, len);
	out[len] = '\0';
	const char *slash = strrchr(out, '/');
	const char *last = slash == NULL ? out : slash + 1;
	if (path_is_dots(last, strlen(last))) {
		(void)err_set(e, ERR_USAGE, "files", "%s ends with . or .., which is not a name",
			      path);
		return err_fix(e, "name the file or directory itself");
	}
	*ret_slash = len < all;
	return 0;
}

static bool has_file(const struct place *p) {
	struct stat st;

	return fstatat(p->dir, p->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       st.st_dev == p->st.st_dev && st.st_ino == p->st.st_ino;
}

bool named_holds(const struct place *p) {
	char real[PATH_MAX], at[PATH_MAX], parent[PATH_MAX];

	if (p->dir < 0 || p->tree == NULL) {
		return true;
	}
	if (beneath_real_path(p->dir, real, sizeof real) != 0 ||
	    !path_within(real, p->tree->source) ||
	    !path_rebase(real, p->tree->source, p->tree->target, at, sizeof at)) {
		return false;
	}
	bool same = streq(at, path_parent(p->path, parent) ? parent : "/");
	return same && (p->kind != PLACE_FILE || has_file(p));
}

int named_changed(const char *path, struct err *e) {
	return err_set(e, ERR_FILE, "files",
		       "%s kept changing while it was being resolved; nothing was done", path);
}

/* A slash behind a file or symlink; not for a hidden one, which access.h refuses in any case. */
static bool is_misnamed(const struct lens *v, const struct place *p, bool slash) {
	return slash && p->kind == PLACE_FILE && !S_ISDIR(p->st.st_mode) &&
	       plan_visibility(v->plan, p->path) != VISIBILITY_DENIED;
}

int named_find(const struct lens *v, const char *path, unsigned how, struct place *ret,
	       struct err *e) {
	char copy[PATH_MAX];
	bool slash = false;

	if (copy_path(path, copy, &slash, e) != 0) {
		return -1;
	}
	for (int again = 0; again < AGAIN_MAX; again++) {
		struct place p;
		if (place_find(v, copy, how | WALK_STAY, &p, e) != 0) {
			return -1;
		}
		bool held = named_holds(&p);
		if (held && !is_misnamed(v, &p, slash)) {
			*ret = p;
			return 0;
		}
		place_done(&p);
		if (held) {
			return place_failed(ENOTDIR, "resolve", path, e);
		}
	}
	return named_changed(path, e);
}
