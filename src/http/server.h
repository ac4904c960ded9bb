/* SPDX-License-Identifier: Apache-2.0 */
/* An HTTP/1.1 server on 127.0.0.1: connections, routes, responses.
 *
 * It has no loop of its own.  http_server_fd() is readable when something is ready; the owner polls
 * it, and calls http_server_turn() then, at the deadline that the last call returned, and after it
 * wrote to a response outside of a handler.  All functions are for one thread at a time: an owner
 * with threads holds a lock around them. */
#ifndef CORRAL_HTTP_SERVER_H
#define CORRAL_HTTP_SERVER_H

#include "base/err.h"
#include "http/check.h"

/* Bounds of N2. */
#define HTTP_CONNECTIONS_MAX 64
#define HTTP_BODIES_MAX ((size_t)64 * 1024 * 1024) /* of all requests together */

struct http_server;
struct http_exchange;

typedef void http_handler(void *arg, struct http_exchange *x);

/* A request of another method or path is 404, or 405 when another method has this path.  A path
 * that ends with '*' is a prefix; the first route that matches counts. */
struct http_route {
	const char *method, *path;
	size_t body_max;
	http_handler *handle;
	bool anonymous; /* admitted without a token: its client has shown none */
};

struct http_options {
	const struct http_route *routes;
	size_t nroutes;
	/* After the checks of Host and Origin, before a byte of the body is kept (N1); a status
	 * other than 0 refuses the request. */
	struct http_refusal (*admit)(void *arg, const struct http_request *r);
	/* The client closed the connection before the response was complete. */
	void (*gone)(void *arg, struct http_exchange *x);
	void *arg;
	/* Where it listens, in 127.0.0.0/8; 0: 127.0.0.1.  With another address the browser keeps
	 * the cookies of this server from all others: cookies do not know ports. */
	uint32_t address;
	/* A new client may take the place of the one that has kept its connection the longest
	 * without a request; else the new one gets 503. */
	bool makes_room;
};

/* Listens; port 0 selects a free one.  The options have to live as long as the server. */
int http_server_open(const struct http_options *options, uint16_t port, struct http_server **ret,
		     struct err *e);
void http_server_free(struct http_server *s);
uint16_t http_server_port(const struct http_server *s);

/* Not accepting any more: the owner ends. */
void http_server_stop(struct http_server *s);

int http_server_fd(const struct http_server *s);

/* Serves the descriptors that are ready.  Returns the milliseconds until the next deadline; -1:
 * none. */
int http_server_turn(struct http_server *s);

/* Whether a response has got bytes since the last turn. */
bool http_server_is_dirty(const struct http_server *s);

/* Bytes of all responses that the clients have not read. */
size_t http_server_queued(const struct http_server *s);

/* ---- one request and its response ---- */

const struct http_request *http_exchange_request(const struct http_exchange *x);

/* For the handler's use; NULL at first. */
void http_exchange_set(struct http_exchange *x, void *data);
void *http_exchange_data(const struct http_exchange *x);

/* A field of the response; before it begins. */
void http_exchange_field(struct http_exchange *x, const char *name, const char *value);

/* The whole response; content_type NULL: no body.  HEAD: the body is left out. */
void http_exchange_reply(struct http_exchange *x, int status, const char *content_type,
			 const char *body, size_t len);

/* An event stream (text/event-stream): its head, an event of one line of data, its end. */
void http_exchange_events(struct http_exchange *x);
bool http_exchange_has_events(const struct http_exchange *x);
void http_exchange_event(struct http_exchange *x, const char *data, size_t len);
/* The same with an id of at most 40 characters, for a client that resumes the stream later. */
void http_exchange_event_as(struct http_exchange *x, const char *id, const char *data, size_t len);
void http_exchange_end(struct http_exchange *x);

/* Bytes of this response that the client has not read. */
size_t http_exchange_queued(const struct http_exchange *x);

#endif
