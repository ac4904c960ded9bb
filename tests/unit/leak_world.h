/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of the leak scanner with their results, and encoders for its views. */
#ifndef CORRAL_TESTS_UNIT_LEAK_WORLD_H
#define CORRAL_TESTS_UNIT_LEAK_WORLD_H

#include "leak/leak.h"

#include "base/buf.h"
#include "test.h"

static const unsigned char test_key[LEAK_KEY] = "a key of thirty-two bytes for it";

struct result {
	struct buf findings; /* one line each */
	struct buf out;
	size_t count;
	char last[LEAK_FINGERPRINT];
};

static inline void result_init(struct result *r) {
	memset(r, 0, sizeof *r);
	buf_init(&r->findings);
	buf_init(&r->out);
	buf_puts(&r->findings, "");
	buf_puts(&r->out, "");
}

static inline void result_done(struct result *r) {
	buf_done(&r->findings);
	buf_done(&r->out);
}

static inline void keep_finding(void *arg, const struct leak_finding *f) {
	struct result *r = arg;
	char view[LEAK_VIEW_TEXT];
	buf_printf(&r->findings, "%s %llu+%llu %s %s\n", f->kind, (unsigned long long)f->offset,
		   (unsigned long long)f->length, leak_view_text(f, view), f->fingerprint);
	memcpy(r->last, f->fingerprint, sizeof r->last);
	r->count++;
}

static inline int keep_output(void *arg, const void *data, size_t len) {
	struct result *r = arg;
	buf_add(&r->out, data, len);
	return 0;
}

/* Scans in pieces of `piece` bytes, the first of `first` bytes. */
static inline void scan_pieces(const struct leak_scanner *sc, const void *data, size_t len,
			       size_t first, size_t piece, struct result *r) {
	struct leak_stream *s = leak_stream_new(sc, keep_finding, keep_output, r);
	const char *p = data;
	size_t n = first;
	if (s == NULL) {
		abort();
	}
	for (size_t at = 0; at < len; at += n, n = piece) {
		n = n > len - at ? len - at : n;
		CHECK(leak_stream_feed(s, p + at, n) == 0);
		CHECK(leak_stream_held(s) <= LEAK_HELD_MAX);
	}
	CHECK(leak_stream_end(s) == 0);
	CHECK_INT(leak_stream_held(s), 0);
	leak_stream_free(s);
}

static inline bool result_same(const struct result *a, const struct result *b) {
	return strcmp(a->findings.data, b->findings.data) == 0 && a->out.len == b->out.len &&
	       memcmp(a->out.data, b->out.data, a->out.len) == 0;
}

static inline struct leak_scanner *scanner_of(const struct leak_rules *rules) {
	struct err e = {0};
	struct leak_scanner *sc = leak_scanner_new(rules, &e);
	if (sc == NULL) {
		printf("# %s\n", e.what);
		abort();
	}
	return sc;
}

/* A scanner for one kind. */
static inline struct leak_scanner *scanner_for(size_t kind) {
	bool *kinds = calloc(leak_kind_count, sizeof *kinds);
	kinds[kind] = true;
	struct leak_scanner *sc = scanner_of(&(struct leak_rules){.kinds = kinds, .key = test_key});
	free(kinds);
	return sc;
}

/* ---- encoders ---- */

static inline void put_base64(struct buf *out, const unsigned char *p, size_t n, bool url) {
	const char *a = url ? "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
			    : "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	for (size_t i = 0; i < n; i += 3) {
		unsigned v = (unsigned)p[i] << 16 | (unsigned)(i + 1 < n ? p[i + 1] : 0) << 8 |
			     (i + 2 < n ? p[i + 2] : 0);
		char four[4] = {a[v >> 18], a[v >> 12 & 63], i + 1 < n ? a[v >> 6 & 63] : '=',
				i + 2 < n ? a[v & 63] : '='};
		buf_add(out, four, url && i + 2 >= n ? (i + 1 >= n ? 2 : 3) : 4);
	}
}

enum encoding {
	ENC_RAW,
	ENC_URL,
	ENC_URL_ALL,
	ENC_BASE64,
	ENC_BASE64URL,
	ENC_BASE64_WRAPPED,
	ENC_HEX,
	ENC_JSON,
	ENC_JSON_ALL,
	ENC_UTF16LE,
	ENC_UTF16BE,
	ENC_COUNT
};

static const char *const encodings[ENC_COUNT] = {"raw",    "url",      "url all", "base64",
						 "b64url", "wrapped",  "hex",     "json",
						 "json u", "utf-16le", "utf-16be"};

static inline bool is_plain(unsigned char c) {
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '.' || c == '-' || c == '~';
}

static inline void put_json(struct buf *out, unsigned char c, bool all) {
	if (all || (c < 32 && c != '\n' && c != '\t' && c != '\r')) {
		buf_printf(out, "\\u%04x", c);
	} else if (c == '\n' || c == '\t' || c == '\r') {
		buf_printf(out, "\\%c", c == '\n' ? 'n' : c == '\t' ? 't' : 'r');
	} else if (c == '"' || c == '\\' || c == '/') {
		buf_printf(out, "\\%c", c);
	} else {
		buf_add(out, &c, 1);
	}
}

static inline void wrap(struct buf *out, const struct buf *in) {
	for (size_t i = 0; i < in->len; i += 76) {
		buf_add(out, in->data + i, in->len - i < 76 ? in->len - i : 76);
		buf_puts(out, "\n");
	}
}

static inline void encode(enum encoding how, const void *data, size_t n, struct buf *out) {
	const unsigned char *p = data;
	struct buf line;

	buf_init(&line);
	buf_puts(out, "");
	switch (how) {
	case ENC_RAW:
		buf_add(out, p, n);
		break;
	case ENC_BASE64:
	case ENC_BASE64URL:
		put_base64(out, p, n, how == ENC_BASE64URL);
		break;
	case ENC_BASE64_WRAPPED:
		put_base64(&line, p, n, false);
		wrap(out, &line);
		break;
	default:
		for (size_t i = 0; i < n; i++) {
			if (how == ENC_HEX) {
				buf_printf(out, "%02x", p[i]);
			} else if (how == ENC_JSON || how == ENC_JSON_ALL) {
				put_json(out, p[i], how == ENC_JSON_ALL);
			} else if (how == ENC_UTF16LE || how == ENC_UTF16BE) {
				char two[2] = {how == ENC_UTF16LE ? (char)p[i] : 0,
					       how == ENC_UTF16LE ? 0 : (char)p[i]};
				buf_add(out, two, 2);
			} else if (how == ENC_URL_ALL || !is_plain(p[i])) {
				buf_printf(out, "%%%02X", p[i]);
			} else {
				buf_add(out, &p[i], 1);
			}
		}
	}
	buf_done(&line);
}

#endif
