/* SPDX-License-Identifier: Apache-2.0 */
/* MCP over Streamable HTTP: `corral mcp --http`.
 *
 * One path, /mcp.  Each POST is one message; its answer is JSON, or an event stream if a call runs.
 * The revisions up to 2025-11-25 have sessions (Mcp-Session-Id), a GET stream and DELETE; a request
 * of 2026-07-28 has all that it needs in itself, and headers that repeat it.  A stream of a session
 * can be resumed (Last-Event-ID).
 *
 * Should:   end the calls of a client that leaves its stream or deletes its session (M3).
 * Must not: serve a request without the token, or of a web page (N1).
 * Fails:    closed, with an HTTP status and, where the protocol has one, a JSON-RPC error. */
#include "rpc/mcp_http.h"

#include "base/auto.h"
#include "base/clock.h"
#include "http/server.h"
#include "rpc/mcp_headers.h"
#include "rpc/mcp_replay.h"
#include "rpc/mcp_server.h"

#include <poll.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>

#define PATH "/mcp"
#define JSON_TYPE "application/json"
#define EVENTS_TYPE "text/event-stream"
/* Sessions of clients that did not delete them: the one that was idle for the longest time goes,
 * and its client gets 404 and begins anew. */
#define SESSIONS_MAX 256
#define SESSION_BYTES 24
#define SESSION_TEXT (SESSION_BYTES * 2)
/* Of one response, in which no more progress is queued. */
#define PROGRESS_BYTES ((size_t)256 * 1024)
/* How long a call goes on without its client, and its events are kept. */
#define RESUME_MS 15000
/* How long calls may take to end after a signal, until the loop looks again. */
#define LOOK_MS 50

struct session {
	char id[SESSION_TEXT + 1];
	struct mcp_client client;
	int64_t used;
	struct stream *get; /* its GET stream, or NULL */
	struct session *next;
};

struct http_mcp {
	struct mcp_server s;
	struct http_server *http;
	const struct token_hash *token;
	struct session *sessions;
	size_t nsessions;
	struct stream *streams; /* that can be resumed */
	uint64_t nstreams;      /* since the start */
	int signals;
	bool ended;
};

/* The response to one request.  Freed when it is complete, or the client is gone. */
struct stream {
	struct mcp_sink sink;
	struct http_mcp *h;
	struct http_exchange *x;
	struct mcp_client own;         /* of a request without a session */
	const struct session *created; /* by this request, if it succeeds; or NULL */
	/* Of a session of a revision with Last-Event-ID, else NULL.  Such a stream outlives its
	 * connection once the client has got an id: `x` is NULL then, since `lost`. */
	const struct session *session;
	struct mcp_replay replay;
	int64_t lost;
	bool complete;
	struct stream *next;
};

/* ---- the sink ---- */

static void stream_free(struct stream *st) {
	for (struct stream **at = &st->h->streams; *at != NULL; at = &(*at)->next) {
		if (*at == st) {
			*at = st->next;
			break;
		}
	}
	if (st->x != NULL) {
		http_exchange_set(st->x, NULL);
	}
	mcp_replay_done(&st->replay);
	free(st);
}

/* The connection is gone, or has all: the stream waits for a client that resumes it. */
static void stream_detach(struct stream *st) {
	http_exchange_set(st->x, NULL);
	st->x = NULL;
	st->lost = clock_ms();
}

/* An event with an id, which is kept. */
static void stream_event(struct stream *st, const char *line, size_t len) {
	char id[MCP_REPLAY_ID];

	mcp_replay_add(&st->replay, line, len, id);
	if (st->x != NULL) {
		http_exchange_event_as(st->x, id, line, len);
	}
}

static void stream_put_kept(struct stream *st, const char *line, size_t len, bool last) {
	struct http_exchange *x = st->x;

	stream_event(st, line, len);
	st->complete = st->complete || last;
	if (last && x != NULL) {
		stream_detach(st);
		http_exchange_end(x);
	}
}

static void stream_put(struct mcp_sink *sink, const char *line, size_t len, bool last) {
	struct stream *st = (struct stream *)sink;
	struct http_exchange *x = st->x;
	int status = sink->status == 0 || line[0] == '[' ? 200 : sink->status;

	if (x != NULL && !last && !http_exchange_has_events(x)) {
		http_exchange_events(x);
	}
	if (st->session != NULL && (x == NULL || http_exchange_has_events(x))) {
		stream_put_kept(st, line, len, last);
		return;
	}
	if (last && st->created != NULL && st->created->client.agreed != NULL) {
		http_exchange_field(x, "Mcp-Session-Id", st->created->id);
	}
	if (!http_exchange_has_events(x)) {
		stream_free(st);
		http_exchange_reply(x, status, JSON_TYPE, line, len);
		return;
	}
	http_exchange_event(x, line, len);
	if (last) {
		stream_free(st);
		http_exchange_end(x);
	}
}

static void stream_finish(struct stream *st, int status) {
	struct http_exchange *x = st->x;

	stream_free(st);
	if (x == NULL) {
		return;
	}
	if (http_exchange_has_events(x)) {
		http_exchange_end(x);
	} else {
		http_exchange_reply(x, status, NULL, NULL, 0);
	}
}

static void stream_end(struct mcp_sink *sink) {
	stream_finish((struct stream *)sink, 202);
}

static void stream_fail(struct mcp_sink *sink) {
	stream_finish((struct stream *)sink, 503);
}

static bool stream_has_room(const struct mcp_sink *sink, size_t len, bool result) {
	const struct stream *st = (const struct stream *)sink;
	size_t queued = http_server_queued(st->h->http);

	if (st->x == NULL) {
		return result || st->replay.bytes <= PROGRESS_BYTES;
	}
	return result ? queued == 0 || queued + len <= MCP_QUEUE_RESULTS
		      : http_exchange_queued(st->x) <= PROGRESS_BYTES;
}

static struct stream *stream_new(struct http_mcp *h, struct http_exchange *x) {
	struct stream *st = calloc(1, sizeof *st);

	if (st == NULL) {
		http_exchange_reply(x, 503, NULL, NULL, 0);
		return NULL;
	}
	*st = (struct stream){.sink = {.put = stream_put,
				       .end = stream_end,
				       .has_room = stream_has_room,
				       .fail = stream_fail},
			      .h = h,
			      .x = x,
			      .own = mcp_server_client(&h->s)};
	http_exchange_set(x, st);
	return st;
}

/* The client has closed its connection. */
static void gone(void *arg, struct http_exchange *x) {
	struct http_mcp *h = arg;
	struct stream *st = http_exchange_data(x);

	if (st == NULL) {
		return;
	}
	if (st->session != NULL && st->replay.next > 0) {
		stream_detach(st);
		return;
	}
	mcp_tasks_cancel_sink(&h->s, &st->sink);
	for (struct session *one = h->sessions; one != NULL; one = one->next) {
		one->get = one->get == st ? NULL : one->get;
	}
	stream_free(st);
}

/* ---- streams that can be resumed ---- */

static void stream_keep(struct stream *st, const struct session *one) {
	struct http_mcp *h = st->h;

	st->session = one;
	st->replay.number = ++h->nstreams;
	st->next = h->streams;
	h->streams = st;
}

/* The calls of the session have been cancelled. */
static void streams_drop(struct http_mcp *h, const struct session *one) {
	for (struct stream *st = h->streams, *next; st != NULL; st = next) {
		next = st->next;
		if (st->session == one) {
			stream_finish(st, 200);
		}
	}
}

/* Ends the calls whose clients did not come back (M3), and the oldest streams when all keep too
 * much (N2).  Returns the milliseconds until the next one; -1: none. */
static int streams_turn(struct http_mcp *h) {
	int64_t now = clock_ms(), due = -1;
	size_t bytes = 0;

	for (struct stream *st = h->streams, *next; st != NULL; st = next) { /* the newest first */
		next = st->next;
		bytes += st->replay.bytes;
		if (st->x == NULL && (now - st->lost >= RESUME_MS || bytes > MCP_REPLAY_ALL)) {
			bytes -= st->replay.bytes;
			mcp_tasks_cancel_sink(&h->s, &st->sink);
			stream_free(st);
		} else if (st->x == NULL) {
			int64_t left = RESUME_MS - (now - st->lost);
			due = due < 0 || left < due ? left : due;
		}
	}
	return (int)due;
}

/* GET with Last-Event-ID: the events after that one, and those to come.  Only streams of this
 * session are searched. */
static void resume(struct http_mcp *h, struct http_exchange *x, const struct session *one,
		   struct http_span id) {
	uint64_t number = 0, event = 0;
	struct stream *st = h->streams;

	if (!mcp_replay_parse(id, &number, &event)) {
		mcp_headers_refuse_plain(x, 400, "Last-Event-ID is not the id of an event");
		return;
	}
	while (st != NULL && (st->session != one || st->replay.number != number)) {
		st = st->next;
	}
	if (st == NULL || event >= st->replay.next) {
		mcp_headers_refuse_plain(x, 404,
					 "this session has no such stream: its call has ended, or "
					 "its events are not kept any more; repeat the call");
		return;
	}
	struct http_exchange *old = st->x;
	if (old != NULL) { /* its end has not been noticed */
		stream_detach(st);
		http_exchange_end(old);
	}
	st->x = x;
	http_exchange_set(x, st);
	http_exchange_events(x);
	mcp_replay_send(&st->replay, event, x);
	if (st->complete) {
		stream_detach(st);
		http_exchange_end(x);
	}
}

/* ---- sessions ---- */

static bool is_busy(const struct http_mcp *h, const struct session *one) {
	for (const struct mcp_task *t = h->s.tasks; t != NULL; t = t->next) {
		if (t->client == &one->client && t->state != MCP_TASK_ENDED) {
			return true;
		}
	}
	return false;
}

static void session_delete(struct http_mcp *h, const struct session *gone_one) {
	for (struct session **at = &h->sessions; *at != NULL; at = &(*at)->next) {
		if (*at != gone_one) {
			continue;
		}
		struct session *one = *at;
		*at = one->next;
		h->nsessions--;
		mcp_tasks_cancel_client(&h->s, &one->client);
		if (one->get != NULL) {
			stream_finish(one->get, 200);
		}
		streams_drop(h, one);
		free(one);
		return;
	}
}

static void make_room(struct http_mcp *h) {
	const struct session *oldest = NULL;

	for (const struct session *one = h->sessions; one != NULL; one = one->next) {
		if (!is_busy(h, one) && (oldest == NULL || one->used < oldest->used)) {
			oldest = one;
		}
	}
	if (h->nsessions >= SESSIONS_MAX && oldest != NULL) {
		session_delete(h, oldest);
	}
}

static struct session *session_new(struct http_mcp *h) {
	unsigned char random[SESSION_BYTES];
	struct session *one = calloc(1, sizeof *one);

	make_room(h);
	if (one == NULL) {
		return NULL;
	}
	*one = (struct session){
		.client = mcp_server_client(&h->s), .used = clock_ms(), .next = h->sessions};
	randombytes_buf(random, sizeof random);
	(void)sodium_bin2hex(one->id, sizeof one->id, random, sizeof random);
	h->sessions = one;
	h->nsessions++;
	return one;
}

/* The session of a request; NULL after the response to one without. */
static struct session *session_of(struct http_mcp *h, struct http_exchange *x) {
	struct http_span id;
	int n = http_request_field(http_exchange_request(x), "mcp-session-id", &id);

	if (n != 1) {
		mcp_headers_refuse_plain(
			x, 400,
			"send initialize first, and then one Mcp-Session-Id header; or send "
			"requests of revision 2026-07-28");
		return NULL;
	}
	for (struct session *one = h->sessions; one != NULL; one = one->next) {
		if (http_span_exactly(id, one->id)) {
			one->used = clock_ms();
			return one;
		}
	}
	mcp_headers_refuse_plain(x, 404, "there is no such session: send initialize");
	return NULL;
}

/* ---- the methods of HTTP ---- */

static bool is_initialize(const json_t *message) {
	const char *method = json_string_value(json_object_get(message, "method"));

	return method != NULL && strcmp(method, "initialize") == 0;
}

/* An event without a message, so that the client has an id before the first one. */
static void stream_prime(struct stream *st) {
	if (st->session != NULL && (st->session->client.agreed->features & MCP_PRIMES) != 0) {
		stream_event(st, "", 0);
	}
}

/* Gives the message to its client.  The response may be complete afterwards. */
static void take(struct http_mcp *h, struct http_exchange *x, json_t *value, struct session *one) {
	const struct http_request *r = http_exchange_request(x);
	bool events = http_request_lists(r, "accept", EVENTS_TYPE, NULL);
	bool fresh = one != NULL && one->client.agreed == NULL;
	struct stream *st = stream_new(h, x);

	if (st != NULL) {
		st->created = fresh ? one : NULL;
		if (one != NULL && events && one->client.agreed != NULL &&
		    (one->client.agreed->features & MCP_RESUME) != 0) {
			stream_keep(st, one);
		}
		mcp_client_value(one == NULL ? &st->own : &one->client, &st->sink, value,
				 r->body_len);
		/* A client that waits for the head of a response for minutes may give up. */
		if (http_exchange_data(x) != NULL && events && !http_exchange_has_events(x)) {
			http_exchange_events(x);
			stream_prime(st);
		}
	}
	if (fresh && one != NULL && one->client.agreed == NULL) {
		session_delete(h, one);
	}
}

static void take_post(struct http_mcp *h, struct http_exchange *x, json_t *value) {
	bool modern = mcp_methods_version(json_object_get(value, "params")) != NULL;

	if (modern) {
		if (mcp_headers_check(x, value)) {
			take(h, x, value, NULL);
		}
		return;
	}
	if (!mcp_headers_version(x, value)) {
		return;
	}
	struct session *one = is_initialize(value) ? session_new(h) : session_of(h, x);
	if (one != NULL) {
		take(h, x, value, one);
	} else if (is_initialize(value)) {
		mcp_headers_refuse_plain(x, 503, "out of memory");
	}
}

static void post(void *arg, struct http_exchange *x) {
	const struct http_request *r = http_exchange_request(x);
	struct message_fault fault;

	if (!http_request_lists(r, "content-type", JSON_TYPE, NULL)) {
		mcp_headers_refuse_plain(x, 415, "Content-Type has to be " JSON_TYPE);
		return;
	}
	if (!mcp_headers_accept(r, JSON_TYPE, "application/*") &&
	    !mcp_headers_accept(r, EVENTS_TYPE, "text/*")) {
		mcp_headers_refuse_plain(x, 406,
					 "Accept has to contain " JSON_TYPE " and " EVENTS_TYPE);
		return;
	}
	json_t *value = message_parse(r->body, r->body_len, &fault);
	if (value == NULL) {
		mcp_headers_refuse(x, 400, NULL, fault.code, fault.text);
		return;
	}
	take_post(arg, x, value);
	json_decref(value);
}

/* Whether the client may use GET and DELETE: in a session of an older revision. */
static struct session *legacy_session(struct http_mcp *h, struct http_exchange *x) {
	if (mcp_headers_are_stateless(x)) {
		http_exchange_field(x, "Allow", "POST");
		mcp_headers_refuse_plain(x, 405, "this revision has only POST");
		return NULL;
	}
	return mcp_headers_version(x, NULL) ? session_of(h, x) : NULL;
}

/* The stream for messages that belong to no request.  The server has none, but a client may wait.
 */
static void get(void *arg, struct http_exchange *x) {
	struct http_mcp *h = arg;

	if (!http_request_lists(http_exchange_request(x), "accept", EVENTS_TYPE, NULL)) {
		mcp_headers_refuse_plain(x, 406, "Accept has to contain " EVENTS_TYPE);
		return;
	}
	struct session *one = legacy_session(h, x);
	if (one == NULL) {
		return;
	}
	struct http_span last;
	int n = http_request_field(http_exchange_request(x), "last-event-id", &last);
	if (n != 0) {
		resume(h, x, one, n == 1 ? last : (struct http_span){0});
		return;
	}
	if (one->get != NULL) {
		mcp_headers_refuse_plain(x, 409, "this session has a GET stream already");
		return;
	}
	one->get = stream_new(h, x);
	if (one->get != NULL) {
		http_exchange_events(x);
	}
}

static void delete (void *arg, struct http_exchange *x) {
	struct http_mcp *h = arg;
	const struct session *one = legacy_session(h, x);

	if (one != NULL) {
		session_delete(h, one);
		http_exchange_reply(x, 200, NULL, NULL, 0);
	}
}

static const struct http_route routes[] = {
	{"POST", PATH, MCP_MESSAGE_BYTES, post},
	{"GET", PATH, 0, get},
	{"DELETE", PATH, 0, delete},
};

/* N1 */
static struct http_refusal admit(void *arg, const struct http_request *r) {
	const struct http_mcp *h = arg;

	return mcp_headers_have_token(r, h->token)
		       ? (struct http_refusal){0, NULL}
		       : (struct http_refusal){401, "the token is missing or wrong: send "
						    "Authorization: Bearer TOKEN"};
}

/* ---- the loop ---- */

static int sooner(int a, int b) {
	return a < 0 || (b >= 0 && b < a) ? b : a;
}

/* false: all calls have ended after a signal. */
static bool turn(struct http_mcp *h) {
	int due = http_server_turn(h->http);
	due = sooner(due, mcp_tasks_turn(&h->s)); /* after it: a request may have begun a call */
	due = sooner(due, streams_turn(h));
	due = http_server_is_dirty(h->http) ? 0 : due;
	(void)pthread_cond_broadcast(&h->s.room); /* the clients may have read */
	if (h->ended && h->s.tasks == NULL) {
		return false;
	}
	struct pollfd slots[] = {{.fd = http_server_fd(h->http), .events = POLLIN},
				 {.fd = h->s.wake, .events = POLLIN},
				 {.fd = h->signals, .events = POLLIN}};
	(void)pthread_mutex_unlock(&h->s.lock);
	/* After EINTR all is looked at again. */
	int n = poll(slots, ARRAY_LEN(slots), h->ended ? LOOK_MS : due);
	(void)pthread_mutex_lock(&h->s.lock);
	uint64_t count;
	if (n > 0 && slots[1].revents != 0) {
		(void)!read(h->s.wake, &count, sizeof count); /* it is readable */
	}
	if (n > 0 && slots[2].revents != 0) {
		struct signalfd_siginfo info;
		(void)!read(h->signals, &info, sizeof info); /* likewise */
		h->ended = true;
		h->s.closing = true;
		http_server_stop(h->http);
		mcp_tasks_cancel_all(&h->s);
	}
	return true;
}

int mcp_http_serve(const struct mcp_config *config, const struct mcp_http *how,
		   struct corral_error *err) {
	struct http_mcp h = {.token = how->token};
	const struct http_options options = {.routes = routes,
					     .nroutes = ARRAY_LEN(routes),
					     .admit = admit,
					     .gone = gone,
					     .arg = &h,
					     .makes_room = true};
	struct err e = {0};

	if (mcp_server_init(&h.s, config, &h.signals, err) != 0) {
		return -1;
	}
	if (http_server_open(&options, how->port, &h.http, &e) != 0) {
		*err = (struct corral_error){.kind = CORRAL_E_SETUP, .sys_errno = e.sys};
		(void)snprintf(err->layer, sizeof err->layer, "%s", e.where);
		(void)snprintf(err->message, sizeof err->message, "%s", e.what);
		(void)snprintf(err->remedy, sizeof err->remedy,
			       "choose another port, or 0 for a free one: corral mcp --http 0");
		drop_fd(&h.signals);
		mcp_server_done(&h.s);
		return -1;
	}
	how->ready(how->arg, http_server_port(h.http));
	(void)pthread_mutex_lock(&h.s.lock);
	while (turn(&h)) {
	}
	http_server_free(h.http);
	while (h.sessions != NULL) {
		session_delete(&h, h.sessions);
	}
	(void)pthread_mutex_unlock(&h.s.lock);
	drop_fd(&h.signals);
	mcp_server_done(&h.s);
	return 0;
}
