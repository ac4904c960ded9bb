/* HTTP/1 requests as a strict proxy reads them.  Pure: no buffer, no descriptor. */
#ifndef CORRAL_NET_HTTP_H
#define CORRAL_NET_HTTP_H

#include "net/tls_hello.h"
#include "net/websocket.h"

#define HTTP_HEAD_MAX ((size_t)64 * 1024) /* a longer one is refused: 431 */
#define HTTP_FIELDS_MAX 256

enum http_form {
	HTTP_ORIGIN,    /* "/path" */
	HTTP_ABSOLUTE,  /* "http://host/path" */
	HTTP_AUTHORITY, /* CONNECT "host:port" */
	HTTP_ASTERISK,  /* OPTIONS "*" */
};

/* WEBSOCKET: a whole handshake of RFC 6455, with GET, a key and version 13. */
enum http_upgrade { UPGRADE_NONE, UPGRADE_WEBSOCKET, UPGRADE_OTHER };

struct http_body {
	enum { BODY_NONE, BODY_LENGTH, BODY_CHUNKED } kind;
	uint64_t left; /* LENGTH: bytes to come; CHUNKED: of this chunk */
	uint8_t state; /* CHUNKED: http_body.c's own */
	uint32_t line; /* CHUNKED: length of the line that is being read */
};

struct http_head {
	size_t len; /* with the empty line */
	enum http_form form;
	bool connect;         /* the method is CONNECT */
	bool get;             /* it is GET */
	bool has_content;     /* the method is POST, PUT or PATCH */
	bool has_host;        /* there is a Host, and it is not only in the target */
	struct hostname host; /* from the target or Host, which must agree; HOST_BAD without
			       * one (HTTP/1.0) */
	uint16_t port;        /* as written there; 0 without */
	int minor;            /* HTTP/1.minor */
	enum http_upgrade upgrade;
	char websocket_key[WEBSOCKET_KEY]; /* UPGRADE_WEBSOCKET; no NUL behind it */
	struct http_body body;
	size_t target, target_len; /* where the request target stands in data */
};

/* Whether the first bytes are a request, however badly written: a word and a blank, and in the
 * same line a version of HTTP, or GET alone, or another method, or a word that looks like one, with
 * a path, a URL or "*" (SNIFF_MORE while they may still become one).  The first lines of ssh, SMTP,
 * SIP or NATS are none, nor is "PRI * HTTP/2.0".  8 KiB without an end are one: http_head_read()
 * says what is wrong with it. */
enum sniff http_sniff(const uint8_t *data, size_t len);

/* Whether a version of HTTP stands behind a blank somewhere in these bytes, whatever they are: a
 * lenient server may take them for a request. */
bool http_sniff_within(const uint8_t *data, size_t len);

/* HTTP/2 with prior knowledge: SNIFF_DONE once the whole preface is there. */
enum sniff http_sniff_http2(const uint8_t *data, size_t len);

/* One request's head from the beginning of data, which has all that came of it so far.
 * Refused as ambiguous: bare LF or CR, obs-fold, space before a colon, two Hosts, an empty one,
 * none in HTTP/1.1, Host and target that differ, userinfo, schemes other than http, fragments,
 * Content-Length twice or with Transfer-Encoding, an encoding other than "chunked" alone, either of
 * them or Host with '_' or named by Connection, a body of CONNECT, NUL, HTTP/0.9, an unknown
 * version, methods TRACE, TRACK, PURGE.  *status is what a proxy answers then (400, 405, 431,
 * 505), *why one clause. */
enum sniff http_head_read(const uint8_t *data, size_t len, struct http_head *ret, int *status,
			  const char **why);

/* How many of these bytes belong to the body; *ret_end is whether it is complete after them.
 * -1: the framing is broken.  A chunk's line has 4096 bytes at most, all trailers 8192. */
long http_body_take(struct http_body *b, const uint8_t *data, size_t len, bool *ret_end);

/* A body that may be read as the next request: its lines, as a server reads them that ignores it.
 */
struct http_scan {
	bool first_line; /* the method has content: only the first line that is not empty counts */
	bool begun, over;
	bool version, get; /* the word may become "http/", "get" */
	uint8_t at;        /* letters of the word; 6: more */
	uint8_t words;     /* before it in the line; 3: more */
	uint32_t line;     /* bytes that were looked at, for the bound */
};

/* The body's next bytes, chunks with their frame.  False: a request begins in them. */
bool http_scan_take(struct http_scan *s, const uint8_t *data, size_t len);

/* The rest of the body need not be looked at. */
bool http_scan_over(const struct http_scan *s);

/* The head as an origin should get it from a proxy: target in origin form, Proxy-* and
 * hop-by-hop fields (Connection and those it names, Keep-Alive, TE, Trailer, Upgrade; not
 * Transfer-Encoding) gone, "Connection: close", a Host for HTTP/1.0 without one.  Returns its
 * length, or 0 when it does not fit (head->len + 64 bytes always do) or is CONNECT's. */
size_t http_head_forward(const uint8_t *data, const struct http_head *head, uint8_t *out,
			 size_t cap);

/* The status of a server's response: SNIFF_DONE with *ret_status once the line is whole. */
enum sniff http_status_read(const uint8_t *data, size_t len, int *ret_status);

/* The head of an answer.  Only that of 100 to 199 is read to its end; len is 0 for others. */
struct http_answer {
	int status;
	size_t len;
	const char *accept; /* Sec-WebSocket-Accept, in data; NULL: none */
	size_t accept_len;
};

enum sniff http_answer_read(const uint8_t *data, size_t len, struct http_answer *ret);

#endif
