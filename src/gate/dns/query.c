/* SPDX-License-Identifier: Apache-2.0 */
/* One DNS query to the host's name servers.
 *
 * Each try goes to one server, with a new UDP socket, so that the kernel chooses a random source
 * port, connected, so that datagrams from other addresses are dropped, and with a random id.  An
 * answer with TC is repeated by TCP.  The next try follows a time-out, an error code, or an error
 * of the network (ICMP).
 *
 * Should:   end after attempts × servers tries, each with one time-out for UDP and one for TCP.
 * Must not: allocate; accept an answer whose id or question differs; extend a time-out because
 *           single bytes arrive.
 * Fails:    closed: SERVFAIL. */
#include "gate/dns/query.h"

#include "base/auto.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

#define QUERY_MAX 512     /* the longest name, header and OPT record are less than 300 */
#define DATAGRAM_MAX 4096 /* more than the EDNS size that is sent: some servers ignore it */

#define OWNER(type, member, pointer) ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

static void udp_ready(struct loop_watch *w, uint32_t events);
static void tcp_ready(struct loop_watch *w, uint32_t events);
static void timed_out(struct loop_alarm *a);

static struct server *server_of(const struct dns_query *x) {
	return &x->all->servers.list[x->server];
}

void dns_query_stop(struct dns_query *x) {
	loop_alarm_clear(x->all->loop, &x->alarm);
	if (x->watch.fd >= 0) {
		loop_drop(x->all->loop, &x->watch);
		drop_fd(&x->watch.fd);
	}
	if (x->stream != NULL) {
		x->stream->busy = false;
		x->stream = NULL;
	}
}

static void complete(struct dns_query *x) {
	dns_query_stop(x);
	x->over = true;
	x->done(x);
}

/* A connected socket and its time-out; false: no route to this server, or EMFILE. */
static bool open_socket(struct dns_query *x, int type, uint32_t events) {
	const struct server *s = server_of(x);
	x->watch.ready = type == SOCK_STREAM ? tcp_ready : udp_ready;
	x->alarm.ring = timed_out;
	x->watch.fd = socket(s->address.any.sa_family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (x->watch.fd < 0) {
		return false;
	}
	if (connect(x->watch.fd, &s->address.any, s->len) != 0 && errno != EINPROGRESS) {
		drop_fd(&x->watch.fd);
		return false;
	}
	return loop_add(x->all->loop, &x->watch, events) == 0 &&
	       loop_alarm_set(x->all->loop, &x->alarm, x->all->servers.timeout_ms);
}

static bool new_id(struct dns_query *x) {
	return getrandom(&x->request.id, sizeof x->request.id, 0) == (ssize_t)sizeof x->request.id;
}

static bool begin_udp(struct dns_query *x) {
	uint8_t query[QUERY_MAX];
	size_t len = dns_write_query(&x->request, query, sizeof query);
	return len > 0 && open_socket(x, SOCK_DGRAM, EPOLLIN) &&
	       send(x->watch.fd, query, len, MSG_NOSIGNAL) == (ssize_t)len;
}

static struct stream *free_stream(struct dns_shared *all) {
	for (size_t i = 0; i < DNS_QUERY_STREAMS; i++) {
		if (!all->streams[i].busy) {
			return &all->streams[i];
		}
	}
	return NULL;
}

static bool begin_tcp(struct dns_query *x) {
	struct stream *s = free_stream(x->all);
	if (s == NULL) {
		return false;
	}
	size_t len = dns_write_query(&x->request, s->data + 2, QUERY_MAX);
	s->data[0] = (uint8_t)(len >> 8);
	s->data[1] = (uint8_t)len;
	s->len = len + 2;
	s->done = 0;
	s->busy = true;
	x->stream = s;
	return len > 0 && open_socket(x, SOCK_STREAM, EPOLLOUT);
}

static bool begin_try(struct dns_query *x) {
	x->request.plain = server_of(x)->plain;
	if (new_id(x) && (x->all->servers.use_vc ? begin_tcp(x) : begin_udp(x))) {
		return true;
	}
	dns_query_stop(x);
	return false;
}

/* Starts the next try that can be started; without one the query fails. */
static void next_try(struct dns_query *x) {
	dns_query_stop(x);
	while (x->tries > 0) {
		x->tries--;
		x->server = (x->server + 1) % x->all->servers.count;
		if (begin_try(x)) {
			return;
		}
	}
	memset(x->answer, 0, sizeof *x->answer);
	x->answer->code = DNS_SERVFAIL;
	complete(x);
}

static void timed_out(struct loop_alarm *a) {
	struct dns_query *x = OWNER(struct dns_query, alarm, a);
	server_of(x)->avoid_until = x->all->loop->now + DNS_QUERY_AVOID_MS;
	x->tries = x->last_try ? 0 : x->tries;
	next_try(x);
}

/* ---- answers ---- */

/* Repeats the query to the same server, by TCP or without EDNS; if that fails, to the next. */
static void retry(struct dns_query *x, bool (*begin)(struct dns_query *x)) {
	dns_query_stop(x);
	if (!begin(x)) {
		next_try(x);
	}
}

/* *x->answer has the server's answer; cut: TC was set. */
static void handle_answer(struct dns_query *x, bool cut) {
	struct server *s = server_of(x);
	int code = x->answer->code;
	s->avoid_until = 0;
	if ((code == DNS_FORMERR || code == DNS_NOTIMP) && !x->request.plain) {
		s->plain = true; /* RFC 6891: it may not support EDNS */
		retry(x, begin_try);
	} else if (cut && x->stream == NULL) {
		retry(x, begin_tcp);
	} else if (cut || (code != DNS_NOERROR && code != DNS_NXDOMAIN)) {
		next_try(x);
	} else {
		complete(x);
	}
}

static void udp_ready(struct loop_watch *w, uint32_t events) {
	(void)events; /* recv() returns the error */
	struct dns_query *x = OWNER(struct dns_query, watch, w);
	uint8_t data[DATAGRAM_MAX];
	bool cut = false;
	ssize_t n = recv(w->fd, data, sizeof data, MSG_TRUNC);
	if (n < 0) {
		if (errno != EAGAIN && errno != EINTR) {
			next_try(x);
		}
		return;
	}
	size_t len = (size_t)n < sizeof data ? (size_t)n : sizeof data;
	/* Another datagram may be a spoofed answer: the real one may still arrive. */
	if (dns_read_answer(data, len, &x->request, x->answer, &cut)) {
		handle_answer(x, cut || (size_t)n > len);
	}
}

static void send_query(struct dns_query *x) {
	struct stream *s = x->stream;
	ssize_t n = send(x->watch.fd, s->data + s->done, s->len - s->done, MSG_NOSIGNAL);
	if (n < 0) {
		if (errno != EAGAIN && errno != EINTR) {
			next_try(x);
		}
		return;
	}
	s->done += (size_t)n;
	if (s->done == s->len) {
		s->done = s->len = 0;
		loop_want(x->all->loop, &x->watch, EPOLLIN);
	}
}

/* Bytes of the answer with its length prefix; 2 until that is there. */
static size_t stream_len(const struct stream *s) {
	return s->done < 2 ? 2 : 2 + ((size_t)s->data[0] << 8 | s->data[1]);
}

static void tcp_ready(struct loop_watch *w, uint32_t events) {
	(void)events; /* send() or recv() returns the error */
	struct dns_query *x = OWNER(struct dns_query, watch, w);
	struct stream *s = x->stream;
	bool cut = false;
	if (s->len > 0) {
		send_query(x);
		return;
	}
	ssize_t n = recv(w->fd, s->data + s->done, stream_len(s) - s->done, 0);
	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		return;
	}
	if (n <= 0) {
		next_try(x);
		return;
	}
	s->done += (size_t)n;
	if (s->done < stream_len(s)) {
		return;
	}
	if (dns_read_answer(s->data + 2, s->done - 2, &x->request, x->answer, &cut)) {
		handle_answer(x, cut);
	} else {
		next_try(x);
	}
}

void dns_query_begin(struct dns_query *x) {
	const struct resolv_conf *servers = &x->all->servers;
	x->watch.fd = -1;
	x->server = resolv_conf_first_server(&x->all->servers, x->all->loop->now);
	x->tries = servers->attempts * (unsigned)servers->count - 1;
	if (!begin_try(x)) {
		next_try(x);
	}
}
