/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a connection.  Only for http/server.c and http/response.c. */
#ifndef CORRAL_HTTP_CONNECTION_H
#define CORRAL_HTTP_CONNECTION_H

#include "http/server.h"

/* N3: for a head after its first byte, or after the connection; for a body; between two requests;
 * for a client that reads nothing; for the last bytes of a client that got an error. */
#define HEAD_MS 10000
/* The same for a connection that has sent no admitted request, while more than half of all places
 * are taken: clients without a token cannot keep the others out. */
#define FIRST_MS 1000
/* A new connection keeps its place this long, also while others wait for one. */
#define GRACE_MS 100
#define BODY_MS 60000
#define IDLE_MS 120000
#define WRITE_MS 20000
#define LINGER_MS 2000
/* An empty comment on an event stream: the client knows that the server is there. */
#define COMMENT_MS 15000

enum phase {
	PHASE_IDLE,   /* no byte of a request yet */
	PHASE_HEAD,   /* its head comes */
	PHASE_BODY,   /* its body comes */
	PHASE_ANSWER, /* the handler has it; the response may be incomplete */
	PHASE_WRITE,  /* the response is complete; its bytes go out */
	PHASE_LINGER, /* the connection ends: the rest of the client's bytes is discarded */
	PHASE_CLOSED,
};

struct http_exchange {
	struct http_server *server;
	int fd;
	enum phase phase;
	int64_t since;       /* of the phase */
	int64_t write_since; /* the queue has not moved since; 0: it is empty */
	int64_t event_at;    /* of the last bytes of an event stream */
	struct http_reader reader;
	const struct http_route *route; /* of an admitted request */
	struct buf input;               /* bytes of the next request that were read with this one */
	struct buf fields;              /* of the response */
	struct buf out;                 /* out.data[sent..] is to be written */
	size_t sent;
	bool admitted; /* it has sent a request that was admitted: its client has the token */
	bool close;    /* after this response */
	bool stream;   /* of events */
	bool chunked;  /* the stream ends with a chunk, not with the connection */
	uint32_t watched;
	void *data;
	struct http_exchange *next;
};

struct http_server {
	const struct http_options *options;
	int listener, epoll;
	int spare; /* closed to accept and refuse a client when there is no other descriptor */
	struct ip address;
	uint16_t port;
	struct http_exchange *all;
	size_t count;
	int64_t accept_at; /* new clients wait until then; 0: they are accepted */
	bool dirty;        /* a response has bytes that no one has tried to write */
};

/* The connection that has waited the longest without a request; NULL: all have sent one. */
struct http_exchange *http_longest_silent(const struct http_server *s);

/* When it may be closed for another client, by clock_ms(): the request of a new connection may be
 * on the way. */
int64_t http_evictable_at(const struct http_exchange *x);

#endif
