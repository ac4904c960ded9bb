/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the files and variables of this process with the marks of data/containers.c.
 *
 * Should:   read each file at most once for each mark; follow the order of the table.
 * Must not: decide anything about a run: a program can forge every mark.
 * Fails:    never: a file that cannot be read has no mark. */
#include "backend/container.h"

#include "base/buf.h"
#include "base/fd.h"
#include "base/str.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A table of mounts has some hundred lines at most in a container. */
#define FILE_MAX ((size_t)1024 * 1024)

/* The mount point, the fifth field of a line, and the text around it; false: not such a line. */
static bool split_mount(char *line, char **ret_before, char **ret_point, char **ret_after) {
	char *at = line;

	for (int field = 0; field < 4; field++) {
		at = strchr(at, ' ');
		if (at == NULL) {
			return false;
		}
		*at++ = field == 3 ? '\0' : ' ';
	}
	char *end = strchr(at, ' ');
	if (end == NULL) {
		return false;
	}
	*end++ = '\0';
	*ret_before = line;
	*ret_point = at;
	*ret_after = end;
	return true;
}

/* "/" is that mount alone: all others are below it. */
static bool at_place(const char *point, const char *place) {
	return streq(place, "/") ? streq(point, place) : str_starts(point, place);
}

static bool mounts_have(char *table, const struct container_mark *m) {
	char *rest = table, *line, *before, *point, *after;

	while ((line = strsep(&rest, "\n")) != NULL) {
		if (split_mount(line, &before, &point, &after) && at_place(point, m->place) &&
		    (strstr(before, m->text) != NULL || strstr(after, m->text) != NULL)) {
			return true;
		}
	}
	return false;
}

static bool file_has(const char *root, const struct container_mark *m) {
	char path[PATH_MAX];
	struct buf text;
	int n = snprintf(path, sizeof path, "%s%s", root, m->file);

	if (n < 0 || (size_t)n >= sizeof path) {
		return false;
	}
	if (m->text == NULL) {
		return access(path, F_OK) == 0;
	}
	buf_init(&text);
	bool found =
		fd_read_file(path, FILE_MAX, &text) == 0 && text.data != NULL &&
		(m->place == NULL ? strstr(text.data, m->text) != NULL : mounts_have(text.data, m));
	buf_done(&text);
	return found;
}

static bool variable_is(const char *const *env, const struct container_mark *m) {
	size_t len = strlen(m->variable);

	for (; env != NULL && *env != NULL; env++) {
		if (strncmp(*env, m->variable, len) == 0 && (*env)[len] == '=') {
			return m->text == NULL || streq(*env + len + 1, m->text);
		}
	}
	return false;
}

static const struct container_mark *first_mark(const char *root, const char *const *env,
					       const struct container_mark *marks, size_t n) {
	for (size_t i = 0; i < n; i++) {
		if (marks[i].file != NULL ? file_has(root, &marks[i])
					  : variable_is(env, &marks[i])) {
			return &marks[i];
		}
	}
	return NULL;
}

struct container container_find(const char *root, const char *const *env) {
	struct container c = {
		.mark = first_mark(root, env, container_marks, container_marks_count)};
	const struct container_mark *pod = first_mark(root, env, pod_marks, pod_marks_count);
	bool wsl = c.mark != NULL && c.mark->kind == CONTAINER_WSL;

	c.pod = pod != NULL;
	if (c.mark == NULL || (wsl && c.pod)) {
		c.mark = pod;
	}
	c.kind = c.mark == NULL ? CONTAINER_NONE : c.mark->kind;
	return c;
}

const char *container_name(const struct container *c, char out[64]) {
	if (c->kind == CONTAINER_NONE) {
		return NULL;
	}
	bool both = c->pod && c->kind != CONTAINER_POD;
	(void)snprintf(out, 64, "%s%s", both ? "kubernetes pod, " : "",
		       container_rows[c->kind].name); /* the names of the table fit */
	return out;
}

struct container_row container_flags(const struct container *c) {
	return c->pod && c->kind != CONTAINER_GVISOR ? pod_row : container_rows[c->kind];
}
