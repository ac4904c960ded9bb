/* SPDX-License-Identifier: Apache-2.0 */
/* Shows a change of a settings file as a unified difference, and replaces the file atomically.
 *
 * Should:   keep the file's mode; refuse to replace a file that changed since it was read.
 * Must not: leave a part of a file: the new text is complete before the rename.
 * Fails:    closed: the old file stays. */
#include "agents/agents.h"

#include "base/auto.h"
#include "base/dirs.h"
#include "base/fd.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CONTEXT 3

/* The lines of a text: starts[n] is its end. */
struct lines {
	const char *data;
	size_t *starts;
	size_t n;
};

static bool lines_init(struct lines *l, const struct buf *text) {
	size_t n = 1;

	for (size_t i = 0; i < text->len; i++) {
		n += text->data[i] == '\n';
	}
	*l = (struct lines){text->data, calloc(n + 1, sizeof *l->starts), 0};
	if (l->starts == NULL) {
		return false;
	}
	for (size_t at = 0; at < text->len; l->n++) {
		const char *end = memchr(text->data + at, '\n', text->len - at);
		l->starts[l->n] = at;
		at = end == NULL ? text->len : (size_t)(end - text->data) + 1;
	}
	l->starts[l->n] = text->len;
	return true;
}

static bool same_line(const struct lines *a, size_t i, const struct lines *b, size_t k) {
	size_t n = a->starts[i + 1] - a->starts[i];
	return n == b->starts[k + 1] - b->starts[k] &&
	       memcmp(a->data + a->starts[i], b->data + b->starts[k], n) == 0;
}

static void put_lines(struct buf *out, char mark, const struct lines *l, size_t from, size_t to) {
	for (size_t i = from; i < to; i++) {
		size_t n = l->starts[i + 1] - l->starts[i];
		bool whole = n > 0 && l->data[l->starts[i] + n - 1] == '\n';
		auto_free char *line = strndup(l->data + l->starts[i], whole ? n - 1 : n);
		if (line != NULL) {
			str_hide_controls(line, false);
			buf_printf(out, "%c%s\n", mark, line);
		}
	}
}

/* The part between the first and the last line that differ, as one hunk. */
static void put_hunk(struct buf *out, const struct lines *a, const struct lines *b) {
	size_t head = 0, tail = 0;

	while (head < a->n && head < b->n && same_line(a, head, b, head)) {
		head++;
	}
	while (tail < a->n - head && tail < b->n - head &&
	       same_line(a, a->n - 1 - tail, b, b->n - 1 - tail)) {
		tail++;
	}
	size_t from = head > CONTEXT ? head - CONTEXT : 0;
	size_t more = tail < CONTEXT ? tail : CONTEXT;
	buf_printf(out, "@@ -%zu,%zu +%zu,%zu @@\n", from + (a->n > 0), a->n - tail + more - from,
		   from + (b->n > 0), b->n - tail + more - from);
	put_lines(out, ' ', a, from, head);
	put_lines(out, '-', a, head, a->n - tail);
	put_lines(out, '+', b, head, b->n - tail);
	put_lines(out, ' ', a, a->n - tail, a->n - tail + more);
}

void change_print(const struct change *c, struct buf *out) {
	struct lines a = {NULL, NULL, 0}, b = {NULL, NULL, 0};
	auto_free char *path = strdup(c->path);

	if (path != NULL && lines_init(&a, &c->before) && lines_init(&b, &c->after)) {
		str_hide_controls(path, false);
		buf_printf(out, "--- %s\n+++ %s\n", c->missing ? "/dev/null" : path, path);
		put_hunk(out, &a, &b);
	} else {
		out->failed = true;
	}
	free(a.starts);
	free(b.starts);
}

static bool is_unchanged(const struct change *c) {
	struct buf now;

	buf_init(&now);
	int rc = fd_read_file(c->path, c->before.len + 1, &now);
	bool same = c->missing ? rc != 0 && errno == ENOENT
			       : rc == 0 && now.len == c->before.len &&
					 (now.len == 0 ||
					  memcmp(now.data, c->before.data, now.len) == 0);
	buf_done(&now);
	return same;
}

/* Writes the new file beside the old one. */
static int write_beside(const struct change *c, const char *path, struct err *e) {
	struct stat old;
	mode_t mode = stat(c->path, &old) == 0 ? old.st_mode & 0777 : 0600;

	auto_fd fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0) {
		return err_sys_at(e, "agents", "cannot create", path);
	}
	if (fchmod(fd, mode) != 0 || fd_write_all(fd, c->after.data, c->after.len) != 0 ||
	    fsync(fd) != 0) {
		return err_sys_at(e, "agents", "cannot write", path);
	}
	return 0;
}

static int replace(const struct change *c, const char *beside, struct err *e) {
	if (!is_unchanged(c)) {
		(void)err_set(e, ERR_USAGE, "agents",
			      "%.300s changed while it was being edited; nothing was written",
			      c->path);
		return err_fix(e, "run the command again");
	}
	if (rename(beside, c->path) != 0) {
		return err_sys_at(e, "agents", "cannot replace", c->path);
	}
	return 0;
}

int change_write(const struct change *c, struct err *e) {
	char beside[PATH_MAX], failed[PATH_MAX];

	if (dirs_make_parents(c->path, failed) != 0) {
		return err_sys_at(e, "agents", "cannot create the directory", failed);
	}
	int n = snprintf(beside, sizeof beside, "%s.corral-%ld", c->path, (long)getpid());
	if (n < 0 || n >= (int)sizeof beside) {
		return err_set(e, ERR_USAGE, "agents", "the path of the settings is too long");
	}
	int rc = write_beside(c, beside, e);
	if (rc == 0) {
		rc = replace(c, beside, e);
	}
	if (rc != 0 && e->sys != EEXIST) {
		(void)unlink(beside); /* it is of this process, or does not exist */
	}
	return rc;
}
