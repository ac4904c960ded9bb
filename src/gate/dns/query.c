/* How one question is asked.
 *
 * A try is one server: a fresh UDP socket, so that the kernel chooses a random port for each,
 * connected, so that nobody else's datagrams come in, with a random id.  TC leads to the same
 * server by TCP.  The next try follows a time-out, an answer that is a failure, and an error that
 * the network reports.
 *
 * Should:   end: after attempts × servers tries, each with one time-out for UDP and one for TCP.
 * Must not: allocate; take what is not the answer to this very question; wait longer because
 *           bytes trickle in.
 * Fails:    closed: SERVFAIL. */
#include "gate/dns/query.h"

#include "base/auto.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

#define QUERY_MAX 512     /* a name's most and everything around it is less than 300 */
#define DATAGRAM_MAX 4096 /* more than we say we take: some servers do not listen */

#define OWNER(type, member, pointer) ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

static void by_udp(struct loop_watch *w, uint32_t events);
static void by_tcp(struct loop_watch *w, uint32_t events);
static void too_late(struct loop_alarm *a);

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

static void finish(struct dns_query *x) {
	dns_query_stop(x);
	x->over = true;
	x->done(x);
}

/* A connected socket and its time-out; false when there is no way to this server. */
static bool open_socket(struct dns_query *x, int type, uint32_t events) {
	const struct server *s = server_of(x);
	x->watch.ready = type == SOCK_STREAM ? by_tcp : by_udp;
	x->alarm.ring = too_late;
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
	return getrandom(&x->asked.id, sizeof x->asked.id, 0) == (ssize_t)sizeof x->asked.id;
}

static bool begin_udp(struct dns_query *x) {
	uint8_t query[QUERY_MAX];
	size_t len = dns_write_query(&x->asked, query, sizeof query);
	return len > 0 && open_socket(x, SOCK_DGRAM, EPOLLIN) &&
	       send(x->watch.fd, query, len, MSG_NOSIGNAL) == (ssize_t)len;
}

static struct stream *free_stream(struct exchanges *all) {
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
	size_t len = dns_write_query(&x->asked, s->data + 2, QUERY_MAX);
	s->data[0] = (uint8_t)(len >> 8);
	s->data[1] = (uint8_t)len;
	s->len = len + 2;
	s->done = 0;
	s->busy = true;
	x->stream = s;
	return len > 0 && open_socket(x, SOCK_STREAM, EPOLLOUT);
}

static bool begin_try(struct dns_query *x) {
	x->asked.plain = server_of(x)->plain;
	if (new_id(x) && (x->all->servers.use_vc ? begin_tcp(x) : begin_udp(x))) {
		return true;
	}
	dns_query_stop(x);
	return false;
}

/* The next try that can be begun, or the end. */
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
	finish(x);
}

static void too_late(struct loop_alarm *a) {
	struct dns_query *x = OWNER(struct dns_query, alarm, a);
	server_of(x)->shunned = x->all->loop->now + DNS_QUERY_SHUN_MS;
	x->tries = x->hurried ? 0 : x->tries;
	next_try(x);
}

/* ---- answers ---- */

/* The same server again, in another way; the next one when that cannot be begun. */
static void again(struct dns_query *x, bool (*begin)(struct dns_query *x)) {
	dns_query_stop(x);
	if (!begin(x)) {
		next_try(x);
	}
}

/* What an answer to our question says: *x->answer holds it. */
static void answered(struct dns_query *x, bool cut) {
	struct server *s = server_of(x);
	int code = x->answer->code;
	s->shunned = 0;
	if ((code == DNS_FORMERR || code == DNS_NOTIMP) && !x->asked.plain) {
		s->plain = true; /* RFC 6891: perhaps it does not know EDNS */
		again(x, begin_try);
	} else if (cut && x->stream == NULL) {
		again(x, begin_tcp);
	} else if (cut || (code != DNS_NOERROR && code != DNS_NXDOMAIN)) {
		next_try(x);
	} else {
		finish(x);
	}
}

static void by_udp(struct loop_watch *w, uint32_t events) {
	(void)events; /* an error is what recv() returns */
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
	/* What is not the answer may be somebody's guess: the true one may still come. */
	if (dns_read_answer(data, len, &x->asked, x->answer, &cut)) {
		answered(x, cut || (size_t)n > len);
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

/* How many bytes the answer has, as far as that is known. */
static size_t stream_wants(const struct stream *s) {
	return s->done < 2 ? 2 : 2 + ((size_t)s->data[0] << 8 | s->data[1]);
}

static void by_tcp(struct loop_watch *w, uint32_t events) {
	(void)events; /* an error is what send() or recv() returns */
	struct dns_query *x = OWNER(struct dns_query, watch, w);
	struct stream *s = x->stream;
	bool cut = false;
	if (s->len > 0) {
		send_query(x);
		return;
	}
	ssize_t n = recv(w->fd, s->data + s->done, stream_wants(s) - s->done, 0);
	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		return;
	}
	if (n <= 0) {
		next_try(x);
		return;
	}
	s->done += (size_t)n;
	if (s->done < stream_wants(s)) {
		return;
	}
	if (dns_read_answer(s->data + 2, s->done - 2, &x->asked, x->answer, &cut)) {
		answered(x, cut);
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
