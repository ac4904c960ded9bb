/* SPDX-License-Identifier: Apache-2.0 */
/* Finds a request line in a request's body (request smuggling).
 *
 * A server that ignores the body of a request reads the next request where the body begins, with a
 * Host that was not judged.
 *
 * Should:   find every line that a lenient server takes for a request: in the body's first line
 *           for methods that have content (POST, PUT, PATCH), whose body servers read or discard;
 *           in any line for the others, whose content has no meaning (RFC 9110, 9.3.1).
 * Must not: keep a byte: it finds a request before its line is complete, so that it can be refused
 *           in time.
 * Fails:    closed: a body of GET with such a line is refused, even if it is harmless. */
#include "net/http.h"

#include "net/http_fields.h"

#include <string.h>

/* No server accepts a longer request line. */
#define LINE_MAX_SEEN 65536

static uint8_t lower(uint8_t c) {
	return c >= 'A' && c <= 'Z' ? (uint8_t)(c + ('a' - 'A')) : c;
}

bool http_scan_over(const struct http_scan *s) {
	return s->first_line && s->over;
}

/* A letter of a word: is the word still a prefix of "http/", and of "get"? */
static void add_letter(struct http_scan *s, uint8_t c) {
	static const char version[] = "http/", get[] = "get";

	s->version = s->at < 5 && s->version && lower(c) == (uint8_t)version[s->at];
	if (s->words == 0) {
		s->get = s->at < 3 && s->get && lower(c) == (uint8_t)get[s->at];
	}
	s->at += s->at < 6;
}

/* METHOD TARGET HTTP/…: the third word; in a body without meaning any word but the first. */
static bool has_version(const struct http_scan *s) {
	bool place = s->first_line ? s->words == 2 : s->words >= 1;

	return place && s->version && s->at == 5;
}

/* GET TARGET of HTTP/0.9; "get well soon" may be the content of a POST. */
static bool is_simple_request(const struct http_scan *s, uint8_t c) {
	return s->get && s->words == 1 && s->at == 0 && (c == '/' || !s->first_line);
}

static void next_line(struct http_scan *s) {
	s->over = s->over || s->words > 0 || s->at > 0;
	s->words = s->at = 0;
	s->version = s->get = true;
}

static bool take(struct http_scan *s, uint8_t c) {
	if (c == '\n') {
		next_line(s);
		return true;
	}
	if (!gap_char(c)) {
		bool simple = is_simple_request(s, c);
		add_letter(s, c);
		return !simple && !has_version(s);
	}
	if (s->at > 0) {
		s->get = s->words == 0 && s->get && s->at == 3;
		s->words += s->words < 3;
		s->at = 0;
		s->version = true;
	}
	return true;
}

bool http_scan_take(struct http_scan *s, const uint8_t *data, size_t len) {
	for (size_t i = 0; i < len && !http_scan_over(s); i++) {
		if (!s->begun) {
			s->begun = s->version = s->get = true;
		}
		if (!take(s, data[i])) {
			return false;
		}
		s->over = s->over || ++s->line > LINE_MAX_SEEN;
	}
	return true;
}
