/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP/1 as a client may send it: heads, bodies, and what is forwarded of them.
 *
 * An answer depends neither on how the bytes came nor on what follows them.  What was
 * accepted has, in the plainest reading of its lines, one Host and at most one length; what is
 * forwarded is a head that is accepted again, for the same host and with the same body. */
#include "fuzz.h"

#include "net/http.h"

#include <strings.h>

static bool same_host(const struct hostname *a, const struct hostname *b) {
	return a->kind == b->kind && (a->kind != HOST_NAME || strcmp(a->name, b->name) == 0) &&
	       (a->kind != HOST_IP || ip_same(&a->ip, &b->ip));
}

static void same_head(const struct http_head *a, const struct http_head *b) {
	HOLDS(a->form == b->form && a->connect == b->connect && a->len == b->len);
	HOLDS(same_host(&a->host, &b->host) && a->port == b->port && a->minor == b->minor);
	HOLDS(a->body.kind == b->body.kind && a->body.left == b->body.left);
	HOLDS(a->target == b->target && a->target_len == b->target_len);
}

/* How many lines begin with this name and a colon. */
static size_t lines_with(const uint8_t *data, size_t len, const char *name) {
	size_t n = strlen(name), count = 0;
	for (size_t i = 1; i + n < len; i++) {
		count += data[i - 1] == '\n' && data[i + n] == ':' &&
			 strncasecmp((const char *)data + i, name, n) == 0;
	}
	return count;
}

static size_t lines_in(const uint8_t *data, size_t len) {
	size_t count = 0;
	for (size_t i = 0; i < len; i++) {
		count += data[i] == '\n';
	}
	return count;
}

static void is_plain(const uint8_t *data, const struct http_head *h) {
	size_t lengths = lines_with(data, h->len, "content-length");
	size_t encodings = lines_with(data, h->len, "transfer-encoding");
	size_t hosts = lines_with(data, h->len, "host");
	HOLDS(h->len >= 4 && memcmp(data + h->len - 4, "\r\n\r\n", 4) == 0);
	HOLDS(memchr(data, '\0', h->len) == NULL);
	HOLDS(hosts == 1 || (hosts == 0 && h->minor == 0));
	HOLDS(lengths + encodings <= 1);
	HOLDS(h->body.kind != BODY_NONE || encodings == 0);
	HOLDS(h->body.kind != BODY_LENGTH || lengths == 1);
	HOLDS(h->body.left < (uint64_t)1 << 62);
	HOLDS(h->target + h->target_len < h->len);
	HOLDS(h->connect == (h->form == HTTP_AUTHORITY));
	HOLDS(h->host.kind != HOST_BAD || h->minor == 0);
	for (size_t i = 1; i < h->len; i++) {
		HOLDS(data[i] != '\n' || data[i - 1] == '\r');
		HOLDS(data[i - 1] != '\r' || data[i] == '\n');
	}
}

/* Every prefix, or thousands of them. */
static void head_in_parts(const uint8_t *data, size_t size, enum sniff whole,
			  const struct http_head *h) {
	size_t step = 1 + size / 2048;
	enum sniff told = SNIFF_MORE, begun = SNIFF_MORE;
	struct http_head part = {0};
	int status = 0;
	const char *why = NULL;
	for (size_t n = 0; n <= size && told == SNIFF_MORE; n += step) {
		told = http_head_read(data, n, &part, &status, &why);
		HOLDS(told == SNIFF_MORE || told == whole);
		begun = begun == SNIFF_MORE ? http_sniff(data, n) : begun;
	}
	if (told == SNIFF_DONE) {
		same_head(&part, h);
		HOLDS(http_sniff(data, size) == SNIFF_DONE && begun != SNIFF_BAD);
	}
	HOLDS(begun != SNIFF_DONE || http_sniff(data, size) == SNIFF_DONE);
}

static void is_forwarded(const uint8_t *data, const struct http_head *h) {
	size_t cap = h->len + 64, len;
	uint8_t *out = malloc(cap);
	struct http_head again = {0};
	int status = 0;
	const char *why = NULL;
	if (out == NULL) {
		abort();
	}
	len = http_head_forward(data, h, out, cap);
	HOLDS((len == 0) == h->connect && len <= cap);
	/* It may have a Host and a Connection more than a head may. */
	if (len > 0 && len <= HTTP_HEAD_MAX && lines_in(out, len) <= HTTP_FIELDS_MAX) {
		HOLDS(http_head_read(out, len, &again, &status, &why) == SNIFF_DONE);
		HOLDS(again.len == len && again.form != HTTP_ABSOLUTE && !again.connect);
		HOLDS(same_host(&again.host, &h->host));
		HOLDS(again.body.kind == h->body.kind && again.body.left == h->body.left);
		HOLDS(lines_with(out, len, "proxy-authorization") == 0);
		HOLDS(lines_with(out, len, "proxy-connection") == 0);
		HOLDS(lines_with(out, len, "keep-alive") == 0);
		HOLDS(again.upgrade != UPGRADE_OTHER);
		uint8_t *less = malloc(len);
		if (less == NULL) {
			abort();
		}
		HOLDS(http_head_forward(data, h, less, len - 1) == 0);
		free(less);
	}
	free(out);
}

/* Byte by byte as in one; and never more than there is. */
static size_t body(const struct http_body *begin, const uint8_t *data, size_t size) {
	struct http_body whole = *begin, parts = *begin;
	bool end = false, parts_end = false;
	long taken = http_body_take(&whole, data, size, &end);
	size_t at = 0;
	HOLDS(taken <= (long)size);
	for (long n = 1; n == 1 && at < size && !parts_end; at += n == 1) {
		n = http_body_take(&parts, data + at, 1, &parts_end);
		HOLDS(n == 1 || taken < 0 || (n == 0 && parts_end));
	}
	HOLDS(taken < 0 || at == (size_t)taken);
	HOLDS(taken < 0 || size == 0 || end == parts_end);
	return taken < 0 || !end ? size : (size_t)taken;
}

/* Piece by piece as in one: what a scanner reads and what is forwarded have the same framing. */
static void pieces(const struct http_body *begin, const uint8_t *data, size_t size) {
	struct http_body whole = *begin, b = *begin;
	bool end = false;
	long taken = http_body_take(&whole, data, size, &end), n = 1;
	size_t at = 0;
	while (at < size && n > 0) {
		enum http_piece piece;
		n = http_body_next(&b, data + at, size - at, &piece);
		HOLDS(n <= (long)(size - at));
		at += n > 0 ? (size_t)n : 0;
	}
	HOLDS(size == 0 || (n < 0) == (taken < 0));
	HOLDS(taken < 0 || (at == (size_t)taken && b.left == whole.left && b.state == whole.state));
}

static void status_in_parts(const uint8_t *data, size_t size) {
	int status = 0, part = 0;
	enum sniff whole = http_status_read(data, size, &status), told = SNIFF_MORE;
	for (size_t n = 0; n <= size && n < 2048 && told == SNIFF_MORE; n++) {
		told = http_status_read(data, n, &part);
		HOLDS(told == SNIFF_MORE || told == whole);
	}
	HOLDS(told != SNIFF_DONE || (part == status && status >= 0 && status <= 999));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	status_in_parts(data, size);
	while (size > 0) {
		struct http_head h = {0};
		int status = 0;
		const char *why = NULL;
		enum sniff told = http_head_read(data, size, &h, &status, &why);
		head_in_parts(data, size, told, &h);
		HOLDS(told != SNIFF_BAD || (why != NULL && status >= 400 && status <= 505));
		if (told != SNIFF_DONE) {
			HOLDS(http_sniff_http2(data, size) != SNIFF_DONE || told == SNIFF_BAD);
			return 0;
		}
		HOLDS(h.len <= size && h.len <= HTTP_HEAD_MAX);
		is_plain(data, &h);
		is_forwarded(data, &h);
		pieces(&h.body, data + h.len, size - h.len);
		size_t used = h.len + body(&h.body, data + h.len, size - h.len);
		data += used;
		size -= used;
	}
	return 0;
}
