/* SPDX-License-Identifier: Apache-2.0 */
/* Rewrites the head of a proxy request for the origin server.
 *
 * Should:   copy the end-to-end fields unchanged and in order.
 * Must not: forward fields for the proxy: an origin never receives Proxy-Authorization.
 * Fails:    closed: a head that does not fit is not sent in part. */
#include "net/http.h"

#include "base/auto.h"
#include "net/http_fields.h"

#include <string.h>

/* The limit of http_head_read(). */
#define OPTIONS_MAX 32

struct out {
	uint8_t *at;
	size_t len, cap;
	bool full;
};

static void append(struct out *s, struct http_span text) {
	if (s->full || text.len > s->cap - s->len) {
		s->full = true;
		return;
	}
	memcpy(s->at + s->len, text.at, text.len);
	s->len += text.len;
}

static void append_text(struct out *s, const char *text) {
	append(s, (struct http_span){(const uint8_t *)text, strlen(text)});
}

/* The options of Connection, and whether there is a Host. */
struct options {
	struct http_span named[OPTIONS_MAX];
	size_t count;
	bool host;
};

static void add_options(struct options *o, struct http_span list) {
	struct http_span option;
	while (http_list_next(&list, &option)) {
		if (o->count < OPTIONS_MAX) {
			o->named[o->count++] = option;
		}
	}
}

static void read_options(struct http_span fields, struct options *o) {
	struct http_span line;
	struct field f;
	while (http_line_next(&fields, &line) && http_field_read(line, &f)) {
		o->host = o->host || http_span_is(f.name, "host");
		if (http_span_is(f.name, "connection")) {
			add_options(o, f.value);
		}
	}
}

static bool is_end_to_end(struct http_span name, const struct options *o) {
	static const char *const hop_by_hop[] = {"connection", "keep-alive", "te", "trailer",
						 "upgrade"};
	for (size_t i = 0; i < ARRAY_LEN(hop_by_hop); i++) {
		if (http_span_is(name, hop_by_hop[i])) {
			return false;
		}
	}
	for (size_t i = 0; i < o->count; i++) {
		if (http_spans_same(name, o->named[i])) {
			return false;
		}
	}
	return !http_span_begins(name, "proxy-");
}

/* Splits "http://AUTHORITY/PATH". */
static void split_absolute(struct http_span target, struct http_span *ret_authority,
			   struct http_span *ret_path) {
	const size_t scheme = strlen("http://");
	size_t end = scheme;
	while (end < target.len && target.at[end] != '/' && target.at[end] != '?') {
		end++;
	}
	*ret_authority = (struct http_span){target.at + scheme, end - scheme};
	*ret_path = (struct http_span){target.at + end, target.len - end};
}

/* The target in origin form; RFC 9112, 3.2.4 for OPTIONS without a path. */
static void append_target(struct out *s, struct http_span method, struct http_span path) {
	if (path.len == 0 && http_span_is(method, "OPTIONS")) {
		append_text(s, "*");
	} else if (path.len == 0 || path.at[0] == '?') {
		append_text(s, "/");
	}
	append(s, path);
}

/* The request line; *ret_fields: the lines after it. */
static void append_request(struct out *s, const uint8_t *data, const struct http_head *head,
			   struct http_span *ret_fields, struct http_span *ret_authority) {
	struct http_span rest = {data, head->len}, line = {0};
	struct http_span target = {data + head->target, head->target_len};
	while (http_line_next(&rest, &line) && line.len == 0) {
	}
	struct http_span method = {line.at, (size_t)(target.at - line.at) - 1};
	append(s, method);
	append_text(s, " ");
	if (head->form == HTTP_ABSOLUTE) {
		struct http_span path;
		split_absolute(target, ret_authority, &path);
		append_target(s, method, path);
	} else {
		append(s, target);
	}
	append_text(s, head->minor == 0 ? " HTTP/1.0\r\n" : " HTTP/1.1\r\n");
	*ret_fields = rest;
}

static void append_fields(struct out *s, struct http_span fields, const struct options *o) {
	struct http_span line;
	struct field f;
	while (http_line_next(&fields, &line) && http_field_read(line, &f)) {
		if (is_end_to_end(f.name, o)) {
			append(s, line);
			append_text(s, "\r\n");
		}
	}
	/* The next request may be for another host: it needs another connection. */
	append_text(s, "Connection: close\r\n\r\n");
}

size_t http_head_forward(const uint8_t *data, const struct http_head *head, uint8_t *out,
			 size_t cap) {
	struct out s = {.cap = cap};
	struct options o = {0};
	struct http_span fields, authority = {0};
	if (head->form == HTTP_AUTHORITY) {
		return 0; /* CONNECT is not forwarded */
	}
	s.at = out;
	append_request(&s, data, head, &fields, &authority);
	read_options(fields, &o);
	if (!o.host && authority.len > 0) {
		append_text(&s, "Host: ");
		append(&s, authority);
		append_text(&s, "\r\n");
	}
	append_fields(&s, fields, &o);
	return s.full ? 0 : s.len;
}
