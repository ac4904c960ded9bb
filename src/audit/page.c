/* SPDX-License-Identifier: Apache-2.0 */
/* One page of the audit log, the newest record first.
 *
 * Should:   read only as much of the log as the page needs: backwards, in pieces.
 * Must not: hold the lock of the log, or go on after its time is over.
 * Fails:    with an error when a file cannot be read; a file that is gone ends the log. */
#include "audit/print.h"

#include "audit/bytes.h"
#include "base/auto.h"
#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PIECE ((size_t)64 * 1024)
/* A record is bounded (record.c); a longer line is not one. */
#define PIECE_MAX ((size_t)4 * 1024 * 1024)
#define LINES_PER_LOOK 64 /* at the clock */

/* ---- backwards ---- */

struct back {
	char *data;
	size_t cap;
	struct audit_cursor *at;
	audit_line_fn *line;
	void *arg;
};

/* The piece that ends at the cursor; the number of its bytes, or -1. */
static ssize_t read_before(struct back *b, int fd) {
	size_t want = b->at->at < b->cap ? (size_t)b->at->at : b->cap, len = 0;

	while (len < want) {
		ssize_t n = pread(fd, b->data + len, want - len, (off_t)(b->at->at - want + len));
		if (n <= 0) {
			return n < 0 ? -1 : 0; /* a writer has shortened the file */
		}
		len += (size_t)n;
	}
	return (ssize_t)len;
}

/* The lines of a piece of which the first byte is the beginning of a line, or its end one byte
 * before.  Bytes after the last newline are no line. */
static int lines_back(struct back *b, size_t len, bool whole) {
	const char *end = bytes_last(b->data, '\n', len);
	int rc = 0;

	if (end != NULL) {
		b->at->at -= (uint64_t)(b->data + len - (end + 1));
	} else if (whole) {
		b->at->at = 0;
	}
	while (rc == 0 && end != NULL) {
		const char *before = bytes_last(b->data, '\n', (size_t)(end - b->data));
		if (before == NULL && !whole) {
			break;
		}
		const char *begin = before == NULL ? b->data : before + 1;
		struct audit_line l = {begin, (size_t)(end - begin)};
		b->at->at -= l.len + 1;
		rc = b->line(b->arg, &l, b->at);
		end = before;
	}
	return rc;
}

static int grow(struct back *b, struct err *e) {
	size_t cap = b->cap == 0 ? PIECE : b->cap * 2;
	char *more = cap > PIECE_MAX ? NULL : realloc(b->data, cap);

	if (more == NULL) {
		return err_memory(e, AUDIT_WHERE);
	}
	b->data = more;
	b->cap = cap;
	return 0;
}

static int file_back(struct back *b, int fd, const char *path, struct err *e) {
	int rc = 0;

	while (rc == 0 && b->at->at > 0) {
		uint64_t before = b->at->at;
		ssize_t len = read_before(b, fd);
		if (len < 0) {
			return err_sys_at(e, AUDIT_WHERE, "cannot read the audit log", path);
		}
		if (len == 0) {
			return 0;
		}
		rc = lines_back(b, (size_t)len, (uint64_t)len == before);
		if (rc == 0 && b->at->at == before) {
			rc = grow(b, e);
		}
	}
	return rc;
}

int audit_each_line_back(const char *dir, struct audit_cursor *from, audit_line_fn *line, void *arg,
			 struct err *e) {
	struct back b = {.at = from, .line = line, .arg = arg};
	uint64_t first = 0, last = 0;
	char path[PATH_MAX];
	bool whole = from->file == 0;
	int rc = 0;

	if (!audit_find_files(dir, &first, &last)) {
		return 0;
	}
	if (whole || from->file > last) {
		from->file = last;
		whole = true;
	}
	rc = grow(&b, e);
	for (; rc == 0 && from->file >= first && audit_file_path(dir, from->file, path);
	     from->file--, whole = true) {
		auto_fd fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		struct stat st;
		if (fd < 0 && errno == ENOENT) {
			break;
		}
		if (fd < 0 || fstat(fd, &st) != 0) {
			rc = err_sys_at(e, AUDIT_WHERE, "cannot read the audit log", path);
			break;
		}
		from->at =
			whole || from->at > (uint64_t)st.st_size ? (uint64_t)st.st_size : from->at;
		rc = file_back(&b, fd, path, e);
		if (rc != 0 || from->file == 0) {
			break;
		}
	}
	free(b.data);
	return rc;
}

bool audit_cursor_read(const char *text, struct audit_cursor *ret) {
	char *end = NULL;

	if (text[0] < '1' || text[0] > '9') {
		return false;
	}
	errno = 0;
	uint64_t file = strtoull(text, &end, 10);
	if (errno != 0 || end[0] != '.' || end[1] < '0' || end[1] > '9') {
		return false;
	}
	uint64_t at = strtoull(end + 1, &end, 10);
	if (errno != 0 || *end != '\0') {
		return false;
	}
	*ret = (struct audit_cursor){.file = file, .at = at};
	return true;
}

/* ---- a page ---- */

struct paging {
	const struct audit_page *p;
	struct audit_filter filter;
	struct emit j;
	uint64_t found, lines;
	struct audit_cursor at; /* of the last line that was looked at */
	bool full, cut;
};

static int on_line(void *arg, const struct audit_line *l, const struct audit_cursor *where) {
	struct paging *s = arg;
	struct audit_fields f;

	if (s->found == s->p->limit) {
		s->full = true;
		return 1;
	}
	if (s->p->until != 0 && ++s->lines % LINES_PER_LOOK == 0 && clock_ms() >= s->p->until) {
		s->cut = true;
		return 1;
	}
	s->at = *where;
	if (audit_filter_line(&s->filter, l, AUDIT_TIME, &f)) {
		/* A line that was edited may be anything: only JSON becomes a part of JSON. */
		json_t *record = json_loadb(l->text, l->len, 0, NULL);
		if (record != NULL) {
			emit_raw(&s->j, NULL, l->text, l->len);
			s->found++;
		}
		json_decref(record);
		return 0;
	}
	return audit_filter_ends(&s->filter, &f) ? 1 : 0;
}

int audit_page(const struct audit_page *p, const struct audit_query *q, struct buf *out,
	       struct err *e) {
	struct paging s = {.p = p, .at = p->before};
	struct audit_cursor from = p->before;
	char next[48];

	if (audit_filter_init(&s.filter, q, e) != 0) {
		return -1;
	}
	emit_init(&s.j, out, false);
	emit_object(&s.j, NULL);
	emit_array(&s.j, "records");
	int rc = audit_each_line_back(p->dir, &from, on_line, &s, e);
	emit_end_array(&s.j);
	(void)snprintf(next, sizeof next, "%" PRIu64 ".%" PRIu64, s.at.file, s.at.at);
	emit_string(&s.j, "next", s.full || s.cut ? next : NULL);
	emit_bool(&s.j, "complete", !s.cut);
	emit_end_object(&s.j);
	audit_filter_done(&s.filter);
	return rc < 0 ? -1 : 0;
}
