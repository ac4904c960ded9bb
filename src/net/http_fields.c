/* SPDX-License-Identifier: Apache-2.0 */
/* Splits an HTTP/1 head into lines, fields and list members.
 *
 * Should:   be the only splitter, so that the parser that judges a head and the writer that
 *           forwards it find the same fields.
 * Must not: take a bare CR or LF for the end of a line.
 * Fails:    closed: a line outside RFC 9112's grammar is not a field. */
#include "net/http_fields.h"

#include <string.h>

static bool is_alnum(uint8_t c) {
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

bool http_is_token_char(uint8_t c) {
	return is_alnum(c) || (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

bool http_span_is_token(struct http_span s) {
	for (size_t i = 0; i < s.len; i++) {
		if (!http_is_token_char(s.at[i])) {
			return false;
		}
	}
	return s.len > 0;
}

static uint8_t lower(uint8_t c) {
	return c >= 'A' && c <= 'Z' ? (uint8_t)(c + ('a' - 'A')) : c;
}

bool http_spans_same(struct http_span a, struct http_span b) {
	for (size_t i = 0; a.len == b.len && i < a.len; i++) {
		if (lower(a.at[i]) != lower(b.at[i])) {
			return false;
		}
	}
	return a.len == b.len;
}

static struct http_span span_of(const char *word) {
	return (struct http_span){(const uint8_t *)word, strlen(word)};
}

bool http_span_is(struct http_span s, const char *word) {
	return http_spans_same(s, span_of(word));
}

bool http_span_exactly(struct http_span s, const char *word) {
	return s.len == strlen(word) && memcmp(s.at, word, s.len) == 0;
}

bool http_span_begins(struct http_span s, const char *word) {
	size_t len = strlen(word);
	return s.len >= len && http_spans_same((struct http_span){s.at, len}, span_of(word));
}

bool http_span_resembles(struct http_span s, const char *word) {
	for (size_t i = 0; i < s.len; i++) {
		uint8_t c = s.at[i] == '_' ? '-' : lower(s.at[i]);
		if (word[i] == '\0' || c != lower((uint8_t)word[i])) {
			return false;
		}
	}
	return word[s.len] == '\0';
}

bool http_line_next(struct http_span *rest, struct http_span *ret) {
	const uint8_t *end = rest->len == 0 ? NULL : memchr(rest->at, '\n', rest->len);
	if (end == NULL || end == rest->at || end[-1] != '\r') {
		return false;
	}
	*ret = (struct http_span){rest->at, (size_t)(end - rest->at) - 1};
	rest->len -= ret->len + 2;
	rest->at = end + 1;
	return true;
}

static bool is_blank(uint8_t c) {
	return c == ' ' || c == '\t';
}

static struct http_span trimmed(struct http_span s) {
	while (s.len > 0 && is_blank(s.at[0])) {
		s.at++;
		s.len--;
	}
	while (s.len > 0 && is_blank(s.at[s.len - 1])) {
		s.len--;
	}
	return s;
}

bool http_field_read(struct http_span line, struct field *ret) {
	const uint8_t *colon = line.len == 0 ? NULL : memchr(line.at, ':', line.len);
	if (colon == NULL) {
		return false;
	}
	size_t before = (size_t)(colon - line.at);
	struct field f = {.name = {line.at, before}, .value = {colon + 1, line.len - before - 1}};
	if (!http_span_is_token(f.name)) {
		return false;
	}
	for (size_t i = 0; i < f.value.len; i++) {
		if (!text_char(f.value.at[i])) {
			return false;
		}
	}
	f.value = trimmed(f.value);
	*ret = f;
	return true;
}

bool http_list_next(struct http_span *rest, struct http_span *ret) {
	while (rest->len > 0) {
		const uint8_t *comma = memchr(rest->at, ',', rest->len);
		size_t len = comma == NULL ? rest->len : (size_t)(comma - rest->at);
		struct http_span member = trimmed((struct http_span){rest->at, len});
		rest->at += len + (comma != NULL);
		rest->len -= len + (comma != NULL);
		if (member.len > 0) {
			*ret = member;
			return true;
		}
	}
	return false;
}
