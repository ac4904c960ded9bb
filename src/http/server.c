/* SPDX-License-Identifier: Apache-2.0 */
/* Connections of the HTTP server: accept, read, route, write, close.
 *
 * Should:   answer an error before it closes a connection, if the client reads.
 * Must not: wait for a client (N3); read a request while the response of the one before is not
 *           complete (N2); call a handler for a request that was not admitted (N1).
 * Fails:    by closing this connection alone. */
#include "http/server.h"

#include "base/auto.h"
#include "base/clock.h"
#include "http/connection.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

/* Clients that wait to be accepted.  The kernel drops the SYN of one more, and its client repeats
 * it after a second. */
#define SOCKET_QUEUE 4096
#define READ_SIZE ((size_t)64 * 1024)
#define EVENTS_AT_ONCE 32

/* ---- open and free ---- */

static int listen_on(struct http_server *s, uint16_t port, struct err *e) {
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr =
			htonl(s->options->address == 0 ? INADDR_LOOPBACK : s->options->address)};
	socklen_t len = sizeof address;
	int one = 1;

	s->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* A port of connections that have just ended can be used again; it fails for no socket. */
	(void)setsockopt(s->listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (s->listener < 0 || bind(s->listener, (struct sockaddr *)&address, len) != 0 ||
	    listen(s->listener, SOCKET_QUEUE) != 0 ||
	    getsockname(s->listener, (struct sockaddr *)&address, &len) != 0) {
		char at[INET_ADDRSTRLEN] = "", text[INET_ADDRSTRLEN + 8];
		(void)inet_ntop(AF_INET, &address.sin_addr, at, sizeof at); /* it fits */
		(void)snprintf(text, sizeof text, "%s:%u", at, port);       /* likewise */
		return err_sys_at(e, "http", "cannot listen on", text);
	}
	s->address = ip_from4((const uint8_t *)&address.sin_addr);
	s->port = ntohs(address.sin_port);
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (s->epoll < 0 || epoll_ctl(s->epoll, EPOLL_CTL_ADD, s->listener, &event) != 0) {
		return err_sys(e, "http", "cannot create an epoll descriptor");
	}
	return 0;
}

int http_server_open(const struct http_options *options, uint16_t port, struct http_server **ret,
		     struct err *e) {
	struct http_server *s = calloc(1, sizeof *s);

	if (s == NULL) {
		return err_memory(e, "http");
	}
	*s = (struct http_server){.options = options,
				  .listener = -1,
				  .epoll = -1,
				  .spare = open("/dev/null", O_RDONLY | O_CLOEXEC)};
	if (listen_on(s, port, e) != 0) {
		http_server_free(s);
		return -1;
	}
	*ret = s;
	return 0;
}

uint16_t http_server_port(const struct http_server *s) {
	return s->port;
}

int http_server_fd(const struct http_server *s) {
	return s->epoll;
}

/* A process that was forked at this moment may have a copy of the descriptor: then close(2) neither
 * removes it from the epoll set nor ends the connection. */
static void forget_fd(const struct http_server *s, int *fd) {
	if (*fd >= 0) {
		(void)epoll_ctl(s->epoll, EPOLL_CTL_DEL, *fd,
				NULL);          /* fails for one that was not added */
		(void)shutdown(*fd, SHUT_RDWR); /* the client may be gone */
		drop_fd(fd);
	}
}

void http_server_stop(struct http_server *s) {
	forget_fd(s, &s->listener);
}

bool http_server_is_dirty(const struct http_server *s) {
	return s->dirty;
}

size_t http_server_queued(const struct http_server *s) {
	size_t sum = 0;

	for (const struct http_exchange *x = s->all; x != NULL; x = x->next) {
		sum += http_exchange_queued(x);
	}
	return sum;
}

/* ---- the end of a connection ---- */

/* The struct is freed by remove_closed(): a handler may hold it until then. */
static void close_now(struct http_exchange *x) {
	if (x->phase == PHASE_CLOSED) {
		return;
	}
	bool served = x->phase == PHASE_ANSWER;
	x->phase = PHASE_CLOSED;
	forget_fd(x->server, &x->fd);
	if (served) {
		x->server->options->gone(x->server->options->arg, x);
	}
}

static void exchange_free(struct http_exchange *x) {
	http_reader_done(&x->reader);
	buf_done(&x->input);
	buf_done(&x->fields);
	buf_done(&x->out);
	free(x);
}

static void remove_closed(struct http_server *s) {
	for (struct http_exchange **at = &s->all; *at != NULL;) {
		struct http_exchange *x = *at;
		if (x->phase != PHASE_CLOSED) {
			at = &x->next;
			continue;
		}
		*at = x->next;
		s->count--;
		exchange_free(x);
	}
}

void http_server_free(struct http_server *s) {
	if (s == NULL) {
		return;
	}
	for (struct http_exchange *x = s->all; x != NULL; x = x->next) {
		close_now(x);
	}
	remove_closed(s);
	drop_fd(&s->listener);
	drop_fd(&s->epoll);
	drop_fd(&s->spare);
	free(s);
}

/* ---- requests ---- */

static void refuse(struct http_exchange *x, int status, const char *why) {
	x->close = true;
	if (status == 401) {
		http_exchange_field(x, "WWW-Authenticate", "Bearer");
	}
	struct buf text;
	buf_init(&text);
	buf_printf(&text, "%s\n", why);
	http_exchange_reply(x, status, "text/plain; charset=utf-8",
			    buf_failed(&text) ? "" : text.data, buf_failed(&text) ? 0 : text.len);
	buf_done(&text);
}

static bool matches(const struct http_route *route, struct http_span path) {
	size_t len = strlen(route->path);

	return route->path[len - 1] == '*'
		       ? path.len >= len - 1 && memcmp(path.at, route->path, len - 1) == 0
		       : http_span_exactly(path, route->path);
}

static const struct http_route *find_route(const struct http_server *s,
					   const struct http_request *r, int *ret_status) {
	*ret_status = 404;
	for (size_t i = 0; i < s->options->nroutes; i++) {
		const struct http_route *route = &s->options->routes[i];
		if (!matches(route, r->path)) {
			continue;
		}
		if (http_span_exactly(r->method, route->method)) {
			return route;
		}
		*ret_status = 405;
	}
	return NULL;
}

static size_t bodies_of(const struct http_server *s) {
	size_t sum = 0;

	for (const struct http_exchange *x = s->all; x != NULL; x = x->next) {
		sum += x->phase == PHASE_BODY || x->phase == PHASE_ANSWER ? x->reader.body_max : 0;
	}
	return sum;
}

/* A client that sends the body only when it is wanted. */
static bool answer_expectation(struct http_exchange *x) {
	struct http_span value;
	int n = http_request_field(&x->reader.request, "expect", &value);

	if (n == 0) {
		return true;
	}
	if (n < 0 || !http_span_is(value, "100-continue")) {
		refuse(x, 417, "the server knows only Expect: 100-continue");
		return false;
	}
	buf_puts(&x->out, "HTTP/1.1 100 Continue\r\n\r\n");
	x->server->dirty = true;
	return true;
}

/* N1: all checks that need only the head.  The longest body that the client announced counts
 * against the bodies of all (N2); without a length it is the longest of the route. */
static enum http_event admit(struct http_exchange *x) {
	struct http_server *s = x->server;
	const struct http_request *r = &x->reader.request;
	struct http_refusal refusal = http_check_local(r, &s->address, s->port);
	int status = 0;

	if (refusal.status == 0) {
		refusal = s->options->admit(s->options->arg, r);
	}
	if (refusal.status != 0) {
		refuse(x, refusal.status, refusal.why);
		return HTTP_EVENT_BAD;
	}
	const struct http_route *route = find_route(s, r, &status);
	if (route == NULL) {
		refuse(x, status,
		       status == 404 ? "there is no such page" : "this path has other methods");
		return HTTP_EVENT_BAD;
	}
	bool known = r->head.body.kind != BODY_CHUNKED && r->head.body.left <= route->body_max;
	size_t most = known ? (size_t)r->head.body.left : route->body_max;
	if (most > HTTP_BODIES_MAX - bodies_of(s)) {
		refuse(x, 503, "too many requests at once; repeat it later");
		return HTTP_EVENT_BAD;
	}
	if (r->head.body.kind != BODY_NONE && r->head.body.left <= route->body_max &&
	    !answer_expectation(x)) {
		return HTTP_EVENT_BAD;
	}
	x->route = route;
	x->admitted = x->admitted || !route->anonymous;
	x->phase = PHASE_BODY;
	x->since = clock_ms();
	return http_reader_accept(&x->reader, most);
}

static void dispatch(struct http_exchange *x) {
	x->close = http_request_lists(&x->reader.request, "connection", "close", NULL);
	x->phase = PHASE_ANSWER;
	x->route->handle(x->server->options->arg, x);
}

/* Takes bytes; *ret_used of them.  False: no more before the response. */
static bool feed(struct http_exchange *x, const char *data, size_t len, size_t *ret_used) {
	enum http_event event = http_reader_feed(&x->reader, data, len, ret_used);

	if (event == HTTP_EVENT_HEAD) {
		event = admit(x);
		if (event == HTTP_EVENT_BAD && x->phase == PHASE_WRITE) {
			return false;
		}
	}
	switch (event) {
	case HTTP_EVENT_DONE:
		dispatch(x);
		return false;
	case HTTP_EVENT_BAD:
		refuse(x, x->reader.status, x->reader.why);
		return false;
	case HTTP_EVENT_MORE:
	case HTTP_EVENT_HEAD:
		break;
	}
	return true;
}

static void feed_all(struct http_exchange *x, const char *data, size_t len) {
	size_t at = 0, used = 0;
	bool more = true;

	if (len > 0 && x->phase == PHASE_IDLE) {
		x->phase = PHASE_HEAD;
		x->since = clock_ms();
	}
	while (more && at < len) {
		more = feed(x, data + at, len - at, &used);
		at += used;
	}
	if (at < len && !x->close) { /* they wait for their turn; the socket is not read before */
		buf_add(&x->input, data + at, len - at);
		x->close = buf_failed(&x->input);
	}
}

/* ---- events ---- */

static bool reads_now(const struct http_exchange *x) {
	return x->phase == PHASE_IDLE || x->phase == PHASE_HEAD || x->phase == PHASE_BODY ||
	       x->phase == PHASE_LINGER;
}

static void watch(struct http_exchange *x) {
	uint32_t wanted = EPOLLRDHUP | (reads_now(x) ? EPOLLIN : 0U) |
			  (http_exchange_queued(x) > 0 ? EPOLLOUT : 0U);
	struct epoll_event event = {.events = wanted, .data.ptr = x};

	if (x->phase == PHASE_CLOSED || wanted == x->watched) {
		return;
	}
	if (epoll_ctl(x->server->epoll, x->watched == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, x->fd,
		      &event) != 0) {
		close_now(x);
		return;
	}
	x->watched = wanted;
}

static void flush(struct http_exchange *x) {
	if (buf_failed(&x->out) || buf_failed(&x->fields)) {
		close_now(x); /* out of memory */
		return;
	}
	while (x->phase != PHASE_CLOSED && http_exchange_queued(x) > 0) {
		ssize_t n = send(x->fd, x->out.data + x->sent, http_exchange_queued(x),
				 MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR) {
			continue;
		}
		if (n < 0 && errno == EAGAIN) {
			return;
		}
		if (n < 0) {
			close_now(x);
			return;
		}
		x->sent += (size_t)n;
		x->write_since = clock_ms();
	}
	buf_done(&x->out);
	buf_init(&x->out);
	x->sent = 0;
	x->write_since = 0;
}

/* The response is written: the next request, or the end of the connection.  Unread bytes would turn
 * close(2) into a reset, which can take the response from the client. */
static void finish(struct http_exchange *x) {
	if (x->phase != PHASE_WRITE || http_exchange_queued(x) > 0) {
		return;
	}
	x->since = clock_ms();
	x->stream = x->chunked = false;
	x->data = NULL;
	if (x->close) {
		http_reader_reset(&x->reader);
		x->phase = shutdown(x->fd, SHUT_WR) == 0 ? PHASE_LINGER : PHASE_WRITE;
		if (x->phase == PHASE_WRITE) {
			close_now(x);
		}
		return;
	}
	http_reader_reset(&x->reader);
	x->phase = PHASE_IDLE;
	struct buf input = x->input;
	buf_init(&x->input);
	if (input.len > 0) {
		feed_all(x, input.data, input.len);
	}
	buf_done(&input);
}

static void receive(struct http_exchange *x) {
	static char data[READ_SIZE]; /* one thread at a time */
	ssize_t n = recv(x->fd, data, sizeof data, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		return;
	}
	if (n <= 0) {
		close_now(x);
		return;
	}
	if (x->phase != PHASE_LINGER) {
		feed_all(x, data, (size_t)n);
	}
}

static void serve(struct http_exchange *x, uint32_t events) {
	if (x->phase == PHASE_CLOSED) {
		return;
	}
	if ((events & EPOLLIN) != 0 && reads_now(x)) {
		receive(x);
	} else if ((events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) {
		close_now(x); /* a client that closes its end has left: it reads no response */
	}
}

/* Writes, and begins the next request, until neither makes progress. */
static void settle(struct http_exchange *x) {
	enum phase before;

	do {
		before = x->phase;
		if (x->phase != PHASE_CLOSED) {
			flush(x);
			finish(x);
		}
	} while (x->phase != before || (x->phase == PHASE_WRITE && http_exchange_queued(x) == 0));
	watch(x);
}

/* Watches the listener, or lets new clients wait in its queue. */
static void watch_listener(struct http_server *s, bool on) {
	struct epoll_event event = {.events = on ? EPOLLIN : 0U, .data.ptr = NULL};

	/* It fails only for a listener that is closed. */
	(void)epoll_ctl(s->epoll, EPOLL_CTL_MOD, s->listener, &event);
}

/* Closes a connection for a new client, if there is no place.  False: not yet, the one that would
 * have to go was accepted a moment ago, and its request may be on the way. */
static bool make_room(struct http_server *s) {
	struct http_exchange *silent = s->options->makes_room && s->count >= HTTP_CONNECTIONS_MAX
					       ? http_longest_silent(s)
					       : NULL;

	if (silent == NULL) {
		return true;
	}
	if (clock_ms() < http_evictable_at(silent)) {
		s->accept_at = http_evictable_at(silent);
		watch_listener(s, false);
		return false;
	}
	close_now(silent);
	remove_closed(s);
	return true;
}

static void accept_one(struct http_server *s) {
	if (!make_room(s)) {
		return;
	}
	int fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	bool exhausted = fd < 0 && (errno == EMFILE || errno == ENFILE);

	if (exhausted) { /* else the listener stays readable */
		drop_fd(&s->spare);
		fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	}
	struct http_exchange *x = fd < 0 || exhausted || s->count >= HTTP_CONNECTIONS_MAX
					  ? NULL
					  : calloc(1, sizeof *x);

	if (x == NULL) {
		static const char busy[] =
			"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n"
			"Connection: close\r\n\r\n";
		if (fd >= 0) {
			(void)send(fd, busy, sizeof busy - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
			drop_fd(&fd);
		}
		if (exhausted) {
			s->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
		}
		return;
	}
	*x = (struct http_exchange){
		.server = s, .fd = fd, .phase = PHASE_HEAD, .since = clock_ms(), .next = s->all};
	http_reader_init(&x->reader);
	buf_init(&x->input);
	buf_init(&x->fields);
	buf_init(&x->out);
	s->all = x;
	s->count++;
	watch(x);
}

/* ---- deadlines ---- */

/* When the connection ends by itself, or a comment is due; 0: never. */
static int64_t deadline_of(const struct http_exchange *x) {
	static const int most[] = {[PHASE_IDLE] = IDLE_MS,
				   [PHASE_HEAD] = HEAD_MS,
				   [PHASE_BODY] = BODY_MS,
				   [PHASE_LINGER] = LINGER_MS,
				   [PHASE_CLOSED] = 0};

	if (x->write_since != 0) {
		return x->write_since + WRITE_MS;
	}
	if (x->phase == PHASE_ANSWER) {
		return x->stream ? x->event_at + COMMENT_MS : 0;
	}
	bool begins = x->phase == PHASE_HEAD || x->phase == PHASE_BODY;
	if (begins && !x->admitted && x->server->count > HTTP_CONNECTIONS_MAX / 2) {
		return x->since + FIRST_MS;
	}
	return most[x->phase] == 0 ? 0 : x->since + most[x->phase];
}

static void time_out(struct http_exchange *x) {
	if (x->write_since != 0 || x->phase == PHASE_IDLE || x->phase == PHASE_LINGER) {
		close_now(x);
	} else if (x->phase == PHASE_ANSWER) {
		buf_puts(&x->out, x->chunked ? "3\r\n:\n\n\r\n" : ":\n\n");
		x->event_at = x->write_since = clock_ms();
	} else {
		refuse(x, 408, "the request did not arrive in time");
	}
}

static int check_deadlines(struct http_server *s) {
	int64_t now = clock_ms();

	if (s->accept_at != 0 && now >= s->accept_at) {
		s->accept_at = 0;
		watch_listener(s, true);
	}
	int64_t next = s->accept_at;
	for (struct http_exchange *x = s->all; x != NULL; x = x->next) {
		int64_t at = deadline_of(x);
		if (at != 0 && now >= at) {
			time_out(x);
			settle(x);
			at = deadline_of(x);
		}
		if (at != 0 && (next == 0 || at < next)) {
			next = at;
		}
	}
	return next == 0 ? -1 : next <= now ? 0 : (int)(next - now);
}

int http_server_turn(struct http_server *s) {
	struct epoll_event events[EVENTS_AT_ONCE];
	int n = epoll_wait(s->epoll, events, EVENTS_AT_ONCE, 0);

	bool new = false;

	for (int i = 0; i < n; i++) {
		if (events[i].data.ptr != NULL) {
			serve(events[i].data.ptr, events[i].events);
		}
		new = new || events[i].data.ptr == NULL;
	}
	remove_closed(s); /* before a new client is counted */
	if (new && s->listener >= 0) {
		accept_one(s);
	}
	s->dirty = false;
	for (struct http_exchange *x = s->all; x != NULL; x = x->next) {
		settle(x);
	}
	int due = check_deadlines(s);
	remove_closed(s);
	return s->dirty ? 0 : due;
}
