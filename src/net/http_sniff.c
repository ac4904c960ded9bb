/* SPDX-License-Identifier: Apache-2.0 */
/* Detects HTTP/1 by the client's first line.
 *
 * Should:   return DONE for every line that a lenient server could take for a request, so that
 *           the strict parser can refuse it; BAD for other protocols, which are judged by name
 *           and port only.
 * Must not: wait for more than one line.
 * Fails:    closed, towards HTTP: a request that is not detected would not be judged. */
#include "net/http.h"

#include "net/http_fields.h"

#include <string.h>

/* Newlines and blanks that a lenient server skips in front of a request. */
#define BEFORE_MAX 64

/* So many bytes decide about a first word with characters that no method has. */
#define ODD_MAX 64

/* The line is scanned again with every segment, so it needs a bound: a longer line counts as a
 * request, whose parser has a bound of its own. */
#define LINE_MAX_SEEN ((size_t)8 * 1024)

static size_t gaps(struct http_span s) {
	size_t n = 0;
	while (n < s.len && (gap_char(s.at[n]) || s.at[n] == '\n')) {
		n++;
	}
	return n;
}

/* "HTTP/" after a gap, anywhere in the line. */
static bool has_version(struct http_span line) {
	for (size_t i = 1; i < line.len; i++) {
		struct http_span rest = {line.at + i, line.len - i};
		if (gap_char(line.at[i - 1]) && http_span_begins(rest, "HTTP/")) {
			return true;
		}
	}
	return false;
}

/* The first line of HTTP/2, which http_sniff_http2() detects. */
static bool is_preface(struct http_span line) {
	return line.len >= 14 && memcmp(line.at, "PRI * HTTP/2.0", 14) == 0;
}

/* Methods that servers accept without further checks. */
static bool is_method(struct http_span word) {
	static const char *const methods[] = {"GET",   "HEAD",    "POST",  "PUT",    "DELETE",
					      "PATCH", "OPTIONS", "TRACE", "CONNECT"};
	for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
		if (http_span_is(word, methods[i])) {
			return true;
		}
	}
	return false;
}

/* Capital letters, '-' and '_': servers accept such words as unknown methods; other protocols
 * often have lower-case commands (memcached). */
static bool looks_like_method(struct http_span word) {
	for (size_t i = 0; i < word.len; i++) {
		bool capital = word.at[i] >= 'A' && word.at[i] <= 'Z';
		if (!capital && (i == 0 || (word.at[i] != '-' && word.at[i] != '_'))) {
			return false;
		}
	}
	return word.len > 0;
}

/* Methods, also of UPnP, WebDAV and RTSP, that Node and PHP accept with the target "*". */
static bool takes_asterisk(struct http_span word) {
	static const char *const methods[] = {
		"ACL",           "ANNOUNCE",     "BIND",      "CHECKOUT", "COPY",   "DESCRIBE",
		"FLUSH",         "LINK",         "LOCK",      "M-SEARCH", "MERGE",  "MKACTIVITY",
		"MKCALENDAR",    "MKCOL",        "MOVE",      "NOTIFY",   "PAUSE",  "PRI",
		"PLAY",          "PROPFIND",     "PROPPATCH", "PURGE",    "QUERY",  "REBIND",
		"RECORD",        "REDIRECT",     "REPORT",    "SEARCH",   "SETUP",  "SOURCE",
		"SUBSCRIBE",     "TEARDOWN",     "UNBIND",    "UNLINK",   "UNLOCK", "UNSUBSCRIBE",
		"GET_PARAMETER", "SET_PARAMETER"};
	for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
		if (http_span_exactly(word, methods[i])) {
			return true;
		}
	}
	return is_method(word);
}

static bool is_letter(uint8_t c) {
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static bool is_alnum(uint8_t c) {
	return is_letter(c) || (c >= '0' && c <= '9');
}

/* "SCHEME://". */
static bool is_url(struct http_span s) {
	size_t n = 0;
	while (n < s.len && is_letter(s.at[n])) {
		n++;
	}
	return n > 0 && http_span_begins((struct http_span){s.at + n, s.len - n}, "://");
}

static struct http_span after_word(struct http_span line, struct http_span word) {
	struct http_span rest = {line.at + word.len, line.len - word.len};
	while (rest.len > 0 && gap_char(rest.at[0])) {
		rest.at++;
		rest.len--;
	}
	return rest;
}

/* A target of HTTP, not of SIP, which shares some methods.  RTSP has URLs as targets too, and Node
 * serves RTSP requests as HTTP. */
static bool has_target(struct http_span line, struct http_span method) {
	struct http_span rest = after_word(line, method);

	if (http_span_begins(rest, "/") || is_url(rest)) {
		return looks_like_method(method) || is_method(method);
	}
	if (http_span_begins(rest, "http:")) {
		return is_method(method);
	}
	/* HOST:PORT; in NATS a JSON object follows CONNECT. */
	if (http_span_is(method, "CONNECT") && rest.len > 0 &&
	    (is_alnum(rest.at[0]) || rest.at[0] == '[')) {
		return true;
	}
	return http_span_begins(rest, "*") && takes_asterisk(method) && !is_preface(line);
}

/* A complete line without "HTTP/".  The first lines of ssh, SMTP and SIP have words but no such
 * version.  HTTP/0.9 had no version and only GET, but servers that still support it accept other
 * methods too, and the fields that follow. */
static enum sniff judge_line(struct http_span line, struct http_span method) {
	/* PROXY protocol, version 1: a request follows. */
	if (http_span_exactly(method, "PROXY")) {
		return SNIFF_DONE;
	}
	bool get = http_span_is(method, "GET") && !is_preface(line);
	return get || has_target(line, method) ? SNIFF_DONE : SNIFF_BAD;
}

/* Up to the first control character. */
static size_t text_len(struct http_span line) {
	size_t n = 0;
	while (n < line.len && (gap_char(line.at[n]) || text_char(line.at[n]))) {
		n++;
	}
	return n;
}

/* A line with a control character, which decides, however the line is segmented: no request, unless
 * the text before it begins with a method or has a version.  Another first word may be a method of
 * some server that accepts control characters: then the complete line decides. */
static enum sniff judge_controls(struct http_span line, bool whole) {
	struct http_span text = {line.at, text_len(line)}, word = {line.at, 0};
	while (word.len < text.len && http_is_token_char(text.at[word.len])) {
		word.len++;
	}
	bool followed = word.len < text.len;
	if ((followed && is_method(word)) || (has_version(text) && !is_preface(text))) {
		return SNIFF_DONE;
	}
	if (!followed || !gap_char(text.at[word.len]) || !is_letter(line.at[0])) {
		return SNIFF_BAD;
	}
	if (!whole && line.len < LINE_MAX_SEEN) {
		return SNIFF_MORE;
	}
	return has_version(line) || !whole ? SNIFF_DONE : judge_line(line, word);
}

/* PROXY protocol, version 2: a binary signature. */
static enum sniff sniff_proxy2(const uint8_t *data, size_t len) {
	static const uint8_t signature[] = {'\r', '\n', '\r', '\n', 0,   '\r',
					    '\n', 'Q',  'U',  'I',  'T', '\n'};
	size_t n = len < sizeof signature ? len : sizeof signature;

	if (len <= 4 || memcmp(data, signature, n) != 0) {
		return SNIFF_BAD;
	}
	return n == sizeof signature ? SNIFF_DONE : SNIFF_MORE;
}

bool http_sniff_within(const uint8_t *data, size_t len) {
	return has_version((struct http_span){data, len});
}

enum sniff http_sniff(const uint8_t *data, size_t len) {
	enum sniff preface = sniff_proxy2(data, len);
	if (preface != SNIFF_BAD) {
		return preface; /* the parser refuses it */
	}
	struct http_span line = {data, len};
	if (line.len > LINE_MAX_SEEN) {
		line.len = LINE_MAX_SEEN;
	}
	size_t before = gaps(line), word = 0;
	if (before > BEFORE_MAX) {
		return SNIFF_DONE; /* no other protocol begins like this; the parser refuses it */
	}
	line.at += before;
	line.len -= before;
	const uint8_t *end = line.len == 0 ? NULL : memchr(line.at, '\n', line.len);
	line.len = end == NULL ? line.len : (size_t)(end - line.at);
	if (text_len(line) < line.len) {
		return judge_controls(line, end != NULL);
	}
	/* With any first word: some servers do not check it. */
	if (end != NULL && has_version(line) && !is_preface(line)) {
		return SNIFF_DONE;
	}
	while (word < line.len && http_is_token_char(line.at[word])) {
		word++;
	}
	/* A first word of any length: servers forward unknown methods, and the line may arrive in
	 * pieces.  No server accepts a method of LINE_MAX_SEEN bytes. */
	if (end == NULL && (line.len <= ODD_MAX || word == line.len)) {
		return len >= LINE_MAX_SEEN ? SNIFF_BAD : SNIFF_MORE;
	}
	/* The first word is not a token: another protocol. */
	if (word == 0 || word == line.len || !gap_char(line.at[word]) || line.at[word] == '\r') {
		return SNIFF_BAD;
	}
	if (end != NULL) {
		return judge_line(line, (struct http_span){line.at, word});
	}
	return len >= LINE_MAX_SEEN ? SNIFF_DONE : SNIFF_MORE;
}

enum sniff http_sniff_http2(const uint8_t *data, size_t len) {
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
