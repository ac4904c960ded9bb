/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of one connection to the HTTP server, one request after another.
 *
 * The result depends on the bytes alone, not on their segments; memory stays bounded by the head
 * and the accepted body; a request takes exactly its own bytes; nothing that a web page or a client
 * without a token can send passes the checks. */
#include "fuzz.h"

#include "http/check.h"

#define BODY_MAX ((size_t)512)
#define PORT 8080
#define REQUESTS_MAX 16

/* What was read, as one number. */
struct trace {
	uint64_t hash;
	size_t requests, used;
};

static void note(struct trace *t, const void *data, size_t len) {
	const uint8_t *at = data;

	for (size_t i = 0; i < len; i++) {
		t->hash = (t->hash ^ at[i]) * 1099511628211U;
	}
	t->hash = (t->hash ^ len) * 1099511628211U;
}

static bool within(struct http_span s, const struct buf *b) {
	const char *at = (const char *)s.at;
	return at >= b->data && at + s.len <= b->data + b->len;
}

static void request_is_right(const struct http_reader *r) {
	const struct http_request *q = &r->request;
	struct http_span value = {0};

	HOLDS(within(q->method, &r->head) && within(q->path, &r->head));
	HOLDS(within(q->query, &r->head) && within(q->fields, &r->head));
	HOLDS(q->method.len > 0 && q->path.len > 0 && q->path.at[0] == '/');
	HOLDS(memchr(q->path.at, '?', q->path.len) == NULL);
	HOLDS(q->body_len <= BODY_MAX && q->body[q->body_len] == '\0');
	HOLDS(http_request_field(q, "host", &value) <= 1);
	if (http_check_local(q, &ip_loopback4, PORT).status == 0) {
		HOLDS(http_request_field(q, "host", &value) == 1);
		HOLDS(value.len >= strlen("0:8080") &&
		      memcmp(value.at + value.len - 5, ":8080", 5) == 0);
		HOLDS(http_request_field(q, "origin", &value) == 0 ||
		      memcmp(value.at, "http://", 7) == 0);
	}
	if (http_check_bearer(q, &value) || http_request_cookie(q, "session", &value)) {
		HOLDS(within(value, &r->head));
	}
}

/* The bytes in segments of `step` bytes. */
static struct trace read_all(const uint8_t *data, size_t size, size_t step) {
	struct http_reader r;
	struct trace t = {.hash = 14695981039346656037U};

	http_reader_init(&r);
	while (t.requests < REQUESTS_MAX) {
		size_t left = size - t.used, used = 0;
		size_t len = step < left ? step : left;
		enum http_event event =
			http_reader_feed(&r, (const char *)data + t.used, len, &used);
		HOLDS(used <= len);
		if (event != HTTP_EVENT_BAD) {
			t.used += used;
		}
		if (event == HTTP_EVENT_HEAD) {
			event = http_reader_accept(&r, BODY_MAX);
		}
		HOLDS(r.head.len <= HTTP_HEAD_MAX && r.body.len <= BODY_MAX);
		HOLDS(http_reader_size(&r) <= 4 * HTTP_HEAD_MAX);
		if (event == HTTP_EVENT_BAD) {
			HOLDS(r.status >= 400 && r.why != NULL);
			note(&t, &r.status, sizeof r.status);
			break;
		}
		if (event == HTTP_EVENT_DONE) {
			request_is_right(&r);
			note(&t, r.request.path.at, r.request.path.len);
			note(&t, r.request.body, r.request.body_len);
			note(&t, &t.used, sizeof t.used);
			t.requests++;
			http_reader_reset(&r);
		} else if (t.used == size) {
			break;
		}
	}
	http_reader_done(&r);
	return t;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	static const size_t steps[] = {1, 7, 64};
	struct trace whole = read_all(data, size, size == 0 ? 1 : size);

	for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
		struct trace parts = read_all(data, size, steps[i]);
		HOLDS(parts.hash == whole.hash && parts.requests == whole.requests);
	}
	return 0;
}
