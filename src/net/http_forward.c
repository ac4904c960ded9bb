/* A head as a proxy passes it on.
 *
 * Should:   leave what is meant for the origin as the client wrote it, in its order.
 * Must not: pass on what was meant for the proxy: an origin never sees Proxy-Authorization.
 * Fails:    closed: a head that does not fit is not sent in part. */
#include "net/http.h"

#include "base/auto.h"
#include "net/http_fields.h"

#include <string.h>

/* As many as http_head_read() lets pass. */
#define OPTIONS_MAX 32

struct sheet {
	uint8_t *at;
	size_t len, cap;
	bool full;
};

static void put(struct sheet *s, struct http_span text) {
	if (s->full || text.len > s->cap - s->len) {
		s->full = true;
		return;
	}
	memcpy(s->at + s->len, text.at, text.len);
	s->len += text.len;
}

static void put_text(struct sheet *s, const char *text) {
	put(s, (struct http_span){(const uint8_t *)text, strlen(text)});
}

/* What Connection asks for. */
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

static bool goes_on(struct http_span name, const struct options *o) {
	static const char *const ours[] = {"connection", "keep-alive", "te", "trailer", "upgrade"};
	for (size_t i = 0; i < ARRAY_LEN(ours); i++) {
		if (http_span_is(name, ours[i])) {
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
static void put_target(struct sheet *s, struct http_span method, struct http_span path) {
	if (path.len == 0 && http_span_is(method, "OPTIONS")) {
		put_text(s, "*");
	} else if (path.len == 0 || path.at[0] == '?') {
		put_text(s, "/");
	}
	put(s, path);
}

/* The request's line; *ret_fields is what stands behind it. */
static void put_request(struct sheet *s, const uint8_t *data, const struct http_head *head,
			struct http_span *ret_fields, struct http_span *ret_authority) {
	struct http_span rest = {data, head->len}, line = {0};
	struct http_span target = {data + head->target, head->target_len};
	while (http_line_next(&rest, &line) && line.len == 0) {
	}
	struct http_span method = {line.at, (size_t)(target.at - line.at) - 1};
	put(s, method);
	put_text(s, " ");
	if (head->form == HTTP_ABSOLUTE) {
		struct http_span path;
		split_absolute(target, ret_authority, &path);
		put_target(s, method, path);
	} else {
		put(s, target);
	}
	put_text(s, head->minor == 0 ? " HTTP/1.0\r\n" : " HTTP/1.1\r\n");
	*ret_fields = rest;
}

static void put_fields(struct sheet *s, struct http_span fields, const struct options *o) {
	struct http_span line;
	struct field f;
	while (http_line_next(&fields, &line) && http_field_read(line, &f)) {
		if (goes_on(f.name, o)) {
			put(s, line);
			put_text(s, "\r\n");
		}
	}
	/* The next request may be for another host: it comes on another connection. */
	put_text(s, "Connection: close\r\n\r\n");
}

size_t http_head_forward(const uint8_t *data, const struct http_head *head, uint8_t *out,
			 size_t cap) {
	struct sheet s = {.cap = cap};
	struct options o = {0};
	struct http_span fields, authority = {0};
	if (head->form == HTTP_AUTHORITY) {
		return 0; /* CONNECT is answered here */
	}
	s.at = out;
	put_request(&s, data, head, &fields, &authority);
	read_options(fields, &o);
	if (!o.host && authority.len > 0) {
		put_text(&s, "Host: ");
		put(&s, authority);
		put_text(&s, "\r\n");
	}
	put_fields(&s, fields, &o);
	return s.full ? 0 : s.len;
}
