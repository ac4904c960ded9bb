/* SPDX-License-Identifier: Apache-2.0 */
/* Writes responses and event streams into the queue of a connection.
 *
 * Should:   make every response complete in itself: a length, chunks, or the end of the connection.
 * Must not: let a value of a request into a header.
 * Fails:    out of memory, by ending the connection. */
#include "http/connection.h"

#include "base/auto.h"
#include "base/clock.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const struct {
	int status;
	const char *reason;
} reasons[] = {
	{200, "OK"},
	{202, "Accepted"},
	{303, "See Other"},
	{400, "Bad Request"},
	{401, "Unauthorized"},
	{403, "Forbidden"},
	{404, "Not Found"},
	{405, "Method Not Allowed"},
	{406, "Not Acceptable"},
	{408, "Request Timeout"},
	{409, "Conflict"},
	{413, "Content Too Large"},
	{415, "Unsupported Media Type"},
	{417, "Expectation Failed"},
	{429, "Too Many Requests"},
	{431, "Request Header Fields Too Large"},
	{500, "Internal Server Error"},
	{503, "Service Unavailable"},
	{505, "HTTP Version Not Supported"},
};

static const char *reason_of(int status) {
	for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
		if (reasons[i].status == status) {
			return reasons[i].reason;
		}
	}
	return "Error";
}

const struct http_request *http_exchange_request(const struct http_exchange *x) {
	return &x->reader.request;
}

void http_exchange_set(struct http_exchange *x, void *data) {
	x->data = data;
}

void *http_exchange_data(const struct http_exchange *x) {
	return x->data;
}

void http_exchange_field(struct http_exchange *x, const char *name, const char *value) {
	assert(strpbrk(value, "\r\n") == NULL);
	buf_printf(&x->fields, "%s: %s\r\n", name, value);
}

size_t http_exchange_queued(const struct http_exchange *x) {
	return x->out.len - x->sent;
}

static void wrote(struct http_exchange *x) {
	int64_t now = clock_ms();

	x->write_since = x->write_since == 0 ? now : x->write_since;
	x->event_at = now;
	x->server->dirty = true;
}

/* nosniff: a browser must not take a text for a page. */
static void put_head(struct http_exchange *x, int status) {
	buf_printf(
		&x->out,
		"HTTP/1.1 %d %s\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n",
		status, reason_of(status));
	buf_add(&x->out, x->fields.data == NULL ? "" : x->fields.data, x->fields.len);
	if (x->close) {
		buf_puts(&x->out, "Connection: close\r\n");
	}
	buf_done(&x->fields);
	buf_init(&x->fields);
}

static void complete(struct http_exchange *x) {
	x->phase = PHASE_WRITE;
	x->since = clock_ms();
	wrote(x);
}

void http_exchange_reply(struct http_exchange *x, int status, const char *content_type,
			 const char *body, size_t len) {
	x->close = x->close || x->reader.request.head.minor == 0;
	put_head(x, status);
	if (content_type != NULL) {
		buf_printf(&x->out, "Content-Type: %s\r\n", content_type);
	}
	buf_printf(&x->out, "Content-Length: %zu\r\n\r\n", len);
	if (!http_span_exactly(x->reader.request.method, "HEAD")) {
		buf_add(&x->out, body == NULL ? "" : body, len);
	}
	complete(x);
}

void http_exchange_events(struct http_exchange *x) {
	x->stream = true;
	x->chunked = x->reader.request.head.minor == 1;
	x->close = x->close || !x->chunked;
	put_head(x, 200);
	buf_puts(&x->out, "Content-Type: text/event-stream\r\nX-Accel-Buffering: no\r\n");
	buf_puts(&x->out, x->chunked ? "Transfer-Encoding: chunked\r\n\r\n" : "\r\n");
	wrote(x);
}

bool http_exchange_has_events(const struct http_exchange *x) {
	return x->stream;
}

void http_exchange_event(struct http_exchange *x, const char *data, size_t len) {
	http_exchange_event_as(x, NULL, data, len);
}

void http_exchange_event_as(struct http_exchange *x, const char *id, const char *data, size_t len) {
	static const char after[] = "\n\n";
	char before[96];
	int n = snprintf(before, sizeof before, "%s%.40s%sevent: message\ndata:%s",
			 id == NULL ? "" : "id: ", id == NULL ? "" : id, id == NULL ? "" : "\n",
			 len == 0 ? "" : " ");

	if (x->chunked) {
		buf_printf(&x->out, "%zx\r\n", len + (size_t)n + sizeof after - 1);
	}
	buf_puts(&x->out, before);
	buf_add(&x->out, data, len);
	buf_puts(&x->out, after);
	buf_puts(&x->out, x->chunked ? "\r\n" : "");
	wrote(x);
}

void http_exchange_end(struct http_exchange *x) {
	buf_puts(&x->out, x->chunked ? "0\r\n\r\n" : "");
	complete(x);
}
