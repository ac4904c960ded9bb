/* SPDX-License-Identifier: Apache-2.0 */
/* Parses one HTTP/1 request head: its host, its length and the framing of its body.
 *
 * Should:   accept only heads that the strictest server accepts, so that every server that
 *           accepts the request finds the same host and the same end.
 * Must not: repair anything: the bytes that were read are the bytes that are forwarded.
 * Fails:    closed, with a status for a proxy's answer and the reason.
 *
 * A refusal depends only on the bytes before the head's end: the result does not change with
 * the bytes after it, nor with the segments in which the head arrives. */
#include "net/http.h"

#include "base/auto.h"
#include "net/http_fields.h"

#include <string.h>

#define METHOD_MAX 32
#define EMPTY_LINES_MAX 4     /* before a request; RFC 9112, 2.2 requires one */
#define CONNECTION_OPTIONS 32 /* http_forward.c compares each with each field */
#define LENGTH_DIGITS_MAX 18  /* always below 2^62 */

/* status 0: none. */
struct refusal {
	int status;
	const char *why;
};

#define ACCEPTED ((struct refusal){0, NULL})

static struct refusal bad(const char *why) {
	return (struct refusal){400, why};
}

/* HOST or HOST:PORT.  Without brackets the port of an IPv6 address is ambiguous. */
static bool read_host(struct http_span s, struct hostname *ret, uint16_t *ret_port) {
	const uint8_t *colon = s.len == 0 ? NULL : memchr(s.at, ':', s.len);
	size_t behind = colon == NULL ? 0 : s.len - (size_t)(colon - s.at) - 1;
	if (behind > 0 && s.at[0] != '[' && memchr(colon + 1, ':', behind) != NULL) {
		return false;
	}
	return hostname_parse_port((const char *)s.at, s.len, ret, ret_port) != HOST_BAD;
}

/* ---- the request line ---- */

/* The bytes before the next blank; *rest begins after it. */
static bool word_next(struct http_span *rest, struct http_span *ret) {
	const uint8_t *blank = rest->len == 0 ? NULL : memchr(rest->at, ' ', rest->len);
	if (blank == NULL) {
		return false;
	}
	*ret = (struct http_span){rest->at, (size_t)(blank - rest->at)};
	rest->at = blank + 1;
	rest->len -= ret->len + 1;
	return true;
}

static struct refusal read_version(struct http_span s, struct http_head *h) {
	static const char form[] = "HTTP/1.";
	const size_t len = sizeof form - 1;
	if (s.len == len + 1 && memcmp(s.at, form, len) == 0 &&
	    (s.at[len] == '0' || s.at[len] == '1')) {
		h->minor = s.at[len] - '0';
		return ACCEPTED;
	}
	return s.len == len + 1 && memcmp(s.at, "HTTP/", 5) == 0
		       ? (struct refusal){505, "the request is neither HTTP/1.0 nor HTTP/1.1"}
		       : bad("the request line does not end with HTTP/1.1");
}

static struct refusal read_method(struct http_span s, struct http_head *h) {
	/* TRACE and TRACK return the request, with its credentials; PURGE is a command to a cache.
	 */
	static const char *const refused[] = {"TRACE", "TRACK", "PURGE"};
	if (s.len > METHOD_MAX || !http_span_is_token(s) || http_span_is(s, "PRI")) {
		return bad("the request method is not a token");
	}
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		if (http_span_is(s, refused[i])) {
			return (struct refusal){
				405, "the methods TRACE, TRACK and PURGE are not allowed"};
		}
	}
	h->connect = http_span_is(s, "CONNECT");
	/* Case-sensitive: a server that takes "post" for another method may ignore its body. */
	h->has_content = http_span_exactly(s, "POST") || http_span_exactly(s, "PUT") ||
			 http_span_exactly(s, "PATCH");
	h->get = http_span_exactly(s, "GET");
	return ACCEPTED;
}

/* "http://AUTHORITY…". */
static struct refusal read_absolute(struct http_span s, struct http_head *h) {
	const size_t scheme = strlen("http://");
	size_t len = 0;
	s = (struct http_span){s.at + scheme, s.len - scheme};
	while (len < s.len && s.at[len] != '/' && s.at[len] != '?') {
		len++;
	}
	if (memchr(s.at, '@', len) != NULL) {
		return bad("the request target contains a user name");
	}
	h->form = HTTP_ABSOLUTE;
	return read_host((struct http_span){s.at, len}, &h->host, &h->port)
		       ? ACCEPTED
		       : bad("the request target names no host");
}

static struct refusal read_authority(struct http_span s, struct http_head *h) {
	h->form = HTTP_AUTHORITY;
	return read_host(s, &h->host, &h->port) && h->port != 0
		       ? ACCEPTED
		       : bad("the target of CONNECT is not HOST:PORT");
}

static struct refusal read_target(struct http_span s, struct http_span method,
				  struct http_head *h) {
	for (size_t i = 0; i < s.len; i++) {
		if (!text_char(s.at[i]) || s.at[i] == '\t' || s.at[i] == '#') {
			return bad("the request target contains an invalid character");
		}
	}
	if (h->connect) {
		return read_authority(s, h);
	}
	if (http_span_begins(s, "http://")) {
		return read_absolute(s, h);
	}
	if (http_span_is(s, "*") && http_span_is(method, "OPTIONS")) {
		h->form = HTTP_ASTERISK;
		return ACCEPTED;
	}
	h->form = HTTP_ORIGIN;
	return s.len > 0 && s.at[0] == '/'
		       ? ACCEPTED
		       : bad("the request target is neither a path nor an http URL");
}

static struct refusal read_request(struct http_span line, const uint8_t *data,
				   struct http_head *h) {
	struct http_span rest = line, method, target;
	if (!word_next(&rest, &method) || !word_next(&rest, &target)) {
		return bad("the request line is not METHOD TARGET VERSION");
	}
	struct refusal refusal = read_version(rest, h);
	if (refusal.status == 0) {
		refusal = read_method(method, h);
	}
	if (refusal.status == 0) {
		refusal = read_target(target, method, h);
	}
	h->target = (size_t)(target.at - data);
	h->target_len = target.len;
	return refusal;
}

/* ---- lines ---- */

struct lines {
	struct http_span request; /* at is NULL until the line is complete */
	struct http_span fields;
	size_t count; /* of fields */
	size_t empty; /* empty lines before the request line */
	size_t len;   /* of the head; 0 until it is complete */
};

/* Parses the request line as soon as it is complete, so that the first error is reported, however
 * the head is segmented. */
static struct refusal add_line(struct lines *l, struct http_span line, const uint8_t *data,
			       struct http_head *h) {
	if (l->request.at == NULL && line.len == 0) {
		return ++l->empty > EMPTY_LINES_MAX ? bad("too many empty lines before the request")
						    : ACCEPTED;
	}
	if (l->request.at == NULL) {
		l->request = line;
		l->fields.at = line.at + line.len + 2;
		return read_request(line, data, h);
	}
	if (line.len > 0 && ++l->count > HTTP_FIELDS_MAX) {
		return (struct refusal){431, "the request has more than 256 fields"};
	}
	return ACCEPTED;
}

static struct refusal find_lines(const uint8_t *data, size_t len, struct lines *l,
				 struct http_head *h) {
	struct http_span rest = {data, len}, line;
	while (rest.len > 0 && memchr(rest.at, '\n', rest.len) != NULL) {
		if (!http_line_next(&rest, &line)) {
			return bad("a line of the request ends without CR (bare LF)");
		}
		bool last = line.len == 0 && l->request.at != NULL;
		struct refusal refusal = add_line(l, line, data, h);
		if (refusal.status != 0) {
			return refusal;
		}
		if (last) {
			l->fields.len = (size_t)(line.at - l->fields.at);
			l->len = (size_t)(rest.at - data);
			return ACCEPTED;
		}
	}
	return ACCEPTED;
}

/* ---- fields ---- */

/* The values of the fields, before they are checked together. */
struct values {
	bool host, length, encoding, upgrade, connection_upgrade, key, version;
	struct hostname name;
	uint16_t port;
	uint64_t bytes;
	size_t options; /* of Connection */
	enum http_upgrade protocol;
	char websocket_key[WEBSOCKET_KEY];
};

static struct refusal take_host(struct values *s, struct http_span value) {
	if (s->host) {
		return bad("the request has two Host fields");
	}
	s->host = true;
	return read_host(value, &s->name, &s->port) ? ACCEPTED
						    : bad("the request's Host is not a host name");
}

/* Leading zeros are refused: some parsers read them as octal. */
static struct refusal take_length(struct values *s, struct http_span value) {
	if (s->length) {
		return bad("the request has two Content-Length fields");
	}
	s->length = true;
	bool fits = value.len > 0 && value.len <= LENGTH_DIGITS_MAX &&
		    (value.at[0] != '0' || value.len == 1);
	for (size_t i = 0; fits && i < value.len; i++) {
		fits = value.at[i] >= '0' && value.at[i] <= '9';
		s->bytes = s->bytes * 10 + (uint64_t)(value.at[i] - '0');
	}
	return fits ? ACCEPTED : bad("the request's Content-Length is not a valid number");
}

static struct refusal take_encoding(struct values *s, struct http_span value) {
	if (s->encoding || !http_span_is(value, "chunked")) {
		return bad("the request's Transfer-Encoding is not just chunked");
	}
	s->encoding = true;
	return ACCEPTED;
}

/* An intermediary drops the fields that Connection names: those must not be the fields that
 * decide the host and the end of the request. */
static struct refusal take_connection(struct values *s, struct http_span value) {
	struct http_span option;
	while (http_list_next(&value, &option)) {
		if (!http_span_is_token(option) || ++s->options > CONNECTION_OPTIONS) {
			return bad("the request's Connection is not a list of at most 32 tokens");
		}
		if (http_span_resembles(option, "host") ||
		    http_span_resembles(option, "content-length") ||
		    http_span_resembles(option, "transfer-encoding")) {
			return bad("the request's Connection names Host, Content-Length or "
				   "Transfer-Encoding");
		}
		s->connection_upgrade = s->connection_upgrade || http_span_is(option, "upgrade");
	}
	return ACCEPTED;
}

static struct refusal take_upgrade(struct values *s, struct http_span value) {
	s->protocol =
		!s->upgrade && http_span_is(value, "websocket") ? UPGRADE_WEBSOCKET : UPGRADE_OTHER;
	s->upgrade = true;
	return ACCEPTED;
}

/* With a malformed or a second key it is not a WebSocket handshake. */
static struct refusal take_key(struct values *s, struct http_span value) {
	bool fits = !s->key && value.len == sizeof s->websocket_key;

	if (fits) {
		memcpy(s->websocket_key, value.at, sizeof s->websocket_key);
	}
	s->key = fits;
	return ACCEPTED;
}

static struct refusal take_websocket_version(struct values *s, struct http_span value) {
	s->version = http_span_is(value, "13");
	return ACCEPTED;
}

static const struct {
	const char *name;
	struct refusal (*take)(struct values *s, struct http_span value);
} known[] = {
	{"host", take_host},
	{"content-length", take_length},
	{"transfer-encoding", take_encoding},
	{"connection", take_connection},
	{"upgrade", take_upgrade},
	{"sec-websocket-key", take_key},
	{"sec-websocket-version", take_websocket_version},
};

static struct refusal take_field(struct values *s, const struct field *f) {
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		if (http_span_is(f->name, known[i].name)) {
			return known[i].take(s, f->value);
		}
		if (http_span_resembles(f->name, known[i].name)) {
			return bad("a field name has '_' where Host, a length or an upgrade field "
				   "has '-'");
		}
	}
	return ACCEPTED;
}

static struct refusal read_fields(struct http_span fields, struct values *s) {
	struct http_span line;
	struct field f;
	while (http_line_next(&fields, &line)) {
		if (line.at[0] == ' ' || line.at[0] == '\t') {
			return bad("a field of the request is folded (obs-fold)");
		}
		if (!http_field_read(line, &f)) {
			return bad("a line of the request is not NAME: VALUE");
		}
		struct refusal refusal = take_field(s, &f);
		if (refusal.status != 0) {
			return refusal;
		}
	}
	return ACCEPTED;
}

/* ---- checks across fields ---- */

static bool same_host(const struct hostname *a, const struct hostname *b) {
	return a->kind == b->kind &&
	       (a->kind == HOST_NAME ? strcmp(a->name, b->name) == 0 : ip_same(&a->ip, &b->ip));
}

/* Clients may omit the port in CONNECT's Host, and port 80 anywhere. */
static bool same_port(const struct http_head *h, uint16_t host_port) {
	if (h->form == HTTP_AUTHORITY) {
		return host_port == 0 || host_port == h->port;
	}
	return (h->port == 0 ? 80 : h->port) == (host_port == 0 ? 80 : host_port);
}

static struct refusal check_host(const struct values *s, struct http_head *h) {
	bool in_target = h->form == HTTP_ABSOLUTE || h->form == HTTP_AUTHORITY;

	h->has_host = s->host;
	if (!s->host && h->minor > 0) {
		return bad("the request has no Host field");
	}
	if (s->host && in_target && (!same_host(&s->name, &h->host) || !same_port(h, s->port))) {
		return bad("the request's Host and its target name different hosts");
	}
	if (s->host && !in_target) {
		h->host = s->name;
		h->port = s->port;
	}
	if (!s->host && !in_target) {
		h->host =
			(struct hostname){.kind = HOST_BAD, .why = "the request has no Host field"};
	}
	return ACCEPTED;
}

static struct refusal check_body(const struct values *s, struct http_head *h) {
	if (s->encoding && s->length) {
		return bad("the request has both Content-Length and Transfer-Encoding");
	}
	if (s->encoding && h->minor == 0) {
		return bad("HTTP/1.0 has no Transfer-Encoding");
	}
	if (h->connect && (s->encoding || s->bytes > 0)) {
		return bad("CONNECT has a body");
	}
	if (s->encoding) {
		h->body.kind = BODY_CHUNKED;
	} else if (s->bytes > 0) {
		h->body = (struct http_body){.kind = BODY_LENGTH, .left = s->bytes};
	}
	return ACCEPTED;
}

/* Only the answer to a complete handshake can be verified (Sec-WebSocket-Accept). */
static void check_upgrade(const struct values *s, struct http_head *h) {
	bool whole = h->get && h->minor == 1 && h->body.kind == BODY_NONE &&
		     s->connection_upgrade && s->key && s->version;

	h->upgrade = s->protocol == UPGRADE_WEBSOCKET && !whole ? UPGRADE_OTHER : s->protocol;
	memcpy(h->websocket_key, s->websocket_key, sizeof h->websocket_key);
}

static struct refusal read_head(const uint8_t *data, size_t len, struct http_head *h) {
	struct lines l = {0};
	struct values s = {0};
	struct refusal refusal = find_lines(data, len < HTTP_HEAD_MAX ? len : HTTP_HEAD_MAX, &l, h);
	if (refusal.status == 0 && l.len == 0 && len >= HTTP_HEAD_MAX) {
		refusal = (struct refusal){431, "the request head is longer than 64 KiB"};
	}
	if (refusal.status != 0 || l.len == 0) {
		return refusal;
	}
	refusal = read_fields(l.fields, &s);
	if (refusal.status == 0) {
		refusal = check_host(&s, h);
	}
	if (refusal.status == 0) {
		refusal = check_body(&s, h);
	}
	h->len = l.len;
	check_upgrade(&s, h);
	return refusal;
}

enum sniff http_head_read(const uint8_t *data, size_t len, struct http_head *ret, int *status,
			  const char **why) {
	struct http_head h = {0};
	struct refusal refusal = read_head(data, len, &h);
	if (refusal.status != 0) {
		*status = refusal.status;
		*why = refusal.why;
		return SNIFF_BAD;
	}
	if (h.len == 0) {
		return SNIFF_MORE;
	}
	*ret = h;
	return SNIFF_DONE;
}
