/* SPDX-License-Identifier: Apache-2.0 */
/* Connections of clients: lines in, with descriptors; lines out.
 *
 * Should:   answer an error before it closes a connection, if the client reads.
 * Must not: wait for a client; keep more than the bounds of session/daemon.h (H7).
 * Fails:    by closing this connection alone. */
#include "session/daemon.h"

#include "base/auto.h"
#include "base/clock.h"
#include "rpc/message.h"
#include "session/mcp_conn.h"
#include "session/peer.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define FOLLOW_BATCH 100
#define NO_DESCRIPTOR "the daemon has no free descriptor (ulimit -n)"

/* Keeps the descriptors of a message; too many are closed. */
static void keep_descriptors(struct conn *c, struct msghdr *m) {
	for (struct cmsghdr *h = CMSG_FIRSTHDR(m); h != NULL; h = CMSG_NXTHDR(m, h)) {
		if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS) {
			continue;
		}
		size_t n = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++) {
			int fd;
			memcpy(&fd, CMSG_DATA(h) + i * sizeof fd, sizeof fd);
			if (c->nfds < CONN_FDS) {
				c->fds[c->nfds++] = fd;
			} else {
				(void)close(fd); /* more than any request has */
			}
		}
	}
}

static ssize_t receive(void *arg, void *data, size_t len) {
	struct conn *c = arg;
	union {
		char bytes[CMSG_SPACE(sizeof(int) * CONN_FDS)];
		struct cmsghdr align;
	} control;
	struct iovec body = {data, len};
	struct msghdr m = {.msg_iov = &body,
			   .msg_iovlen = 1,
			   .msg_control = control.bytes,
			   .msg_controllen = sizeof control.bytes};
	daemon_closes(); /* the kernel closes descriptors that control has no room for */
	ssize_t n = recvmsg(c->watch.fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	int error = errno;

	if (n >= 0) {
		keep_descriptors(c, &m);
	}
	daemon_closed();
	errno = error;
	return n;
}

static void update_events(struct conn *c) {
	struct err e = {0};
	size_t queued = frame_queued(&c->out);
	/* A client that does not read its answers gets no further requests served. */
	bool reads = queued < QUEUE_MAX_BYTES / 4 && !c->closing;
	/* epoll always reports EPOLLERR and EPOLLHUP. */
	uint32_t events = EPOLLERR | (reads ? EPOLLIN : 0U) | (queued > 0 ? EPOLLOUT : 0U);

	if (daemon_loop_watch(&c->daemon->loop, &c->watch, events, &e) != 0) {
		c->closing = true; /* conns_check() closes it */
		c->write_since = 1;
	}
}

static void flush(struct conn *c) {
	size_t before = frame_queued(&c->out);

	if (frame_flush(&c->out) != 0) {
		c->closing = true;
		c->write_since = 1; /* long ago */
		return;
	}
	size_t after = frame_queued(&c->out);
	if (after == 0) {
		c->write_since = 0;
	} else if (after < before || c->write_since == 0) {
		c->write_since = clock_ms();
	}
}

void conn_send(struct conn *c, json_t *message) {
	size_t len = 0;
	auto_free char *line = message == NULL ? NULL : message_format(message, &len);

	json_decref(message);
	conn_send_line(c, line, len);
}

void conn_send_line(struct conn *c, const char *line, size_t len) {
	if (line == NULL || frame_add(&c->out, line, len) != 0) {
		c->closing = true; /* out of memory, or the client does not read */
		c->write_since = 1;
		return;
	}
	flush(c);
	update_events(c);
}

static const char *kind_word(const struct fault *f) {
	switch (f->code) {
	case FAULT_FORBIDDEN:
		return "forbidden";
	case FAULT_NO_SESSION:
		return "no-session";
	case FAULT_STATE:
		return "state";
	case FAULT_LIMIT:
		return "limit";
	case FAULT_NO_TOKEN:
		return "token";
	case FAULT_FAILED:
		return "failed";
	default:
		return "request";
	}
}

/* The number that a client of libcorral knows. */
static int error_number(const struct fault *f) {
	if (f->kind != 0) {
		return f->kind;
	}
	switch (f->e.kind) {
	case ERR_USAGE:
		return CORRAL_E_USAGE;
	case ERR_REFUSED:
		return CORRAL_E_REFUSED;
	case ERR_FILE:
		return CORRAL_E_FILE;
	case ERR_MEMORY:
		return CORRAL_E_MEMORY;
	default:
		return CORRAL_E_SETUP;
	}
}

void conn_send_error(struct conn *c, const json_t *id, const struct fault *f) {
	json_t *data =
		json_pack("{s:s, s:s, s:i, s:s, s:i}", "kind", kind_word(f), "layer", f->e.where,
			  "errno", f->e.sys, "remedy", f->e.fix, "error", error_number(f));
	conn_send(c, message_error(id, f->code, f->e.what, data));
}

void conn_close(struct conn *c) {
	struct daemon *d = c->daemon;
	struct err e = {0};

	live_forget(d, c, NULL);
	pool_released(c);
	method_ui_closed(c);
	(void)daemon_loop_watch(&d->loop, &c->watch, 0, &e); /* close() removes it as well */
	daemon_closes();
	drop_fd(&c->watch.fd);
	for (size_t i = 0; i < c->nfds; i++) {
		drop_fd(&c->fds[i]);
	}
	daemon_closed();
	frame_reader_done(&c->in);
	frame_writer_done(&c->out);
	json_decref(c->follow);
	mcp_conn_free(c);
	if (c->prev != NULL) {
		c->prev->next = c->next;
	} else {
		d->conns = c->next;
	}
	if (c->next != NULL) {
		c->next->prev = c->prev;
	}
	if (!c->of_session) {
		d->nadmin--;
	} else if (c->live != NULL) {
		c->live->connections--;
	}
	free(c);
}

static void refuse_line(struct conn *c, const char *why) {
	struct fault f = {.code = MESSAGE_INVALID_REQUEST};

	(void)err_set(&f.e, ERR_USAGE, "request", "%s", why);
	c->daemon->counters.malformed++;
	c->malformed++;
	conn_send_error(c, NULL, &f);
}

/* Whether there may be more. */
static bool read_line(struct conn *c) {
	char *line = NULL;
	size_t len = 0;

	switch (frame_next(&c->in, &line, &len)) {
	case FRAME_LINE:
		request_line(c, line, len);
		return true;
	case FRAME_TOO_LONG:
		refuse_line(c, "the request is longer than 1 MiB");
		return true;
	case FRAME_AGAIN:
		return false;
	default:
		c->closing = true;
		return false;
	}
}

/* A line that began stays in memory: it has SLOW_MS to end. */
static void note_line(struct conn *c) {
	bool partial = c->in.end > c->in.begin || c->in.discarding;

	c->line_since = !partial ? 0 : c->line_since != 0 ? c->line_since : clock_ms();
}

/* A client that has closed its sending end still gets its answers. */
static bool is_done(const struct conn *c) {
	return c->closing && frame_queued(&c->out) == 0 && c->calls == 0;
}

static void conn_ready(struct watch *w, uint32_t events) {
	struct conn *c = w->owner;

	if ((events & EPOLLOUT) != 0) {
		flush(c);
	}
	if ((events & EPOLLIN) != 0 && !c->closing) {
		/* One read, and all lines of the buffer, which epoll does not report again.  It
		 * does report bytes that are still in the socket, so a client that sends without
		 * pause takes turns with the others. */
		while (!c->closing && c->malformed < MALFORMED_MAX && read_line(c)) {
			c->in.held = true;
		}
		c->in.held = false;
		note_line(c);
	}
	c->closing |= c->malformed >= MALFORMED_MAX;
	if ((events & (EPOLLHUP | EPOLLERR)) != 0 || is_done(c)) {
		conn_close(c);
		return;
	}
	update_events(c);
}

/* ---- accept ---- */

/* Answers at once, without a struct conn. */
static void turn_away(int fd, const char *why) {
	auto_free char *line = NULL;
	size_t len = 0;
	json_t *message = message_error(NULL, FAULT_LIMIT, why, NULL);

	line = message == NULL ? NULL : message_format(message, &len);
	json_decref(message);
	if (line != NULL) {
		line[len] = '\n';                                           /* instead of the NUL */
		(void)send(fd, line, len + 1, MSG_DONTWAIT | MSG_NOSIGNAL); /* best effort */
	}
	daemon_closes();
	drop_fd(&fd);
	daemon_closed();
}

/* The scope that the peer has without a token; 0: it is refused. */
static unsigned scope_of(const struct live *live, int fd) {
	struct peer p;
	struct err e = {0};

	if (peer_of(fd, &p, &e) != 0) {
		return 0;
	}
	unsigned scope = 0;
	if (live != NULL && live->supervisor > 0 &&
	    peer_relation(&p, live->supervisor) == PEER_BELOW) {
		scope = SCOPE_SESSION;
	} else if (p.uid == geteuid() && p.pid > 0 &&
		   peer_relation(&p, getpid()) == PEER_OUTSIDE) { /* H8: only with a proof */
		scope = live == NULL ? SCOPE_ADMIN : SCOPE_NONE;
	}
	peer_done(&p);
	return scope;
}

static void add_conn(struct daemon *d, int fd, struct live *live, enum scope scope) {
	struct conn *c = calloc(1, sizeof *c);
	struct err e = {0};

	if (c == NULL) {
		turn_away(fd, "the daemon is out of memory");
		return;
	}
	*c = (struct conn){.daemon = d,
			   .watch = {.fd = fd, .ready = conn_ready, .owner = c},
			   .scope = scope,
			   .inside = live != NULL && scope == SCOPE_SESSION,
			   .live = live,
			   .of_session = live != NULL,
			   .next = d->conns};
	frame_reader_init(&c->in, fd, LINE_MAX_BYTES);
	c->in.receive = receive;
	c->in.receive_arg = c;
	frame_writer_init(&c->out, fd, QUEUE_MAX_BYTES);
	if (daemon_loop_watch(&d->loop, &c->watch, EPOLLIN | EPOLLERR, &e) != 0) {
		free(c);
		turn_away(fd, "the daemon has too many connections");
		return;
	}
	if (c->next != NULL) {
		c->next->prev = c;
	}
	d->conns = c;
	d->counters.connections++;
	if (live != NULL) {
		live->connections++;
	} else {
		d->nadmin++;
	}
}

/* A listener stays readable until its clients are accepted, also by a process that has no free
 * descriptor. */
static void refuse_without_descriptor(struct daemon *d, int listener) {
	if ((errno != EMFILE && errno != ENFILE) || d->spare < 0) {
		return;
	}
	drop_fd(&d->spare);
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd >= 0) {
		d->counters.connections_refused++;
		turn_away(fd, NO_DESCRIPTOR);
	}
	d->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static const char *why_refused(int fd, const struct live *live) {
	/* To look the peer up takes two more. */
	auto_fd first = fcntl(fd, F_DUPFD_CLOEXEC, 0), second = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	if (first < 0 || second < 0) {
		return NO_DESCRIPTOR;
	}
	return live != NULL ? "this process is of another user or another session"
			    : "the admin socket serves processes of its user outside of "
			      "sandboxes only";
}

void conn_accept(struct daemon *d, int listener, struct live *live) {
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0) {
		refuse_without_descriptor(d, listener);
		return; /* or the client is gone already */
	}
	size_t have = live != NULL ? live->connections : d->nadmin;
	size_t most = live != NULL ? SESSION_CONNECTIONS_MAX : ADMIN_CONNECTIONS_MAX;
	if (have >= most) {
		d->counters.connections_refused++;
		turn_away(fd, live != NULL
				      ? "too many connections to this session: close one, or wait"
				      : "too many connections to the daemon: close one, or wait");
		return;
	}
	unsigned scope = scope_of(live, fd);
	if (scope == 0) {
		d->counters.connections_refused++;
		turn_away(fd, why_refused(fd, live));
		return;
	}
	add_conn(d, fd, live, (enum scope)scope);
}

int64_t conns_check(struct daemon *d, int64_t now) {
	int64_t next = 0;

	for (struct conn *c = d->conns, *after; c != NULL; c = after) {
		after = c->next;
		int64_t since = c->line_since != 0 ? c->line_since : c->write_since;
		if (is_done(c) || (since != 0 && now >= since + SLOW_MS)) {
			conn_close(c);
		} else if (since != 0 && (next == 0 || since + SLOW_MS < next)) {
			next = since + SLOW_MS;
		}
	}
	return next;
}

/* ---- activity --follow ---- */

static void send_activity(void *arg, const struct activity_row *row) {
	struct conn *c = arg;

	c->follow_after = row->seq;
	conn_send(c, message_notification("session.activity",
					  json_pack("{s:I, s:I, s:s, s:s, s:s}", "seq",
						    (json_int_t)row->seq, "time",
						    (json_int_t)row->time, "session", row->session,
						    "kind", row->kind, "text", row->text)));
}

void conns_follow(struct daemon *d, const char *session) {
	for (struct conn *c = d->conns; c != NULL; c = c->next) {
		struct err e = {0};
		struct activity_reader reader = {.session = session,
						 .after = c->follow_after,
						 .limit = FOLLOW_BATCH,
						 .found = send_activity,
						 .arg = c};
		if (c->follow != NULL && strcmp(c->followed, session) == 0 && !c->closing &&
		    store_each_activity(d->store, &reader, &e) != 0) {
			c->closing = true;
		}
	}
}
