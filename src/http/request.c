/* SPDX-License-Identifier: Apache-2.0 */
/* Reads one HTTP/1 request.
 *
 * Should:   give the same result for the same bytes, however they are segmented.
 * Must not: keep more than a head of HTTP_HEAD_MAX and a body of the accepted length (X2); take a
 *           byte of the next request.
 * Fails:    closed, with a status and the reason. */
#include "http/request.h"

#include "base/auto.h"

#include <string.h>

void http_reader_init(struct http_reader *r) {
	*r = (struct http_reader){.state = READER_HEAD};
	buf_init(&r->head);
	buf_init(&r->body);
}

void http_reader_done(struct http_reader *r) {
	buf_done(&r->head);
	buf_done(&r->body);
}

void http_reader_reset(struct http_reader *r) {
	http_reader_done(r);
	http_reader_init(r);
}

size_t http_reader_size(const struct http_reader *r) {
	return r->head.cap + r->body.cap;
}

static enum http_event refuse(struct http_reader *r, int status, const char *why) {
	r->state = READER_BAD;
	r->status = status;
	r->why = why;
	return HTTP_EVENT_BAD;
}

/* ---- the head ---- */

static void split_target(struct http_request *q, const uint8_t *data) {
	struct http_span target = {data + q->head.target, q->head.target_len};
	const uint8_t *mark = target.len == 0 ? NULL : memchr(target.at, '?', target.len);

	q->path = target;
	q->query = (struct http_span){target.at + target.len, 0};
	if (mark != NULL) {
		q->path.len = (size_t)(mark - target.at);
		q->query.at = mark + 1;
		q->query.len = target.len - q->path.len - 1;
	}
}

/* The parser has accepted the head, so every part is there. */
static void split_head(struct http_request *q, const uint8_t *data) {
	struct http_span rest = {data, q->head.len}, line = {data, 0};

	while (line.len == 0 && http_line_next(&rest, &line)) {
	}
	q->fields = rest;
	size_t len = 0;
	while (len < line.len && line.at[len] != ' ') {
		len++;
	}
	q->method = (struct http_span){line.at, len};
	split_target(q, data);
}

static enum http_event head_complete(struct http_reader *r) {
	struct http_request *q = &r->request;

	split_head(q, (const uint8_t *)r->head.data);
	if (q->head.form != HTTP_ORIGIN) {
		return refuse(r, 400, "the request target has to be a path");
	}
	r->framing = q->head.body;
	r->state = READER_WAIT;
	return HTTP_EVENT_HEAD;
}

/* The parser reads the head from its beginning each time: a head that comes byte by byte costs the
 * square of its length, so it is called only when a line ends. */
static enum http_event feed_head(struct http_reader *r, const char *data, size_t len,
				 size_t *ret_used) {
	size_t had = r->head.len;
	size_t room = HTTP_HEAD_MAX > had ? HTTP_HEAD_MAX - had : 0;
	size_t take = len < room ? len : room;
	const char *why = NULL;
	int status = 0;

	*ret_used = 0;
	buf_add(&r->head, data, take);
	if (buf_failed(&r->head)) {
		return refuse(r, 503, "out of memory");
	}
	*ret_used = take;
	if (take > 0 && memchr(data, '\n', take) == NULL && r->head.len < HTTP_HEAD_MAX) {
		return HTTP_EVENT_MORE;
	}
	switch (http_head_read((const uint8_t *)r->head.data, r->head.len, &r->request.head,
			       &status, &why)) {
	case SNIFF_MORE:
		return take == len ? HTTP_EVENT_MORE
				   : refuse(r, 431, "the request head is longer than 64 KiB");
	case SNIFF_DONE:
		/* The bytes after the head are the caller's again; it had none before. */
		*ret_used = r->request.head.len - had;
		r->head.len = r->request.head.len;
		return head_complete(r);
	case SNIFF_BAD:
		break;
	}
	return refuse(r, status, why);
}

/* ---- the body ---- */

static enum http_event body_complete(struct http_reader *r) {
	r->request.body = r->body.len == 0 ? "" : r->body.data;
	r->request.body_len = r->body.len;
	r->state = READER_DONE;
	return HTTP_EVENT_DONE;
}

static enum http_event too_long(struct http_reader *r) {
	return refuse(r, 413, "the body of the request is too long");
}

enum http_event http_reader_accept(struct http_reader *r, size_t body_max) {
	r->body_max = body_max;
	if (r->framing.kind == BODY_LENGTH && r->framing.left > body_max) {
		return too_long(r);
	}
	r->state = READER_BODY;
	return r->framing.kind == BODY_NONE ? body_complete(r) : HTTP_EVENT_MORE;
}

static bool is_complete(const struct http_reader *r) {
	struct http_body copy = r->framing;
	bool end = false;

	return http_body_take(&copy, (const uint8_t *)"", 0, &end) == 0 && end;
}

static enum http_event feed_body(struct http_reader *r, const char *data, size_t len,
				 size_t *ret_used) {
	enum http_piece piece;
	size_t at = 0;

	while (at < len && !is_complete(r)) {
		const uint8_t *from = (const uint8_t *)data + at;
		long n = http_body_next(&r->framing, from, len - at, &piece);
		if (n < 0) {
			return refuse(r, 400, "the chunks of the request are malformed");
		}
		if (piece == HTTP_PIECE_DATA && (size_t)n > r->body_max - r->body.len) {
			return too_long(r);
		}
		if (piece == HTTP_PIECE_DATA) {
			buf_add(&r->body, from, (size_t)n);
		}
		at += (size_t)n;
	}
	*ret_used = at;
	if (buf_failed(&r->body)) {
		return refuse(r, 503, "out of memory");
	}
	return is_complete(r) ? body_complete(r) : HTTP_EVENT_MORE;
}

enum http_event http_reader_feed(struct http_reader *r, const char *data, size_t len,
				 size_t *ret_used) {
	*ret_used = 0;
	switch (r->state) {
	case READER_HEAD:
		return len == 0 ? HTTP_EVENT_MORE : feed_head(r, data, len, ret_used);
	case READER_WAIT:
		return HTTP_EVENT_HEAD;
	case READER_BODY:
		return feed_body(r, data, len, ret_used);
	case READER_DONE:
		return HTTP_EVENT_DONE;
	case READER_BAD:
		break;
	}
	return HTTP_EVENT_BAD;
}

/* ---- fields ---- */

/* The next field of the lines in *rest. */
static bool field_next(struct http_span *rest, struct field *ret) {
	struct http_span line;

	return http_line_next(rest, &line) && line.len > 0 && http_field_read(line, ret);
}

int http_request_field(const struct http_request *r, const char *name, struct http_span *ret) {
	struct http_span rest = r->fields;
	struct field f;
	int count = 0;

	while (field_next(&rest, &f)) {
		if (http_span_is(f.name, name)) {
			*ret = f.value;
			count++;
		}
	}
	return count > 1 ? -1 : count;
}

/* Without the parameters and the blanks before them. */
static struct http_span without_parameters(struct http_span s) {
	const uint8_t *mark = s.len == 0 ? NULL : memchr(s.at, ';', s.len);

	if (mark != NULL) {
		s.len = (size_t)(mark - s.at);
	}
	while (s.len > 0 && (s.at[s.len - 1] == ' ' || s.at[s.len - 1] == '\t')) {
		s.len--;
	}
	return s;
}

bool http_request_lists(const struct http_request *r, const char *name, const char *member,
			bool *ret_has) {
	struct http_span rest = r->fields, one;
	struct field f;
	bool has = false, found = false;

	while (field_next(&rest, &f)) {
		if (!http_span_is(f.name, name)) {
			continue;
		}
		has = true;
		while (http_list_next(&f.value, &one)) {
			found = found || http_span_is(without_parameters(one), member);
		}
	}
	if (ret_has != NULL) {
		*ret_has = has;
	}
	return found;
}

bool http_request_cookie(const struct http_request *r, const char *name, struct http_span *ret) {
	struct http_span rest;
	size_t len = strlen(name);
	int count = 0;

	if (http_request_field(r, "cookie", &rest) != 1) {
		return false;
	}
	while (rest.len > 0) {
		const uint8_t *end = memchr(rest.at, ';', rest.len);
		size_t pair = end == NULL ? rest.len : (size_t)(end - rest.at);
		if (pair > len && memcmp(rest.at, name, len) == 0 && rest.at[len] == '=') {
			*ret = (struct http_span){rest.at + len + 1, pair - len - 1};
			count++;
		}
		pair += end != NULL;
		rest.at += pair;
		rest.len -= pair;
		while (rest.len > 0 && rest.at[0] == ' ') {
			rest.at++;
			rest.len--;
		}
	}
	return count == 1;
}
