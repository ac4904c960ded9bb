/* SPDX-License-Identifier: Apache-2.0 */
/* One HTTP/1 request as a server reads it: head and body in bounded memory.
 *
 * Theory of the room.  net/http.h parses a head and finds the end of a body; it refuses all that
 * two parsers could read in two ways.  A reader (request.c) keeps the bytes of one request at a
 * time: the next one of a pipeline stays in the socket until the response is complete.  A server
 * (http/server.h) has connections, routes and deadlines; check.h decides about Host, Origin and
 * tokens; response.c writes answers and event streams.
 *
 * Invariants of an HTTP server:
 *  X1  a request reaches its route only after its Host, its Origin and its token were checked, and
 *      before that not one byte of its body is kept;
 *  X2  memory is bounded: connections, heads, bodies, all bodies together, queued answers;
 *  X3  no client can make the server wait: each phase of a connection has a deadline. */
#ifndef CORRAL_HTTP_REQUEST_H
#define CORRAL_HTTP_REQUEST_H

#include "base/buf.h"
#include "net/http.h"
#include "net/http_fields.h"

/* Valid until the response is complete. */
struct http_request {
	struct http_head head;
	struct http_span method, path, query; /* the query without '?' */
	struct http_span fields;              /* the lines of the head after the first */
	const char *body;                     /* with a NUL after it; NULL: none */
	size_t body_len;
};

/* The value of a field that may occur once: 1, 0 for none, -1 when it occurs twice. */
int http_request_field(const struct http_request *r, const char *name, struct http_span *ret);

/* Whether a field that is a list, in any number of lines, has this member; parameters after ';' do
 * not count.  *ret_has (may be NULL): whether the field is there at all. */
bool http_request_lists(const struct http_request *r, const char *name, const char *member,
			bool *ret_has);

/* A cookie's value; false: there is none of this name, or two. */
bool http_request_cookie(const struct http_request *r, const char *name, struct http_span *ret);

enum http_event {
	HTTP_EVENT_MORE, /* feed more bytes */
	HTTP_EVENT_HEAD, /* the head is complete: accept the body with http_reader_accept() */
	HTTP_EVENT_DONE, /* the request is complete */
	HTTP_EVENT_BAD,  /* status and why are set; nothing after it can be read */
};

struct http_reader {
	struct buf head, body;
	struct http_body framing;
	size_t body_max;
	enum { READER_HEAD, READER_WAIT, READER_BODY, READER_DONE, READER_BAD } state;
	struct http_request request;
	int status;
	const char *why;
};

void http_reader_init(struct http_reader *r);
void http_reader_done(struct http_reader *r);

/* For the next request. */
void http_reader_reset(struct http_reader *r);

/* Takes bytes of the client: *ret_used of them belong to this request.  After HEAD no byte is taken
 * before http_reader_accept(). */
enum http_event http_reader_feed(struct http_reader *r, const char *data, size_t len,
				 size_t *ret_used);

/* The body may have so many bytes; more are 413. */
enum http_event http_reader_accept(struct http_reader *r, size_t body_max);

/* Bytes that the reader keeps. */
size_t http_reader_size(const struct http_reader *r);

#endif
