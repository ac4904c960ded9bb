/* SPDX-License-Identifier: Apache-2.0 */
/* Lines, fields and lists of an HTTP/1 head.  Only for net/http_*.c. */
#ifndef CORRAL_NET_HTTP_FIELDS_H
#define CORRAL_NET_HTTP_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of a head, not copied. */
struct http_span {
	const uint8_t *at;
	size_t len;
};

struct field {
	struct http_span name, value; /* the value without blanks around it */
};

/* RFC 9110, 5.6.2: the characters of methods and field names. */
bool http_is_token_char(uint8_t c);
bool http_span_is_token(struct http_span s);

/* The characters of a field value or a chunk extension: tab, printable ASCII, bytes above 0x7f. */
static inline bool text_char(uint8_t c) {
	return c == '\t' || (c >= 0x20 && c != 0x7f);
}

/* White space within a line for the most lenient parser: Python's split() includes the separators
 * of ASCII and two bytes of Latin-1. */
static inline bool gap_char(uint8_t c) {
	return c == ' ' || c == '\t' || (c >= '\v' && c <= '\r') || (c >= 0x1c && c <= 0x1f) ||
	       c == 0x85 || c == 0xa0;
}

/* Case-insensitive, except http_span_exactly(). */
bool http_span_is(struct http_span s, const char *word);
bool http_span_exactly(struct http_span s, const char *word);
bool http_span_begins(struct http_span s, const char *word);
bool http_spans_same(struct http_span a, struct http_span b);

/* http_span_is() with '_' for '-', as a CGI gateway maps names. */
bool http_span_resembles(struct http_span s, const char *word);

/* The next line of *rest without its CRLF.  False: the end, or a line without CRLF. */
bool http_line_next(struct http_span *rest, struct http_span *ret);

/* Parses a field line.  False: a folded line, a blank before the colon, a control character. */
bool http_field_read(struct http_span line, struct field *ret);

/* The next member of a comma-separated list; skips empty ones. */
bool http_list_next(struct http_span *rest, struct http_span *ret);

#endif
