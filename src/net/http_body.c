/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the end of a request's body (Content-Length or chunked), and parses a status line.
 *
 * Should:   find the body's end to the byte: the bytes after it are another request and are
 *           judged as one.
 * Must not: keep bytes, or accept a chunk line or trailers beyond their bound.
 * Fails:    closed: framing that could be read in two ways is malformed. */
#include "net/http.h"

#include "net/http_fields.h"

#include <string.h>

/* A chunk's size with its extensions; all trailers together. */
#define CHUNK_LINE_MAX 4096
#define TRAILERS_MAX 8192

/* More hexadecimal digits than this would not fit below 2^62. */
#define CHUNK_DIGITS_MAX 15

/* The grammar of RFC 9112, 7.1, as states.  A body begins in state 0. */
enum chunk_state {
	CHUNK_SIZE,      /* before or in the size */
	CHUNK_EXTENSION, /* after ';' */
	CHUNK_SIZE_LF,   /* after the line's CR */
	CHUNK_DATA,
	CHUNK_DATA_CR, /* after the data */
	CHUNK_DATA_LF,
	TRAILER_START, /* a trailer or the empty line begins */
	TRAILER_NAME,
	TRAILER_VALUE,
	TRAILER_LF,
	CHUNK_LAST_LF, /* after the CR of the empty line */
	CHUNK_OVER,
	CHUNK_BROKEN,
};

static int hex(uint8_t c) {
	if (c >= '0' && c <= '9') {
		return c - '0';
	}
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static enum chunk_state size_byte(struct http_body *b, uint8_t c) {
	int digit = hex(c);
	if (digit >= 0) {
		b->left = b->left << 4 | (uint64_t)digit;
		return b->line <= CHUNK_DIGITS_MAX ? CHUNK_SIZE : CHUNK_BROKEN;
	}
	if (b->line == 1) {
		return CHUNK_BROKEN; /* no digit at all */
	}
	return c == ';' ? CHUNK_EXTENSION : c == '\r' ? CHUNK_SIZE_LF : CHUNK_BROKEN;
}

/* At the end of the line with the size. */
static enum chunk_state after_size(struct http_body *b) {
	b->line = 0;
	return b->left == 0 ? TRAILER_START : CHUNK_DATA;
}

static enum chunk_state after_data(struct http_body *b) {
	b->line = 0;
	return CHUNK_SIZE;
}

static enum chunk_state trailer_start(uint8_t c) {
	return c == '\r' ? CHUNK_LAST_LF : http_is_token_char(c) ? TRAILER_NAME : CHUNK_BROKEN;
}

static enum chunk_state trailer_name(uint8_t c) {
	return c == ':' ? TRAILER_VALUE : http_is_token_char(c) ? TRAILER_NAME : CHUNK_BROKEN;
}

/* Inside a line: text, or its CR. */
static enum chunk_state text_byte(uint8_t c, enum chunk_state same, enum chunk_state end) {
	return c == '\r' ? end : text_char(c) ? same : CHUNK_BROKEN;
}

/* One byte outside the chunk data. */
static enum chunk_state frame_byte(struct http_body *b, uint8_t c) {
	b->line++;
	switch ((enum chunk_state)b->state) {
	case CHUNK_SIZE:
		return size_byte(b, c);
	case CHUNK_EXTENSION:
		return b->line > CHUNK_LINE_MAX ? CHUNK_BROKEN
						: text_byte(c, CHUNK_EXTENSION, CHUNK_SIZE_LF);
	case CHUNK_SIZE_LF:
		return c == '\n' ? after_size(b) : CHUNK_BROKEN;
	case CHUNK_DATA_CR:
		return c == '\r' ? CHUNK_DATA_LF : CHUNK_BROKEN;
	case CHUNK_DATA_LF:
		return c == '\n' ? after_data(b) : CHUNK_BROKEN;
	case TRAILER_START:
		return trailer_start(c);
	case TRAILER_NAME:
		return b->line > TRAILERS_MAX ? CHUNK_BROKEN : trailer_name(c);
	case TRAILER_VALUE:
		return b->line > TRAILERS_MAX ? CHUNK_BROKEN
					      : text_byte(c, TRAILER_VALUE, TRAILER_LF);
	case TRAILER_LF:
		return c == '\n' ? TRAILER_START : CHUNK_BROKEN;
	case CHUNK_LAST_LF:
		return c == '\n' ? CHUNK_OVER : CHUNK_BROKEN;
	case CHUNK_DATA:
	case CHUNK_OVER:
	case CHUNK_BROKEN:
		break;
	}
	return CHUNK_BROKEN;
}

/* The bytes that belong to the body or the chunk. */
static size_t take_data(struct http_body *b, size_t len) {
	size_t n = len < b->left ? len : (size_t)b->left;
	b->left -= n;
	return n;
}

static enum http_piece piece_of(uint8_t state) {
	return state == CHUNK_EXTENSION || state == TRAILER_NAME || state == TRAILER_VALUE
		       ? HTTP_PIECE_TEXT
		       : HTTP_PIECE_FRAME;
}

static long chunked_next(struct http_body *b, const uint8_t *data, size_t len,
			 enum http_piece *ret) {
	size_t at = 0;

	if (b->state == CHUNK_DATA) {
		*ret = HTTP_PIECE_DATA;
		at = take_data(b, len);
		b->state = b->left == 0 ? CHUNK_DATA_CR : CHUNK_DATA;
		return (long)at;
	}
	while (at < len && b->state != CHUNK_OVER && b->state != CHUNK_DATA) {
		struct http_body next = *b;
		next.state = (uint8_t)frame_byte(&next, data[at]);
		if (next.state == CHUNK_BROKEN) {
			return -1;
		}
		if (at > 0 && piece_of(next.state) != *ret) {
			break;
		}
		*ret = piece_of(next.state);
		*b = next;
		at++;
	}
	return (long)at;
}

long http_body_next(struct http_body *b, const uint8_t *data, size_t len, enum http_piece *ret) {
	if (b->kind == BODY_CHUNKED) {
		return chunked_next(b, data, len, ret);
	}
	*ret = HTTP_PIECE_DATA;
	return b->kind == BODY_LENGTH ? (long)take_data(b, len) : 0;
}

static long take_chunked(struct http_body *b, const uint8_t *data, size_t len, bool *ret_end) {
	enum http_piece piece;
	size_t at = 0;
	long n = 1;

	while (at < len && n > 0) {
		n = chunked_next(b, data + at, len - at, &piece);
		at += n > 0 ? (size_t)n : 0;
	}
	*ret_end = b->state == CHUNK_OVER;
	return n < 0 ? -1 : (long)at;
}

long http_body_take(struct http_body *b, const uint8_t *data, size_t len, bool *ret_end) {
	size_t n;
	switch (b->kind) {
	case BODY_CHUNKED:
		return take_chunked(b, data, len, ret_end);
	case BODY_LENGTH:
		n = take_data(b, len);
		*ret_end = b->left == 0;
		return (long)n;
	case BODY_NONE:
		break;
	}
	*ret_end = true;
	return 0;
}

/* ---- the status line of a response ---- */

/* With the reason phrase. */
#define STATUS_LINE_MAX 8192

/* A prefix of "HTTP/D.D DDD", followed by a blank or the end of the line. */
static bool fits_status(const uint8_t *data, size_t len) {
	static const char form[] = "HTTP/1.0 000";
	for (size_t i = 0; i < len && i < sizeof form - 1; i++) {
		bool digit = data[i] >= '0' && data[i] <= '9';
		if (form[i] == '0' ? !digit : data[i] != (uint8_t)form[i]) {
			return false;
		}
	}
	uint8_t behind = len < sizeof form ? ' ' : data[sizeof form - 1];
	return behind == ' ' || behind == '\r' || behind == '\n';
}

enum sniff http_status_read(const uint8_t *data, size_t len, int *ret_status) {
	const size_t digits = strlen("HTTP/1.0 ");
	size_t seen = len;
	if (seen > STATUS_LINE_MAX) {
		seen = STATUS_LINE_MAX;
	}
	const uint8_t *end = seen == 0 ? NULL : memchr(data, '\n', seen);
	if (!fits_status(data, len) || (end != NULL && end < data + digits + 3)) {
		return SNIFF_BAD;
	}
	if (end == NULL) {
		return len < STATUS_LINE_MAX ? SNIFF_MORE : SNIFF_BAD;
	}
	*ret_status = (data[digits] - '0') * 100 + (data[digits + 1] - '0') * 10 +
		      (data[digits + 2] - '0');
	return SNIFF_DONE;
}
