/* SPDX-License-Identifier: Apache-2.0 */
/* A strict parser of HTTP/1 requests.  Pure: no buffer, no descriptor. */
#ifndef CORRAL_NET_HTTP_H
#define CORRAL_NET_HTTP_H

#include "net/tls_hello.h"
#include "net/websocket.h"

#define HTTP_HEAD_MAX ((size_t)64 * 1024) /* longer heads are refused: 431 */
#define HTTP_FIELDS_MAX 256

enum http_form {
	HTTP_ORIGIN,    /* "/path" */
	HTTP_ABSOLUTE,  /* "http://host/path" */
	HTTP_AUTHORITY, /* CONNECT "host:port" */
	HTTP_ASTERISK,  /* OPTIONS "*" */
};

/* WEBSOCKET: a complete handshake of RFC 6455, with GET, a key and version 13. */
enum http_upgrade { UPGRADE_NONE, UPGRADE_WEBSOCKET, UPGRADE_OTHER };

struct http_body {
	enum { BODY_NONE, BODY_LENGTH, BODY_CHUNKED } kind;
	uint64_t left; /* LENGTH: bytes to come; CHUNKED: of this chunk */
	uint8_t state; /* CHUNKED: private to http_body.c */
	uint32_t line; /* CHUNKED: bytes of the current line */
};

struct http_head {
	size_t len; /* including the empty line */
	enum http_form form;
	bool connect;         /* the method is CONNECT */
	bool get;             /* it is GET */
	bool has_content;     /* the method is POST, PUT or PATCH */
	bool has_host;        /* there is a Host field, not only a host in the target */
	struct hostname host; /* of the target or of Host, which must agree; HOST_BAD without
			       * either (HTTP/1.0) */
	uint16_t port;        /* as written there; 0: none */
	int minor;            /* HTTP/1.minor */
	enum http_upgrade upgrade;
	char websocket_key[WEBSOCKET_KEY]; /* UPGRADE_WEBSOCKET; without NUL */
	struct http_body body;
	size_t target, target_len; /* offset and length of the request target in data */
};

/* Whether the first bytes are a request, however malformed: a word and a blank, and in the
 * same line an HTTP version, or GET alone, or a method (or a word like one) with a path, a URL or
 * "*".  SNIFF_MORE while they may still become one.  SNIFF_BAD for the first lines of ssh, SMTP,
 * SIP and NATS, and for "PRI * HTTP/2.0".  A line of 8 KiB counts as a request: http_head_read()
 * returns the reason to refuse it. */
enum sniff http_sniff(const uint8_t *data, size_t len);

/* Whether an HTTP version follows a blank anywhere in these bytes: a lenient server may take them
 * for a request. */
bool http_sniff_within(const uint8_t *data, size_t len);

/* The preface of HTTP/2 with prior knowledge: SNIFF_DONE once all of it is there. */
enum sniff http_sniff_http2(const uint8_t *data, size_t len);

/* Parses one request head at the beginning of data, which has all bytes of it so far.
 * Refused as ambiguous: bare LF or CR, obs-fold, space before a colon, two Hosts, an empty one,
 * none in HTTP/1.1, Host and target that differ, userinfo, schemes other than http, fragments,
 * Content-Length twice or with Transfer-Encoding, an encoding other than "chunked" alone, either of
 * them or Host with '_' or named by Connection, a body of CONNECT, NUL, HTTP/0.9, an unknown
 * version, methods TRACE, TRACK, PURGE.  *status is the status of a proxy's answer (400, 405, 431,
 * 505), *why one clause. */
enum sniff http_head_read(const uint8_t *data, size_t len, struct http_head *ret, int *status,
			  const char **why);

/* Returns how many of these bytes belong to the body; *ret_end: the body is complete after them.
 * -1: malformed chunks.  A chunk's line has 4096 bytes at most, all trailers 8192. */
long http_body_take(struct http_body *b, const uint8_t *data, size_t len, bool *ret_end);

/* The parts of a body: its content; text in the framing that a sender may choose (a chunk's
 * extension, a trailer), one line each; sizes and line ends. */
enum http_piece { HTTP_PIECE_DATA, HTTP_PIECE_TEXT, HTTP_PIECE_FRAME };

/* The same, one part at a time: returns how many of these bytes belong to the next part; 0: the
 * body is complete. */
long http_body_next(struct http_body *b, const uint8_t *data, size_t len, enum http_piece *ret);

/* Scanner for a request line in a body, which a server that ignores the body would serve. */
struct http_scan {
	bool first_line; /* the method has content: scan only the first line that is not empty */
	bool begun, over;
	bool version, get; /* the word so far is a prefix of "http/", "get" */
	uint8_t at;        /* letters of the word; 6: more */
	uint8_t words;     /* words before it in the line; 3: more */
	uint32_t line;     /* bytes scanned, for the bound */
};

/* Scans the body's next bytes, including chunk lines.  False: a request begins in them. */
bool http_scan_take(struct http_scan *s, const uint8_t *data, size_t len);

/* The rest of the body need not be scanned. */
bool http_scan_over(const struct http_scan *s);

/* Rewrites a proxy request for the origin server: target in origin form, without Proxy-* and
 * hop-by-hop fields (Connection and those it names, Keep-Alive, TE, Trailer, Upgrade; not
 * Transfer-Encoding), with "Connection: close", and with a Host for HTTP/1.0 without one.  Returns
 * the length; 0: it does not fit (head->len + 64 bytes always do), or the method is CONNECT. */
size_t http_head_forward(const uint8_t *data, const struct http_head *head, uint8_t *out,
			 size_t cap);

/* The status of a server's response: SNIFF_DONE with *ret_status once the line is complete. */
enum sniff http_status_read(const uint8_t *data, size_t len, int *ret_status);

/* The head of a response.  Only status 100 to 199 is read to its end; len is 0 for others. */
struct http_answer {
	int status;
	size_t len;
	const char *accept; /* Sec-WebSocket-Accept, in data; NULL: none */
	size_t accept_len;
};

enum sniff http_answer_read(const uint8_t *data, size_t len, struct http_answer *ret);

#endif
