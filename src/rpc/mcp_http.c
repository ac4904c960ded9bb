/* SPDX-License-Identifier: Apache-2.0 */
/* MCP over Streamable HTTP: `corral mcp --http`.
 *
 * One path, /mcp.  Each POST is one message; its answer is JSON, or an event stream if a call runs.
 * The revisions up to 2025-11-25 have sessions (Mcp-Session-Id), a GET stream and DELETE; a request
 * of 2026-07-28 has all that it needs in itself, and headers that repeat it.
 *
 * Should:   end the calls of a client that closes its connection or deletes its session (M3).
 * Must not: serve a request without the token, or of a web page (N1).
 * Fails:    closed, with an HTTP status and, where the protocol has one, a JSON-RPC error. */
#include "rpc/mcp_http.h"

#include "base/auto.h"
#include "base/clock.h"
#include "http/server.h"
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
/* How long calls may take to end after a signal, until the loop looks again. */
#define LOOK_MS 50

/* Codes of errors: the first is of 2026-07-28, the others are those of the SDKs. */
enum { HEADER_MISMATCH = -32020, UNSUPPORTED_VERSION = -32022, BAD_SESSION = -32000 };

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
};

/* ---- the sink ---- */

static void stream_free(struct stream *st) {
	http_exchange_set(st->x, NULL);
	free(st);
}

static void stream_put(struct mcp_sink *sink, const char *line, size_t len, bool last) {
	struct stream *st = (struct stream *)sink;
	struct http_exchange *x = st->x;
	int status = sink->status == 0 || line[0] == '[' ? 200 : sink->status;

	if (!last && !http_exchange_has_events(x)) {
		http_exchange_events(x);
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
	mcp_tasks_cancel_sink(&h->s, &st->sink);
	for (struct session *one = h->sessions; one != NULL; one = one->next) {
		one->get = one->get == st ? NULL : one->get;
	}
	stream_free(st);
}

/* ---- errors ---- */

/* An error with the id of the message, if it has one. */
static void refuse(struct http_exchange *x, int status, const json_t *message, int code,
		   const char *text) {
	const json_t *id = json_object_get(message, "id");
	bool good = json_is_string(id) || json_is_integer(id);
	json_t *data = code == UNSUPPORTED_VERSION
			       ? json_pack("{s:o}", "supported", mcp_revision_names())
			       : NULL;
	json_t *answer = message_error(good ? id : NULL, code, text, data);
	size_t len = 0;
	auto_free char *line = answer == NULL ? NULL : message_format(answer, &len);

	json_decref(answer);
	http_exchange_reply(x, status, line == NULL ? NULL : JSON_TYPE, line, len);
}

static void refuse_plain(struct http_exchange *x, int status, const char *text) {
	refuse(x, status, NULL, BAD_SESSION, text);
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
		refuse_plain(x, 400,
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
	refuse_plain(x, 404, "there is no such session: send initialize");
	return NULL;
}

/* ---- headers ---- */

static const struct mcp_revision *revision_of(struct http_span name) {
	for (size_t i = 0; i < mcp_revisions_count; i++) {
		if (http_span_exactly(name, mcp_revisions[i].name)) {
			return &mcp_revisions[i];
		}
	}
	return NULL;
}

/* Whether the header has this value, which may be in base64: =?base64?…?=.  */
static bool header_is(struct http_span header, const char *value) {
	static const char begin[] = "=?base64?", end[] = "?=";
	const size_t first = sizeof begin - 1, last = sizeof end - 1;

	if (header.len < first + last || memcmp(header.at, begin, first) != 0 ||
	    memcmp(header.at + header.len - last, end, last) != 0) {
		return http_span_exactly(header, value);
	}
	auto_free char *text = strndup((const char *)header.at + first, header.len - first - last);
	size_t len = 0;
	auto_free char *bytes = text == NULL ? NULL : mcp_text_decode(text, &len);
	return bytes != NULL && len == strlen(value) && memcmp(bytes, value, len) == 0;
}

/* One header that repeats a part of the message. */
static bool header_agrees(const struct http_request *r, const char *name, const char *value,
			  bool missing) {
	struct http_span header;
	int n = http_request_field(r, name, &header);

	return n == 0 ? missing : n == 1 && header_is(header, value);
}

/* The headers of a stateless message.  False after the response to one with a wrong header.  A
 * message of a revision that the server does not have needs none: its error says so. */
static bool check_headers(struct http_exchange *x, const json_t *message) {
	const struct http_request *r = http_exchange_request(x);
	const json_t *params = json_object_get(message, "params");
	const char *version = json_string_value(mcp_methods_version(params));
	const char *method = json_string_value(json_object_get(message, "method"));
	const char *name = json_string_value(json_object_get(params, "name"));
	const struct mcp_revision *known = version == NULL ? NULL : mcp_revision_find(version);
	bool free_of_headers = json_object_get(message, "id") == NULL || known == NULL ||
			       (known->features & MCP_STATELESS) == 0;

	if (version == NULL || method == NULL) {
		return true; /* mcp_methods.c refuses it */
	}
	const char *wrong = NULL;
	if (!header_agrees(r, "mcp-protocol-version", version, free_of_headers)) {
		wrong = "the header MCP-Protocol-Version has to be the protocolVersion of _meta";
	} else if (!header_agrees(r, "mcp-method", method, free_of_headers)) {
		wrong = "the header Mcp-Method has to be the method of the message";
	} else if (strcmp(method, "tools/call") == 0 && name != NULL &&
		   !header_agrees(r, "mcp-name", name, free_of_headers)) {
		wrong = "the header Mcp-Name has to be the name of the tool";
	}
	if (wrong != NULL) {
		refuse(x, 400, message, HEADER_MISMATCH, wrong);
	}
	return wrong == NULL;
}

/* The version header of a message without _meta.  False after the response. */
static bool check_version(struct http_exchange *x, const json_t *message) {
	struct http_span header;
	int n = http_request_field(http_exchange_request(x), "mcp-protocol-version", &header);
	const struct mcp_revision *revision = n == 1 ? revision_of(header) : NULL;

	if (n == 0 || (revision != NULL && (revision->features & MCP_STATELESS) == 0)) {
		return true;
	}
	if (revision == NULL) {
		refuse(x, 400, message, UNSUPPORTED_VERSION, "Unsupported protocol version");
	} else if (json_object_get(message, "id") == NULL) {
		http_exchange_reply(x, 202, NULL, NULL, 0); /* it needs no session, nor _meta */
	} else {
		refuse(x, 400, message, MESSAGE_INVALID_PARAMS,
		       "a request of this revision needs protocolVersion and clientCapabilities in "
		       "_meta");
	}
	return false;
}

static bool accepts(const struct http_request *r, const char *type, const char *family) {
	bool has = false;
	bool named = http_request_lists(r, "accept", type, &has);

	return !has || named || http_request_lists(r, "accept", "*/*", NULL) ||
	       http_request_lists(r, "accept", family, NULL);
}

/* ---- the methods of HTTP ---- */

static bool is_initialize(const json_t *message) {
	const char *method = json_string_value(json_object_get(message, "method"));

	return method != NULL && strcmp(method, "initialize") == 0;
}

/* Gives the message to its client.  The response may be complete afterwards. */
static void take(struct http_mcp *h, struct http_exchange *x, json_t *value, struct session *one) {
	const struct http_request *r = http_exchange_request(x);
	bool events = http_request_lists(r, "accept", EVENTS_TYPE, NULL);
	bool fresh = one != NULL && one->client.agreed == NULL;
	struct stream *st = stream_new(h, x);

	if (st != NULL) {
		st->created = fresh ? one : NULL;
		mcp_client_value(one == NULL ? &st->own : &one->client, &st->sink, value,
				 r->body_len);
		/* A client that waits for the head of a response for minutes may give up. */
		if (http_exchange_data(x) != NULL && events && !http_exchange_has_events(x)) {
			http_exchange_events(x);
		}
	}
	if (fresh && one != NULL && one->client.agreed == NULL) {
		session_delete(h, one);
	}
}

static void take_post(struct http_mcp *h, struct http_exchange *x, json_t *value) {
	bool modern = mcp_methods_version(json_object_get(value, "params")) != NULL;

	if (modern) {
		if (check_headers(x, value)) {
			take(h, x, value, NULL);
		}
		return;
	}
	if (!check_version(x, value)) {
		return;
	}
	struct session *one = is_initialize(value) ? session_new(h) : session_of(h, x);
	if (one != NULL) {
		take(h, x, value, one);
	} else if (is_initialize(value)) {
		refuse_plain(x, 503, "out of memory");
	}
}

static void post(void *arg, struct http_exchange *x) {
	const struct http_request *r = http_exchange_request(x);
	struct message_fault fault;

	if (!http_request_lists(r, "content-type", JSON_TYPE, NULL)) {
		refuse_plain(x, 415, "Content-Type has to be " JSON_TYPE);
		return;
	}
	if (!accepts(r, JSON_TYPE, "application/*") && !accepts(r, EVENTS_TYPE, "text/*")) {
		refuse_plain(x, 406, "Accept has to contain " JSON_TYPE " and " EVENTS_TYPE);
		return;
	}
	json_t *value = message_parse(r->body, r->body_len, &fault);
	if (value == NULL) {
		refuse(x, 400, NULL, fault.code, fault.text);
		return;
	}
	take_post(arg, x, value);
	json_decref(value);
}

static bool is_stateless(const struct http_exchange *x) {
	struct http_span header;
	const struct mcp_revision *revision =
		http_request_field(http_exchange_request(x), "mcp-protocol-version", &header) == 1
			? revision_of(header)
			: NULL;

	return revision != NULL && (revision->features & MCP_STATELESS) != 0;
}

/* Whether the client may use GET and DELETE: in a session of an older revision. */
static struct session *legacy_session(struct http_mcp *h, struct http_exchange *x) {
	if (is_stateless(x)) {
		http_exchange_field(x, "Allow", "POST");
		refuse_plain(x, 405, "this revision has only POST");
		return NULL;
	}
	return check_version(x, NULL) ? session_of(h, x) : NULL;
}

/* The stream for messages that belong to no request.  The server has none, but a client may wait.
 */
static void get(void *arg, struct http_exchange *x) {
	struct http_mcp *h = arg;

	if (!http_request_lists(http_exchange_request(x), "accept", EVENTS_TYPE, NULL)) {
		refuse_plain(x, 406, "Accept has to contain " EVENTS_TYPE);
		return;
	}
	struct session *one = legacy_session(h, x);
	if (one == NULL) {
		return;
	}
	if (one->get != NULL) {
		refuse_plain(x, 409, "this session has a GET stream already");
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
	char text[TOKEN_TEXT_LENGTH + 1] = "";
	struct http_span given;
	struct token_hash hash;

	if (http_check_bearer(r, &given) && given.len == TOKEN_TEXT_LENGTH) {
		memcpy(text, given.at, TOKEN_TEXT_LENGTH);
	}
	bool right = token_hash_text(text, &hash) == 0 && token_hash_equal(&hash, h->token);
	sodium_memzero(text, sizeof text);
	return right ? (struct http_refusal){0, NULL}
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
					     .arg = &h};
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
