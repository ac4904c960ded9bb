/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the files of the audit log and gives their lines, filtered.
 *
 * Should:   read a million records in less than a second: pieces that stay in the processor's
 *           cache, and a filter that looks at the first members only.
 * Must not: hold the lock of the log: a writer never waits for a reader.
 * Fails:    with an error when a file cannot be read; a file that is gone is skipped, `verify`
 *           reports it. */
#include "audit/read.h"

#include "audit/bytes.h"
#include "base/auto.h"
#include "base/emit.h"
#include "base/rfc3339.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* ---- filters ---- */

enum { BY_ID, BY_SESSION, BY_AGENT, BY_VERDICT, BY_PATH, BY_HOST, BY_KIND, BY_SEARCH };

/* The text as it is in a line, without quotes. */
static void escape(const char *text, struct buf *ret) {
	struct emit j;

	buf_init(ret);
	if (text == NULL) {
		return;
	}
	emit_init(&j, ret, false);
	emit_string(&j, NULL, text);
	if (!buf_failed(ret)) {
		ret->len -= 2;
		memmove(ret->data, ret->data + 1, ret->len);
		ret->data[ret->len] = '\0';
	}
}

int audit_filter_init(struct audit_filter *f, const struct audit_query *q, struct err *e) {
	const char *const texts[ARRAY_LEN(f->texts)] = {
		[BY_ID] = q->id,           [BY_SESSION] = q->session, [BY_AGENT] = q->agent,
		[BY_VERDICT] = q->verdict, [BY_PATH] = q->path,       [BY_HOST] = q->host,
		[BY_KIND] = q->kind,       [BY_SEARCH] = q->search,
	};
	bool failed = false;

	*f = (struct audit_filter){.needs = q->path != NULL   ? AUDIT_WORKSPACE
					    : q->host != NULL ? AUDIT_COMMAND
							      : AUDIT_VERDICT};
	if (q->since_ms > 0) {
		rfc3339_text(q->since_ms, f->since);
	}
	if (q->until_ms > 0) {
		rfc3339_text(q->until_ms, f->until);
	}
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		escape(texts[i], &f->texts[i]);
		failed = failed || buf_failed(&f->texts[i]);
	}
	if (f->texts[BY_PATH].len > 1 && f->texts[BY_PATH].data[f->texts[BY_PATH].len - 1] == '/') {
		f->texts[BY_PATH].len--;
	}
	if (failed) {
		audit_filter_done(f);
		return err_memory(e, AUDIT_WHERE);
	}
	return 0;
}

void audit_filter_done(struct audit_filter *f) {
	for (size_t i = 0; i < ARRAY_LEN(f->texts); i++) {
		buf_done(&f->texts[i]);
	}
}

static bool is_text(const struct buf *want, struct audit_field has) {
	struct audit_field text = audit_unquote(has);
	return want->data == NULL ||
	       (text.len == want->len && memcmp(text.text, want->data, want->len) == 0);
}

static bool ends_with(const struct buf *want, struct audit_field has) {
	struct audit_field text = audit_unquote(has);
	return want->data == NULL ||
	       (text.len >= want->len &&
		memcmp(text.text + text.len - want->len, want->data, want->len) == 0);
}

/* The text itself, or a longer one with this separator after it. */
static bool is_within(const struct buf *want, struct audit_field has, char separator) {
	struct audit_field text = audit_unquote(has);
	return text.len >= want->len && memcmp(text.text, want->data, want->len) == 0 &&
	       (text.len == want->len || text.text[want->len] == separator ||
		(want->len == 1 && want->data[0] == separator));
}

static bool is_host(const struct buf *want, struct audit_field has) {
	struct audit_field text = audit_unquote(has);
	return want->data == NULL ||
	       (ends_with(want, has) &&
		(text.len == want->len || text.text[text.len - want->len - 1] == '.'));
}

static bool is_path(const struct buf *want, const struct audit_fields *fields) {
	static const enum audit_member paths[] = {AUDIT_PATH, AUDIT_CWD, AUDIT_WORKSPACE};

	for (size_t i = 0; want->data != NULL && i < ARRAY_LEN(paths); i++) {
		if (is_within(want, fields->at[paths[i]], '/')) {
			return true;
		}
	}
	return want->data == NULL;
}

static bool is_between(const struct audit_filter *f, struct audit_field time) {
	return !((f->since[0] != '\0' &&
		  (time.len != RFC3339_LENGTH || memcmp(time.text, f->since, time.len) < 0)) ||
		 (f->until[0] != '\0' &&
		  (time.len != RFC3339_LENGTH || memcmp(time.text, f->until, time.len) >= 0)));
}

bool audit_filter_passes(const struct audit_filter *f, const struct audit_fields *fields) {
	const struct buf *kind = &f->texts[BY_KIND];

	return is_between(f, audit_unquote(fields->at[AUDIT_TIME])) &&
	       ends_with(&f->texts[BY_ID], fields->at[AUDIT_ID]) &&
	       is_text(&f->texts[BY_SESSION], fields->at[AUDIT_SESSION]) &&
	       is_text(&f->texts[BY_AGENT], fields->at[AUDIT_AGENT]) &&
	       is_text(&f->texts[BY_VERDICT], fields->at[AUDIT_VERDICT]) &&
	       (kind->data == NULL || is_within(kind, fields->at[AUDIT_KIND], '.')) &&
	       is_host(&f->texts[BY_HOST], fields->at[AUDIT_HOST]) &&
	       is_path(&f->texts[BY_PATH], fields);
}

bool audit_filter_ends(const struct audit_filter *f, const struct audit_fields *fields) {
	struct audit_field time = audit_unquote(fields->at[AUDIT_TIME]);

	return f->since[0] != '\0' && time.len == RFC3339_LENGTH &&
	       memcmp(time.text, f->since, time.len) < 0;
}

/* The line without the hashes at its end, in which every short word of hexadecimal digits occurs.
 */
static size_t searched_length(const struct audit_line *l) {
	static const char policy[] = ",\"policy\":";
	size_t tail = l->len < 200 ? 0 : l->len - 200;
	const char *cut = memmem(l->text + tail, l->len - tail, policy, sizeof policy - 1);

	return cut == NULL ? l->len : (size_t)(cut - l->text);
}

static bool has_text(const struct buf *want, const struct audit_line *l) {
	size_t len = want->len == 0 ? 0 : searched_length(l);

	if (want->len == 0) {
		return true;
	}
	const char first = (char)(want->data[0] | 0x20);
	for (size_t i = 0; i + want->len <= len; i++) {
		if ((l->text[i] | 0x20) == first &&
		    strncasecmp(l->text + i, want->data, want->len) == 0) {
			return true;
		}
	}
	return false;
}

bool audit_filter_line(const struct audit_filter *f, const struct audit_line *l,
		       enum audit_member last, struct audit_fields *ret) {
	if (f->since[0] != '\0' || f->until[0] != '\0') {
		if (audit_fields_read(l, AUDIT_TIME, ret) != 0 ||
		    !is_between(f, audit_unquote(ret->at[AUDIT_TIME]))) {
			return false;
		}
	} else {
		*ret = (struct audit_fields){0};
	}
	return has_text(&f->texts[BY_SEARCH], l) && audit_fields_more(l, f->needs, ret) == 0 &&
	       audit_filter_passes(f, ret) &&
	       (last <= f->needs || audit_fields_more(l, last, ret) == 0);
}

/* ---- the files ---- */

/* Fits the second-level cache, with the lines that are printed. */
#define PIECE ((size_t)256 * 1024)

/* A pass through the files, with a part of one in memory that grows to the longest line.  Not a
 * mapping: a writer may shorten the file, and the reader would get SIGBUS. */
struct pass {
	char *data;
	size_t len, cap;
	struct audit_cursor *at;
	audit_line_fn *line;
	void *arg;
};

static int piece_grow(struct pass *p, struct err *e) {
	size_t cap = p->cap == 0 ? PIECE : p->cap * 2;
	char *more = realloc(p->data, cap);

	if (more == NULL) {
		return err_memory(e, AUDIT_WHERE);
	}
	p->data = more;
	p->cap = cap;
	return 0;
}

static int piece_read(struct pass *p, int fd) {
	p->len = 0;
	while (p->len < p->cap) {
		ssize_t n =
			pread(fd, p->data + p->len, p->cap - p->len, (off_t)(p->at->at + p->len));
		if (n <= 0) {
			return (int)n;
		}
		p->len += (size_t)n;
	}
	return 0;
}

/* The whole lines of the piece.  A line without newline is none: a writer is at work, or was
 * killed, or the piece is too short. */
static int piece_lines(struct pass *p) {
	size_t at = 0, len;
	int rc = 0;

	while (rc == 0 && (len = bytes_line_end(p->data + at, p->len - at)) < p->len - at) {
		struct audit_line l = {p->data + at, len};
		rc = p->line(p->arg, &l, p->at);
		at += len + 1;
		p->at->at += len + 1;
	}
	return rc;
}

/* Each piece begins with a line: a part of one at the end of a piece is read again, so a line is
 * never put together from before and after a writer shortened the file. */
static int read_file(struct pass *p, const char *path, struct err *e) {
	auto_fd fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	bool more;
	int rc = 0;

	if (fd < 0) {
		return errno == ENOENT
			       ? 0
			       : err_sys_at(e, AUDIT_WHERE, "cannot read the audit log", path);
	}
	do {
		uint64_t before = p->at->at;
		if (piece_read(p, fd) != 0) {
			return err_sys_at(e, AUDIT_WHERE, "cannot read the audit log", path);
		}
		rc = piece_lines(p);
		more = p->len == p->cap;
		if (rc == 0 && more && p->at->at == before) {
			rc = piece_grow(p, e);
		}
	} while (rc == 0 && more);
	return rc;
}

int audit_each_line(const char *dir, struct audit_cursor *from, audit_line_fn *line, void *arg,
		    struct err *e) {
	struct pass p = {.at = from, .line = line, .arg = arg};
	uint64_t first = 0, last = 0;
	char path[PATH_MAX];

	if (!audit_find_files(dir, &first, &last)) {
		return 0;
	}
	if (from->file < first) {
		*from = (struct audit_cursor){.file = first};
	}
	int rc = piece_grow(&p, e);
	while (rc == 0 && audit_file_path(dir, from->file, path)) {
		rc = read_file(&p, path, e);
		if (rc != 0 || from->file >= last) {
			break;
		}
		*from = (struct audit_cursor){.file = from->file + 1};
	}
	free(p.data);
	return rc;
}
