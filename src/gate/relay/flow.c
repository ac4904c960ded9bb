/* SPDX-License-Identifier: Apache-2.0 */
/* One flow: from connect(2) through forwarding to the close of both sockets.
 *
 * Should:   answer connect(2) when its result is known, a non-blocking one within
 *           milliseconds; forward FIN as FIN and RST as RST.
 * Must not: leave a connect(2) without an answer.
 * Fails:    closed: a call that cannot be served fails, a flow that breaks is reset. */
#include "gate/relay/flow.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

/* Requests of one flow that are inspected and forwarded before other flows have their turn. */
#define PIECES 32

/* TCP_KEEPIDLE, seconds: notices a peer that vanished without FIN or RST. */
#define KEEPALIVE_AFTER 60

/* Reads that empty the receive queue of a client that got a reply. */
#define UNREAD_MAX 16

/* ---- begin and end ---- */

static void client_ready(struct loop_watch *w, uint32_t events);
static void server_ready(struct loop_watch *w, uint32_t events);
static void flow_alarm(struct loop_alarm *a);

struct flow *flow_new(struct gate *g, enum flow_kind kind) {
	if (g->nfree_flows == 0) {
		return NULL;
	}
	struct flow *f = &g->flows[g->free_flows[--g->nfree_flows]];
	memset(f, 0, sizeof *f);
	f->gate = g;
	f->kind = kind;
	f->serial = g->serial++;
	f->phase = PHASE_REQUEST;
	f->caller = -1;
	f->client = (struct loop_watch){.fd = -1, .ready = client_ready};
	f->server = (struct loop_watch){.fd = -1, .ready = server_ready};
	f->other.fd = -1;
	f->alarm.ring = flow_alarm;
	f->up = f->down = (struct direction){.pipe = {-1, -1}, .allow = ALLOW_ALL};
	f->low_water = 1;
	g->nflows++;
	return f;
}

/* SO_LINGER 0 is set as long as a flow is open: when this process dies the kernel closes the
 * sockets, and the peers must see RST, not an EOF that looks intended. */
static void set_reset(int fd, bool reset) {
	const struct linger at_once = {.l_onoff = reset, .l_linger = 0};

	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once); /* on failure: FIN */
}

static void drop_watch(struct gate *g, struct loop_watch *w, bool reset) {
	if (w->fd < 0) {
		return;
	}
	set_reset(w->fd, reset);
	loop_close(&g->loop, w);
}

static void flow_end(struct flow *f, bool reset) {
	struct gate *g = f->gate;

	if (f->phase == PHASE_FREE) {
		return;
	}
	flow_answer(f, ECONNREFUSED); /* if it was not answered yet */
	upstream_end(f);
	if (f->kind == FLOW_DNS) {
		dns_server_forget(f);
	}
	loop_alarm_clear(&g->loop, &f->alarm);
	drop_watch(g, &f->client, reset);
	drop_watch(g, &f->server, reset);
	splice_drop(g, &f->up);
	splice_drop(g, &f->down);
	client_socket_release(f);
	if (f->stash != 0) {
		g->stash_used[f->stash - 1] = false;
	}
	scan_end(f);
	f->phase = PHASE_FREE;
	g->free_flows[g->nfree_flows++] = (size_t)(f - g->flows);
	g->nflows--;
	g->loop.over = g->loop.over || (g->ending && g->nflows == 0);
}

uint64_t flow_ticket(const struct flow *f) {
	return (uint64_t)(f - f->gate->flows) | (uint64_t)f->serial << 32;
}

struct flow *flow_by_ticket(struct gate *g, uint64_t ticket) {
	size_t place = (uint32_t)ticket;
	struct flow *f = place < GATE_FLOWS ? &g->flows[place] : NULL;

	return f != NULL && f->phase != PHASE_FREE && flow_ticket(f) == ticket ? f : NULL;
}

void flow_close(struct flow *f) {
	flow_end(f, false);
}

void flow_reset(struct flow *f) {
	flow_end(f, true);
}

void flow_close_replied(struct flow *f) {
	uint8_t *data = f->gate->scratch;
	ssize_t n = 1;

	for (int i = 0; i < UNREAD_MAX && n > 0; i++) {
		n = recv(f->client.fd, data, sizeof f->gate->scratch, MSG_DONTWAIT);
	}
	flow_close(f);
}

void flow_answer(struct flow *f, int error) {
	if (f->id != 0) {
		wire_answer(f->gate->channel.fd, f->id, error);
		f->id = 0;
	}
}

void flow_continue(struct flow *f) {
	flow_answer(f, WIRE_CONTINUE);
}

void flow_fail(struct flow *f, int error) {
	flow_answer(f, error);
	flow_reset(f);
}

void flow_refuse(struct flow *f, enum net_op op, const struct net_verdict *v) {
	(void)flow_record(f, op, NET_DENIED, v); /* G6: before the answer */
	flow_fail(f, EACCES);
}

/* ---- its sockets ---- */

void flow_tune(int fd, bool keep) {
	const int on = 1, after = KEEPALIVE_AFTER;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); /* on failure: slower */
	/* Urgent data stays in the stream (RFC 6093); out of band it would be lost. */
	(void)setsockopt(fd, SOL_SOCKET, SO_OOBINLINE, &on, sizeof on);
	set_reset(fd, true);
	if (keep) {
		(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on,
				 sizeof on); /* on failure: noticed late */
		(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &after,
				 sizeof after); /* likewise */
	}
}

void flow_set_low_water(int fd, size_t bytes) {
	int value = (int)bytes;

	/* On failure epoll wakes the gate more often. */
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &value, sizeof value);
}

void flow_client_low_water(struct flow *f, size_t bytes) {
	if (f->low_water != bytes) {
		flow_set_low_water(f->client.fd, bytes);
		f->low_water = bytes;
	}
}

bool flow_ended(int fd) {
	struct pollfd end = {.fd = fd, .events = POLLRDHUP | POLLPRI};

	return poll(&end, 1, 0) > 0 &&
	       (end.revents & (POLLRDHUP | POLLPRI | POLLHUP | POLLERR)) != 0;
}

bool flow_wait_for_more(struct flow *f, size_t seen) {
	if (f->low_water == seen + 1 && flow_ended(f->client.fd)) {
		return false;
	}
	flow_client_low_water(f, seen + 1);
	return true;
}

/* ---- the kind of a connect(2) ---- */

static bool is_loopback(const struct ip *ip) {
	const struct ip one = {{[15] = 1}};

	return ip_is4(ip) ? ip->b[12] == 127 : ip_same(ip, &one);
}

/* --host-port connects to 127.0.0.1 and ::1; other loopback addresses have other services. */
static bool is_host_port_address(const struct ip *ip) {
	const struct ip four = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1}};

	return ip_same(ip, &four) || !ip_is4(ip);
}

static enum flow_kind kind_of(const struct net_plan *net, const struct ip *ip, uint16_t port) {
	if (!is_loopback(ip)) {
		return port == 53 && !judge_ip(net, ip, port).allowed ? FLOW_DNS : FLOW_DIRECT;
	}
	if (port == 53) {
		return FLOW_DNS;
	}
	if (net->proxy && (port == NET_PROXY_HTTP || port == NET_PROXY_SOCKS)) {
		return port == NET_PROXY_HTTP ? FLOW_HTTP : FLOW_SOCKS;
	}
	return net_passes_port(net, port) && is_host_port_address(ip) ? FLOW_HOST : FLOW_DIRECT;
}

static void begin_host(struct flow *f) {
	const struct net_verdict v = {.allowed = true};

	f->entry = flow_record(f, NET_OP_CONNECT, NET_ALLOWED, &v);
	upstream_connect(f);
}

/* A proxy or DNS connection: the gate reads a request before it knows the destination. */
static void await_request(struct flow *f) {
	(void)loop_alarm_set(&f->gate->loop, &f->alarm, SILENCE_MS);
	if (loop_want(&f->gate->loop, &f->client, EPOLLIN | EPOLLPRI) != 0) {
		flow_reset(f);
	}
}

static void begin_request(struct flow *f) {
	if (client_socket_attach(f)) {
		await_request(f);
	}
}

/* Out of flows or descriptors: this call fails with ENOBUFS; a later one may succeed. */
static void fail_call(struct gate *g, const struct wire *w, const char *why) {
	struct flow refused = {.gate = g, .id = w->id, .ip = w->to, .port = w->port};
	const struct net_verdict v = {.why = why};

	(void)flow_record(&refused, NET_OP_CONNECT, NET_FAILED, &v);
	flow_answer(&refused, ENOBUFS);
	splice_release_spares(g);
}

void flow_begin(struct gate *g, const struct wire *w, int socket) {
	struct flow *f = socket < 0 ? NULL : flow_new(g, kind_of(g->net, &w->to, w->port));

	if (f == NULL) {
		fail_call(g, w,
			  socket < 0 ? "too many open files" : "too many connections at once");
		drop_fd(&socket);
		return;
	}
	f->caller = socket;
	f->id = w->id;
	f->family = w->family;
	f->flags = w->flags;
	f->ip = w->to;
	f->port = w->port;
	switch (f->kind) {
	case FLOW_DIRECT:
		upstream_open(f);
		break;
	case FLOW_HOST:
		begin_host(f);
		break;
	case FLOW_DNS:
	case FLOW_HTTP:
	case FLOW_SOCKS:
		begin_request(f);
		break;
	case FLOW_PUBLISH: /* begins in publish.c */
		flow_fail(f, EACCES);
		break;
	}
}

void flow_accepted(struct gate *g, uint16_t port, int socket) {
	struct flow *f = flow_new(g, kind_of(g->net, &ip_loopback4, port));

	if (f == NULL) {
		const struct wire w = {.to = ip_loopback4, .port = port};
		fail_call(g, &w, "too many connections at once");
		drop_fd(&socket);
		return;
	}
	f->client.fd = socket;
	f->family = AF_INET;
	f->ip = ip_loopback4;
	f->port = port;
	flow_tune(socket, true);
	if (f->kind == FLOW_HTTP || f->kind == FLOW_SOCKS) {
		await_request(f);
	} else if (f->kind == FLOW_HOST) {
		begin_host(f);
	} else {
		flow_reset(f); /* a port that the plan does not have */
	}
}

/* ---- forwarding ---- */

/* G3: no byte of the server before the client has named a host. */
static bool server_muted(const struct flow *f) {
	return f->talk.strict && f->talk.state == CONVERSATION_FIRST;
}

/* The client's next bytes have to be inspected before they are forwarded. */
static bool must_inspect(const struct flow *f) {
	return conversation_reads_client(&f->talk) && f->up.allow == 0 && f->up.buffered == 0 &&
	       !f->up.eof && !scan_pauses(f);
}

static bool move_up(struct flow *f) {
	uint64_t bytes = 0;

	for (int i = 0; i < PIECES; i++) {
		if (must_inspect(f) && !inspect(f)) {
			return false;
		}
		if (!proxy_flush(f)) {
			return true;
		}
		if (splice_move(f->gate, &f->up, f->client.fd, f->server.fd, &bytes) != MOVED_ALL) {
			flow_reset(f);
			return false;
		}
		if (bytes == 0 || !must_inspect(f)) {
			break;
		}
		if (f->entry != NULL) {
			f->entry->sums[LEDGER_SENT] += bytes;
		}
		bytes = 0;
	}
	if (f->entry != NULL) {
		f->entry->sums[LEDGER_SENT] += bytes;
	}
	return true;
}

static bool move_down(struct flow *f) {
	uint64_t bytes = 0;

	if (server_muted(f) || f->server.fd < 0 || f->client.fd < 0) { /* G3 */
		return true;
	}
	if (conversation_reads_server(&f->talk) && !inspect_answer(f)) {
		return false;
	}
	if (conversation_reads_server(&f->talk)) {
		return true; /* undecided */
	}
	if (f->talk.whole && !f->server_sent && !scan_answer(f)) {
		return false;
	}
	enum moved moved = splice_move(f->gate, &f->down, f->server.fd, f->client.fd, &bytes);
	f->server_sent = f->server_sent || bytes > 0;
	f->scan.received += bytes;
	if (f->entry != NULL) {
		f->entry->sums[LEDGER_RECEIVED] += bytes;
	}
	if (moved != MOVED_ALL) {
		flow_reset(f);
	}
	return moved == MOVED_ALL;
}

/* Bytes, urgent data, EOF. */
#define INPUT (EPOLLIN | EPOLLPRI | EPOLLRDHUP)

static bool can_read(const struct direction *dir) {
	return dir->buffered == 0 && !dir->eof;
}

static void update_events(struct flow *f) {
	struct loop *l = &f->gate->loop;
	bool reads = must_inspect(f) || f->up.allow > 0;
	uint32_t client = (can_read(&f->up) && reads && f->stash == 0 ? INPUT : 0U) |
			  (f->down.buffered > 0 ? EPOLLOUT : 0U);
	bool writes = f->up.buffered > 0 || (f->stash != 0 && !scan_pauses(f));
	uint32_t server =
		(can_read(&f->down) && !server_muted(f) ? INPUT : 0U) | (writes ? EPOLLOUT : 0U);

	if (loop_want(l, &f->client, client) != 0 || loop_want(l, &f->server, server) != 0) {
		flow_reset(f);
	}
}

static bool over(const struct direction *dir) {
	return dir->eof && dir->buffered == 0;
}

/* The client's EOF was forwarded, or the last byte of the one request that a proxy serves. */
static bool up_done(const struct flow *f) {
	bool served = f->talk.state == CONVERSATION_OVER && f->up.allow == 0 && f->stash == 0 &&
		      f->scan.ahead == 0;

	return f->up.buffered == 0 && (f->up.eof || served);
}

static void forward_eof(struct direction *dir, int to) {
	if (over(dir) && !dir->shut) {
		dir->shut = true;
		(void)shutdown(to, SHUT_WR); /* ENOTCONN: the peer has reset already */
	}
}

void flow_step(struct flow *f, int directions) {
	if (f->phase != PHASE_OPEN || ((directions & STEP_UP) != 0 && !move_up(f)) ||
	    ((directions & STEP_DOWN) != 0 && !move_down(f))) {
		return;
	}
	/* The direction from the sandbox to the host. */
	bool delivered = over(f->kind == FLOW_PUBLISH ? &f->down : &f->up);
	if ((up_done(f) && over(&f->down)) || (f->gate->ending && delivered)) {
		flow_close(f);
		return;
	}
	forward_eof(&f->up, f->server.fd);
	forward_eof(&f->down, f->client.fd);
	update_events(f);
}

void flow_reached(struct flow *f) {
	flow_tune(f->server.fd, false);
	f->server.ready = server_ready;
}

void flow_open(struct flow *f) {
	f->phase = PHASE_OPEN;
	loop_alarm_clear(&f->gate->loop, &f->alarm);
	scan_open(f);
	if ((f->by_name || f->talk.whole) && f->talk.state == CONVERSATION_FIRST) {
		f->talk.unjudged = !f->by_name;
		f->talk.strict = f->by_name && (f->port == 80 || f->port == 443);
		f->up.allow = 0;
		if (f->talk.strict) {
			(void)loop_alarm_set(&f->gate->loop, &f->alarm, SILENCE_MS);
		}
	} else if (f->talk.state == CONVERSATION_FIRST) {
		f->talk.state = CONVERSATION_OPAQUE;
	}
	/* A rewritten head is sent at once; otherwise epoll reports the first bytes. */
	if (f->stash != 0) {
		flow_step(f, STEP_UP);
	} else {
		update_events(f);
	}
}

/* ---- events ---- */

static int directions_of(uint32_t events, int in, int out) {
	if ((events & (EPOLLHUP | EPOLLERR)) != 0) {
		return STEP_BOTH;
	}
	/* Urgent data below SO_RCVLOWAT raises EPOLLPRI without EPOLLIN. */
	return ((events & (EPOLLIN | EPOLLPRI)) != 0 ? in : 0) |
	       ((events & EPOLLOUT) != 0 ? out : 0);
}

/* EOF follows the queued bytes: splice_move() reads on until it finds it. */
static void note_events(struct direction *dir, uint32_t events) {
	dir->fin_seen = dir->fin_seen || (events & EPOLLRDHUP) != 0;
	dir->urgent = dir->urgent || (events & EPOLLPRI) != 0;
}

static void client_ready(struct loop_watch *w, uint32_t events) {
	struct flow *f = CONTAINER_OF(w, struct flow, client);

	if (f->phase == PHASE_REQUEST && (events & EPOLLPRI) != 0) {
		flow_reset(f); /* MSG_PEEK does not return the bytes after urgent data */
		return;
	}
	if (f->phase == PHASE_REQUEST && f->kind == FLOW_DNS) {
		dns_server_step(f);
		return;
	}
	if (f->phase == PHASE_REQUEST && f->kind != FLOW_PUBLISH) {
		proxy_step(f);
		return;
	}
	if (f->phase == PHASE_REQUEST || f->phase == PHASE_DIAL) {
		/* The client has closed before the upstream was connected. */
		if ((events & (EPOLLHUP | EPOLLERR)) != 0) {
			flow_reset(f);
		}
		return;
	}
	note_events(&f->up, events);
	flow_step(f, directions_of(events, STEP_UP, STEP_DOWN));
	/* Closed in both directions, and nothing is left to deliver to the client. */
	if (f->phase == PHASE_OPEN && f->client.fd == w->fd &&
	    (events & (EPOLLHUP | EPOLLERR)) != 0 && f->up.buffered == 0 && can_read(&f->down)) {
		flow_reset(f);
	}
}

static void server_ready(struct loop_watch *w, uint32_t events) {
	struct flow *f = CONTAINER_OF(w, struct flow, server);

	note_events(&f->down, events);
	flow_step(f, directions_of(events, STEP_DOWN, STEP_UP));
	if (f->phase == PHASE_OPEN && (events & (EPOLLHUP | EPOLLERR)) != 0 && f->down.eof) {
		loop_drop(&f->gate->loop, w); /* closed in both directions */
	}
}

static void flow_alarm(struct loop_alarm *a) {
	struct flow *f = CONTAINER_OF(a, struct flow, alarm);
	const struct net_verdict late = {
		.why = "the client named no host in time (TLS server name or HTTP Host)"};

	if (f->phase == PHASE_DIAL) {
		upstream_timeout(f);
	} else if (f->phase == PHASE_JOIN) {
		flow_reset(f);
	} else if (f->phase == PHASE_OPEN && f->unsure) {
		inspect_unsure(f);
	} else {
		flow_refuse(f, NET_OP_REQUEST, &late);
	}
}

/* ---- the ledger ---- */

static void set_text(char *out, size_t cap, const char *s) {
	size_t len = s == NULL ? 0 : strlen(s);

	len = len < cap ? len : cap - 1;
	memcpy(out, s == NULL ? "" : s, len);
	out[len] = '\0';
}

struct shared_counters *flow_record(struct flow *f, enum net_op op, enum net_outcome outcome,
				    const struct net_verdict *v) {
	struct ledger_entry entry = {.op = op,
				     .outcome = outcome,
				     .has_ip = true,
				     .ip = f->ip,
				     .port = f->port,
				     .unread = v->unread,
				     .own = v->own,
				     .leak = v->leak};

	set_text(entry.name, sizeof entry.name, f->name);
	set_text(entry.rule, sizeof entry.rule, v->rule == NULL ? NULL : v->rule->written);
	set_text(entry.why, sizeof entry.why, outcome == NET_ALLOWED ? NULL : v->why);
	for (size_t i = 0; i < sizeof f->ip.b; i++) {
		if (f->ip.b[i] != 0) {
			return ledger_add(f->gate->ledger, &entry);
		}
	}
	entry.has_ip = false; /* all zero: refused before an address was known */
	return ledger_add(f->gate->ledger, &entry);
}
