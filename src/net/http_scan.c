/* Whether a request's body could be taken for the next request.
 *
 * A server that ignores the body of a request reads on where the body begins.  It serves what
 * stands there, with the host that stands there, which nobody judged.
 *
 * Should:   see a request in whatever a lenient server takes for one: in the body's first line
 *           for methods that have content (POST, PUT, PATCH), which servers read or discard; in
 *           any line for the others, whose content has no meaning (RFC 9110, 9.3.1).
 * Must not: keep a byte: a request is seen before its line is whole, so it may be refused then.
 * Fails:    closed: a body of GET that holds such a line is refused, whatever it means. */
#include "net/http.h"

#include "net/http_fields.h"

#include <string.h>

/* No server takes a longer line for a request's. */
#define LINE_MAX_SEEN 65536

static uint8_t lower(uint8_t c) {
	return c >= 'A' && c <= 'Z' ? (uint8_t)(c + ('a' - 'A')) : c;
}

bool http_scan_over(const struct http_scan *s) {
	return s->first_line && s->over;
}

/* A word's letter: whether the word is still the beginning of "http/", and of "get". */
static void letter(struct http_scan *s, uint8_t c) {
	static const char version[] = "http/", get[] = "get";

	s->version = s->at < 5 && s->version && lower(c) == (uint8_t)version[s->at];
	if (s->words == 0) {
		s->get = s->at < 3 && s->get && lower(c) == (uint8_t)get[s->at];
	}
	s->at += s->at < 6;
}

/* METHOD TARGET HTTP/…: the third word, or in a body without meaning any but the first. */
static bool has_version(const struct http_scan *s) {
	bool place = s->first_line ? s->words == 2 : s->words >= 1;

	return place && s->version && s->at == 5;
}

/* GET TARGET, as HTTP/0.9 had it; "get well soon" is content of a POST. */
static bool is_simple(const struct http_scan *s, uint8_t c) {
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
		bool simple = is_simple(s, c);
		letter(s, c);
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
