/* SPDX-License-Identifier: Apache-2.0 */
/* Lexical operations on absolute paths.
 *
 * Should:   compare whole components.
 * Must not: touch the file system: symlinks are resolved elsewhere.
 * Fails:    with NULL or false for a path that is not absolute or too long. */
#include "base/path.h"

#include <string.h>

static bool is_root(const char *path) {
	return path[0] == '/' && path[1] == '\0';
}

/* A plan makes thousands of these comparisons, and most end in the first component. */
bool path_within(const char *path, const char *dir) {
	if (is_root(dir)) {
		return true;
	}
	while (*dir != '\0' && *dir == *path) {
		dir++;
		path++;
	}
	return *dir == '\0' && (*path == '\0' || *path == '/');
}

const char *path_rest(const char *path, const char *dir) {
	return is_root(dir) ? path + is_root(path) : path + strlen(dir);
}

/* Nothing of "/", if more follows, which begins with a slash. */
static size_t head_length(const char *to, const char *rest) {
	return is_root(to) && *rest != '\0' ? 0 : strlen(to);
}

bool path_rebase(const char *path, const char *dir, const char *to, char *out, size_t cap) {
	const char *rest = path_rest(path, dir);
	size_t head = head_length(to, rest), tail = strlen(rest) + 1;

	if (head + tail > cap) {
		return false;
	}
	memcpy(out, to, head);
	memcpy(out + head, rest, tail);
	return true;
}

bool path_is_dots(const char *name, size_t len) {
	return name[0] == '.' && (len == 1 || (len == 2 && name[1] == '.'));
}

bool path_has_dots(const char *path) {
	for (const char *p = path; *p != '\0';) {
		p += strspn(p, "/");
		size_t len = strcspn(p, "/");
		if (path_is_dots(p, len)) {
			return true;
		}
		p += len;
	}
	return false;
}

bool path_is_normal(const char *path) {
	if (path[0] != '/' || path[1] == '\0') {
		return false;
	}
	for (const char *p = path; *p != '\0';) {
		size_t len = strcspn(++p, "/");
		if (len == 0 || path_is_dots(p, len)) {
			return false;
		}
		p += len;
	}
	return true;
}

bool path_push(char *path, size_t cap, const char *name) {
	size_t at = strlen(path), len = strlen(name);

	if (at + len + 2 > cap) {
		return false;
	}
	path[at] = '/';
	memcpy(path + at + 1, name, len + 1);
	return true;
}

void path_pop(char *path) {
	char *slash = strrchr(path, '/');
	if (slash != NULL) {
		*slash = '\0';
	}
}

void path_normalize(const char *path, char *out) {
	size_t len = 0;

	for (const char *p = path; *p != '\0';) {
		while (*p == '/') {
			p++;
		}
		size_t n = strcspn(p, "/");
		if (n == 2 && p[0] == '.' && p[1] == '.') {
			while (len > 0 && out[--len] != '/') {
			}
		} else if (n > 0 && !(n == 1 && p[0] == '.')) {
			out[len++] = '/';
			memmove(out + len, p, n); /* they may be the same text */
			len += n;
		}
		p += n;
	}
	if (len == 0) {
		out[len++] = '/';
	}
	out[len] = '\0';
}

char *path_normal(struct arena *a, const char *path) {
	char *out = path[0] == '/' ? arena_alloc(a, strlen(path) + 2) : NULL;

	if (out != NULL) {
		path_normalize(path, out);
	}
	return out;
}

char *path_join(struct arena *a, const char *dir, const char *rest) {
	if (rest[0] == '/') {
		return path_normal(a, rest);
	}
	size_t head = strlen(dir), tail = strlen(rest);
	char *both = arena_alloc(a, head + tail + 2);
	if (both == NULL) {
		return NULL;
	}
	memcpy(both, dir, head); /* NOLINT(bugprone-not-null-terminated-result): the rest follows */
	both[head] = '/';
	memcpy(both + head + 1, rest, tail + 1);
	return path_normal(a, both);
}

size_t path_depth(const char *path) {
	size_t depth = 0;
	for (const char *p = path; *p != '\0'; p++) {
		if (*p == '/' && p[1] != '\0') {
			depth++;
		}
	}
	return depth;
}

int path_order(const char *a, const char *b) {
	while (*a != '\0' && *a == *b) {
		a++;
		b++;
	}
	int left = *a == '/' ? 1 : (unsigned char)*a + (*a != '\0');
	int right = *b == '/' ? 1 : (unsigned char)*b + (*b != '\0');
	return left - right;
}

bool path_parent(const char *path, char out[PATH_MAX]) {
	const char *slash = strrchr(path, '/');
	size_t len = slash == NULL ? 0 : (size_t)(slash - path);
	if (len == 0 || len >= PATH_MAX) {
		return false;
	}
	memcpy(out, path, len);
	out[len] = '\0';
	return true;
}
