/* One request's head: for whom it is, and how long it and its body are.
 *
 * Should:   read what the strictest server reads, so that every server that accepts the
 *           request sees the same host and the same end.
 * Must not: mend anything: what is passed on is what was read.
 * Fails:    closed, with the status that a proxy answers and a clause that says why.
 *
 * A refusal depends only on what stands before the head's end: the answer to a head does
 * not change with what comes behind it, nor with how it was cut on its way. */
#include "net/http.h"

#include "base/auto.h"
#include "net/http_fields.h"

#include <string.h>

#define METHOD_MAX 32
#define EMPTY_LINES_MAX 4     /* before a request; RFC 9112, 2.2 asks for one */
#define CONNECTION_OPTIONS 32 /* each is compared with each field when a head is forwarded */
#define LENGTH_DIGITS_MAX 18  /* the most that stay below 2^62 whatever they are */

/* status 0: none. */
struct refusal {
	int status;
	const char *why;
};

#define ACCEPTED ((struct refusal){0, NULL})

static struct refusal bad(const char *why) {
	return (struct refusal){400, why};
}

/* HOST or HOST:PORT.  Without brackets nobody can tell where an IPv6 address ends and its port
 * begins. */
static bool read_host(struct http_span s, struct hostname *ret, uint16_t *ret_port) {
	const uint8_t *colon = s.len == 0 ? NULL : memchr(s.at, ':', s.len);
	size_t behind = colon == NULL ? 0 : s.len - (size_t)(colon - s.at) - 1;
	if (behind > 0 && s.at[0] != '[' && memchr(colon + 1, ':', behind) != NULL) {
		return false;
	}
	return hostname_parse_port((const char *)s.at, s.len, ret, ret_port) != HOST_BAD;
}

/* ---- the request's line ---- */

/* Cuts off what stands before the next blank. */
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
		       : bad("the request's line does not end in HTTP/1.1");
}

static struct refusal read_method(struct http_span s, struct http_head *h) {
	/* They answer with what was sent, or are orders to a cache. */
	static const char *const refused[] = {"TRACE", "TRACK", "PURGE"};
	if (s.len > METHOD_MAX || !http_span_is_token(s) || http_span_is(s, "PRI")) {
		return bad("the request's method is not a word");
	}
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		if (http_span_is(s, refused[i])) {
			return (struct refusal){
				405, "the methods TRACE, TRACK and PURGE are not passed on"};
		}
	}
	h->connect = http_span_is(s, "CONNECT");
	/* Written so: a server that knows "post" for another method may ignore its body. */
	h->has_content = http_span_exactly(s, "POST") || http_span_exactly(s, "PUT") ||
			 http_span_exactly(s, "PATCH");
	h->get = http_span_exactly(s, "GET");
	return ACCEPTED;
}

/* "http://AUTHORITY": the part that names the host. */
static struct refusal read_absolute(struct http_span s, struct http_head *h) {
	const size_t scheme = strlen("http://");
	size_t len = 0;
	s = (struct http_span){s.at + scheme, s.len - scheme};
	while (len < s.len && s.at[len] != '/' && s.at[len] != '?') {
		len++;
	}
	if (memchr(s.at, '@', len) != NULL) {
		return bad("the request's target holds a user's name");
	}
	h->form = HTTP_ABSOLUTE;
	return read_host((struct http_span){s.at, len}, &h->host, &h->port)
		       ? ACCEPTED
		       : bad("the request's target does not name a host");
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
			return bad("the request's target holds a character that no target has");
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
		       : bad("the request's target is neither a path nor an http URL");
}

static struct refusal read_request(struct http_span line, const uint8_t *data,
				   struct http_head *h) {
	struct http_span rest = line, method, target;
	if (!word_next(&rest, &method) || !word_next(&rest, &target)) {
		return bad("the request's line is not METHOD TARGET VERSION");
	}
	struct refusal told = read_version(rest, h);
	if (told.status == 0) {
		told = read_method(method, h);
	}
	if (told.status == 0) {
		told = read_target(target, method, h);
	}
	h->target = (size_t)(target.at - data);
	h->target_len = target.len;
	return told;
}

/* ---- lines ---- */

struct lines {
	struct http_span request; /* at is NULL until the line is there */
	struct http_span fields;
	size_t count; /* of fields */
	size_t empty; /* lines before the request's */
	size_t len;   /* of the head; 0 until it is there */
};

/* One more line.  The request's is read as soon as it is there, so that the first fault is told,
 * however much came with it. */
static struct refusal add_line(struct lines *l, struct http_span line, const uint8_t *data,
			       struct http_head *h) {
	if (l->request.at == NULL && line.len == 0) {
		return ++l->empty > EMPTY_LINES_MAX
			       ? bad("there are empty lines instead of a request")
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
			return bad("a line of the request ends without CR");
		}
		bool last = line.len == 0 && l->request.at != NULL;
		struct refusal told = add_line(l, line, data, h);
		if (told.status != 0) {
			return told;
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

/* What the fields say, before it is compared. */
struct said {
	bool host, length, encoding, upgrade, upgrades, key, version;
	struct hostname name;
	uint16_t port;
	uint64_t bytes;
	size_t options; /* of Connection */
	enum http_upgrade to;
	char websocket_key[WEBSOCKET_KEY];
};

static struct refusal take_host(struct said *s, struct http_span value) {
	if (s->host) {
		return bad("the request has two Hosts");
	}
	s->host = true;
	return read_host(value, &s->name, &s->port)
		       ? ACCEPTED
		       : bad("the request's Host is not a host's name");
}

/* Leading zeros are left to nobody's reading. */
static struct refusal take_length(struct said *s, struct http_span value) {
	if (s->length) {
		return bad("the request has two Content-Lengths");
	}
	s->length = true;
	bool fits = value.len > 0 && value.len <= LENGTH_DIGITS_MAX &&
		    (value.at[0] != '0' || value.len == 1);
	for (size_t i = 0; fits && i < value.len; i++) {
		fits = value.at[i] >= '0' && value.at[i] <= '9';
		s->bytes = s->bytes * 10 + (uint64_t)(value.at[i] - '0');
	}
	return fits ? ACCEPTED : bad("the request's Content-Length is not a number");
}

static struct refusal take_encoding(struct said *s, struct http_span value) {
	if (s->encoding || !http_span_is(value, "chunked")) {
		return bad("the request's Transfer-Encoding is not chunked alone");
	}
	s->encoding = true;
	return ACCEPTED;
}

/* Whoever obeys Connection drops what it names: that may not be what decides where a
 * request goes and where it ends. */
static struct refusal take_connection(struct said *s, struct http_span value) {
	struct http_span option;
	while (http_list_next(&value, &option)) {
		if (!http_span_is_token(option) || ++s->options > CONNECTION_OPTIONS) {
			return bad("the request's Connection is not a short list of words");
		}
		if (http_span_resembles(option, "host") ||
		    http_span_resembles(option, "content-length") ||
		    http_span_resembles(option, "transfer-encoding")) {
			return bad("the request's Connection names Host or a length");
		}
		s->upgrades = s->upgrades || http_span_is(option, "upgrade");
	}
	return ACCEPTED;
}

static struct refusal take_upgrade(struct said *s, struct http_span value) {
	s->to = !s->upgrade && http_span_is(value, "websocket") ? UPGRADE_WEBSOCKET : UPGRADE_OTHER;
	s->upgrade = true;
	return ACCEPTED;
}

/* One that is no key, or the second, is none: then no WebSocket is asked for. */
static struct refusal take_key(struct said *s, struct http_span value) {
	bool fits = !s->key && value.len == sizeof s->websocket_key;

	if (fits) {
		memcpy(s->websocket_key, value.at, sizeof s->websocket_key);
	}
	s->key = fits;
	return ACCEPTED;
}

static struct refusal take_websocket(struct said *s, struct http_span value) {
	s->version = http_span_is(value, "13");
	return ACCEPTED;
}

static const struct {
	const char *name;
	struct refusal (*take)(struct said *s, struct http_span value);
} known[] = {
	{"host", take_host},
	{"content-length", take_length},
	{"transfer-encoding", take_encoding},
	{"connection", take_connection},
	{"upgrade", take_upgrade},
	{"sec-websocket-key", take_key},
	{"sec-websocket-version", take_websocket},
};

static struct refusal take_field(struct said *s, const struct field *f) {
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		if (http_span_is(f->name, known[i].name)) {
			return known[i].take(s, f->value);
		}
		if (http_span_resembles(f->name, known[i].name)) {
			return bad("a field's name is that of Host, of a length or of an upgrade "
				   "but for '_'");
		}
	}
	return ACCEPTED;
}

static struct refusal read_fields(struct http_span fields, struct said *s) {
	struct http_span line;
	struct field f;
	while (http_line_next(&fields, &line)) {
		if (line.at[0] == ' ' || line.at[0] == '\t') {
			return bad("a field of the request is folded over two lines");
		}
		if (!http_field_read(line, &f)) {
			return bad("a line of the request is not NAME: VALUE");
		}
		struct refusal told = take_field(s, &f);
		if (told.status != 0) {
			return told;
		}
	}
	return ACCEPTED;
}

/* ---- what they say together ---- */

static bool same_host(const struct hostname *a, const struct hostname *b) {
	return a->kind == b->kind &&
	       (a->kind == HOST_NAME ? strcmp(a->name, b->name) == 0 : ip_same(&a->ip, &b->ip));
}

/* Clients leave the port out of CONNECT's Host, and every client may where it is http's. */
static bool same_port(const struct http_head *h, uint16_t host_port) {
	if (h->form == HTTP_AUTHORITY) {
		return host_port == 0 || host_port == h->port;
	}
	return (h->port == 0 ? 80 : h->port) == (host_port == 0 ? 80 : host_port);
}

static struct refusal settle_host(const struct said *s, struct http_head *h) {
	bool in_target = h->form == HTTP_ABSOLUTE || h->form == HTTP_AUTHORITY;

	h->has_host = s->host;
	if (!s->host && h->minor > 0) {
		return bad("the request has no Host");
	}
	if (s->host && in_target && (!same_host(&s->name, &h->host) || !same_port(h, s->port))) {
		return bad("the request's Host and its target differ");
	}
	if (s->host && !in_target) {
		h->host = s->name;
		h->port = s->port;
	}
	if (!s->host && !in_target) {
		h->host = (struct hostname){.kind = HOST_BAD, .why = "the request has no Host"};
	}
	return ACCEPTED;
}

static struct refusal settle_body(const struct said *s, struct http_head *h) {
	if (s->encoding && s->length) {
		return bad("the request has both Content-Length and Transfer-Encoding");
	}
	if (s->encoding && h->minor == 0) {
		return bad("Transfer-Encoding is not of HTTP/1.0");
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

/* Only a whole handshake can be answered in a way that can be checked. */
static void settle_upgrade(const struct said *s, struct http_head *h) {
	bool whole = h->get && h->minor == 1 && h->body.kind == BODY_NONE && s->upgrades &&
		     s->key && s->version;

	h->upgrade = s->to == UPGRADE_WEBSOCKET && !whole ? UPGRADE_OTHER : s->to;
	memcpy(h->websocket_key, s->websocket_key, sizeof h->websocket_key);
}

static struct refusal read_head(const uint8_t *data, size_t len, struct http_head *h) {
	struct lines l = {0};
	struct said s = {0};
	struct refusal told = find_lines(data, len < HTTP_HEAD_MAX ? len : HTTP_HEAD_MAX, &l, h);
	if (told.status == 0 && l.len == 0 && len >= HTTP_HEAD_MAX) {
		told = (struct refusal){431, "the request's head is longer than 64 KiB"};
	}
	if (told.status != 0 || l.len == 0) {
		return told;
	}
	told = read_fields(l.fields, &s);
	if (told.status == 0) {
		told = settle_host(&s, h);
	}
	if (told.status == 0) {
		told = settle_body(&s, h);
	}
	h->len = l.len;
	settle_upgrade(&s, h);
	return told;
}

enum sniff http_head_read(const uint8_t *data, size_t len, struct http_head *ret, int *status,
			  const char **why) {
	struct http_head h = {0};
	struct refusal told = read_head(data, len, &h);
	if (told.status != 0) {
		*status = told.status;
		*why = told.why;
		return SNIFF_BAD;
	}
	if (h.len == 0) {
		return SNIFF_MORE;
	}
	*ret = h;
	return SNIFF_DONE;
}
