/* SPDX-License-Identifier: Apache-2.0 */
/* Splits a path into its components, and replaces a symlink by its target.
 *
 * Should:   follow the kernel's rules: at most 40 symlinks, components of at most NAME_MAX bytes,
 *           a trailing slash requires a directory.
 * Must not: make a system call or allocate: the broker runs it between two system calls of a
 *           caller.
 * Fails:    closed, with -errno. */
#include "base/path_cursor.h"

#include "base/path.h"

#include <errno.h>
#include <string.h>

int path_cursor_begin(struct path_cursor *c, const char *path) {
	size_t len = strlen(path);

	if (len >= sizeof c->rest) {
		return -ENAMETOOLONG;
	}
	memcpy(c->rest, path, len + 1);
	c->name[0] = '\0';
	c->last = true;
	c->slash = false;
	c->links = 0;
	return 0;
}

int path_cursor_next(struct path_cursor *c) {
	const char *from = c->rest + strspn(c->rest, "/");
	size_t len = strcspn(from, "/");

	if (len == 0) {
		return 0;
	}
	if (len > NAME_MAX) {
		return -ENAMETOOLONG;
	}
	memcpy(c->name, from, len);
	c->name[len] = '\0';
	const char *after = from + len;
	c->slash = *after == '/';
	after += strspn(after, "/");
	c->last = *after == '\0';
	memmove(c->rest, after, strlen(after) + 1);
	return 1;
}

bool path_cursor_at_dots(const struct path_cursor *c) {
	return path_is_dots(c->name, strlen(c->name));
}

bool path_cursor_needs_dir(const struct path_cursor *c) {
	return !c->last || c->slash;
}

int path_cursor_count_link(struct path_cursor *c) {
	return ++c->links > PATH_CURSOR_LINKS ? -ELOOP : 0;
}

/* slash: one follows the path, even if the rest is empty. */
static int prepend(struct path_cursor *c, const char *path, bool slash) {
	size_t n = strlen(path), rest = strlen(c->rest);

	if (n + rest + 2 > sizeof c->rest) {
		return -ENAMETOOLONG;
	}
	memmove(c->rest + n + 1, c->rest, rest + 1);
	memcpy(c->rest, path, n);
	c->rest[n] = slash ? '/' : '\0';
	return 0;
}

int path_cursor_splice(struct path_cursor *c, const char *target) {
	/* At the end of the path, the target's own end decides about a trailing slash. */
	return target[0] == '\0' ? -ENOENT : prepend(c, target, path_cursor_needs_dir(c));
}

int path_cursor_prepend(struct path_cursor *c, const char *path) {
	return prepend(c, path, true);
}
