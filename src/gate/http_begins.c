/* Whether a client speaks HTTP at all.
 *
 * Should:   say yes to whatever a lenient server could take for a request, so that the
 *           strict parser gets to refuse it; say no to other protocols, which are
 *           judged by name and port alone.
 * Must not: wait for more than one line.
 * Fails:    towards HTTP: a request that is not seen as one would not be judged. */
#include "gate/http.h"

#include "gate/http_fields.h"

#include <string.h>

/* Lines and blanks that a lenient server drops in front of a request. */
#define BEFORE_MAX 64

#define METHOD_MAX 64

/* All of a line is looked at with every byte that comes: a longer one is a request, whose
 * parser has a bound of its own. */
#define LINE_MAX_SEEN ((size_t)8 * 1024)

/* Some servers take other white space for a blank. */
static bool is_gap(uint8_t c) {
	return c == ' ' || (c >= '\t' && c <= '\r' && c != '\n');
}

static size_t gaps(struct span s) {
	size_t n = 0;
	while (n < s.len && (is_gap(s.at[n]) || s.at[n] == '\n')) {
		n++;
	}
	return n;
}

/* The version behind a gap, anywhere in the line. */
static bool has_version(struct span line) {
	for (size_t i = 1; i < line.len; i++) {
		struct span rest = {line.at + i, line.len - i};
		if (is_gap(line.at[i - 1]) && span_begins(rest, "HTTP/")) {
			return true;
		}
	}
	return false;
}

/* HTTP/2's first line, which is another reader's. */
static bool is_preface(struct span line) {
	return line.len >= 14 && memcmp(line.at, "PRI * HTTP/2.0", 14) == 0;
}

/* What the whole line says, where it has no version: ssh's, SMTP's and SIP's first lines have words
 * too, and no such version; HTTP/0.9 had none and knew GET alone. */
static enum sniff judge_line(struct span line, struct span method) {
	return span_is(method, "GET") && !is_preface(line) ? SNIFF_DONE : SNIFF_BAD;
}

/* Up to the first control character. */
static size_t text_len(struct span line) {
	size_t n = 0;
	while (n < line.len && (is_gap(line.at[n]) || text_char(line.at[n]))) {
		n++;
	}
	return n;
}

/* A control character in the line: no request, unless it begins with a method that servers
 * take without looking further. */
static enum sniff judge_controls(struct span line, struct span method) {
	static const char *const methods[] = {"GET",   "HEAD",    "POST",  "PUT",    "DELETE",
					      "PATCH", "OPTIONS", "TRACE", "CONNECT"};
	if (text_len(line) == line.len) {
		return SNIFF_MORE;
	}
	for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
		if (span_is(method, methods[i])) {
			return SNIFF_DONE;
		}
	}
	return SNIFF_BAD;
}

enum sniff http_begins(const uint8_t *data, size_t len) {
	struct span line = {data, len};
	if (line.len > LINE_MAX_SEEN) {
		line.len = LINE_MAX_SEEN;
	}
	size_t before = gaps(line), word = 0;
	if (before > BEFORE_MAX) {
		return SNIFF_DONE; /* no other protocol begins so; the parser refuses it */
	}
	line.at += before;
	line.len -= before;
	const uint8_t *end = line.len == 0 ? NULL : memchr(line.at, '\n', line.len);
	line.len = end == NULL ? line.len : (size_t)(end - line.at);
	/* Whatever its first word is: some servers do not look at that. */
	if (end != NULL && has_version(line) && !is_preface(line)) {
		return SNIFF_DONE;
	}
	while (word < line.len && word <= METHOD_MAX && token_char(line.at[word])) {
		word++;
	}
	/* A longer beginning whose first word is no method is another protocol's. */
	if (end == NULL && line.len <= METHOD_MAX && text_len(line) == line.len) {
		return SNIFF_MORE;
	}
	if (word == 0 || word == line.len || word > METHOD_MAX || !is_gap(line.at[word]) ||
	    line.at[word] == '\r') {
		return SNIFF_BAD;
	}
	struct span method = {line.at, word};
	enum sniff told = judge_controls(line, method);
	if (told == SNIFF_MORE && end != NULL) {
		return judge_line(line, method);
	}
	return told == SNIFF_MORE && len >= LINE_MAX_SEEN ? SNIFF_DONE : told;
}

enum sniff http2_begins(const uint8_t *data, size_t len) {
	static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
	const size_t whole = sizeof preface - 1;
	size_t n = len;
	if (n > whole) {
		n = whole;
	}
	if (n > 0 && memcmp(data, preface, n) != 0) {
		return SNIFF_BAD;
	}
	return n == whole ? SNIFF_DONE : SNIFF_MORE;
}
