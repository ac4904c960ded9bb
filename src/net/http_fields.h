/* The words of an HTTP/1 head: lines, fields, lists.  For gate/http_*.c alone. */
#ifndef CORRAL_NET_HTTP_FIELDS_H
#define CORRAL_NET_HTTP_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of a head, in their place. */
struct http_span {
	const uint8_t *at;
	size_t len;
};

struct field {
	struct http_span name, value; /* the value without blanks around it */
};

/* RFC 9110, 5.6.2: what methods and names of fields are made of. */
bool http_is_token_char(uint8_t c);
bool http_span_is_token(struct http_span s);

/* What a value or a chunk's extension may hold: tabs, visible ASCII and bytes beyond it. */
static inline bool text_char(uint8_t c) {
	return c == '\t' || (c >= 0x20 && c != 0x7f);
}

/* White space within a line, as the most lenient reader has it: to Python's split() the separators
 * of ASCII and two bytes of Latin-1 are blanks. */
static inline bool gap_char(uint8_t c) {
	return c == ' ' || c == '\t' || (c >= '\v' && c <= '\r') || (c >= 0x1c && c <= 0x1f) ||
	       c == 0x85 || c == 0xa0;
}

/* Letters in either case are the same. */
bool http_span_is(struct http_span s, const char *word);
bool http_span_exactly(struct http_span s, const char *word); /* letters in the same case */
bool http_span_begins(struct http_span s, const char *word);
bool http_spans_same(struct http_span a, struct http_span b);

/* The same, and '_' for '-': how a gateway to CGI reads a name. */
bool http_span_resembles(struct http_span s, const char *word);

/* The next line of *rest without its CRLF.  False at the end, and at what is no
 * line. */
bool http_line_next(struct http_span *rest, struct http_span *ret);

/* A field's line.  False when it is none: a fold, a blank before the colon, a control
 * character. */
bool http_field_read(struct http_span line, struct field *ret);

/* The next member of a comma-separated list; empty ones are left out. */
bool http_list_next(struct http_span *rest, struct http_span *ret);

#endif
