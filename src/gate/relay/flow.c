/* One connection from the program's call to its last byte.
 *
 * Should:   answer the call when it is known how it ends, within a moment where the
 *           caller does not block; pass on ends and resets as they come.
 * Must not: let a program wait for an answer that will not come.
 * Fails:    closed: a call that cannot be served fails, a flow that breaks is reset. */
#include "gate/relay/flow.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

/* Pieces of one flow that are judged and passed on before others have their turn. */
#define PIECES 32

/* Seconds: a program that is gone without a word is noticed. */
#define KEEPALIVE_AFTER 60

/* ---- life ---- */

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
	f->phase = PHASE_ASK;
	f->caller = -1;
	f->client = (struct loop_watch){.fd = -1, .ready = client_ready};
	f->server = (struct loop_watch){.fd = -1, .ready = server_ready};
	f->other.fd = -1;
	f->alarm.ring = flow_alarm;
	f->up = f->down = (struct way){.pipe = {-1, -1}, .allow = WAY_OPEN};
	f->low = 1;
	g->nflows++;
	return f;
}

/* As long as a flow is open its sockets are set so: when this process dies, the kernel closes them,
 * and an end in the middle must not look like one that was meant. */
static void set_reset(int fd, bool reset) {
	const struct linger at_once = {.l_onoff = reset, .l_linger = 0};

	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once); /* or it ends */
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
	flow_answer(f, ECONNREFUSED); /* unless it has its answer */
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
	f->phase = PHASE_FREE;
	g->free_flows[g->nfree_flows++] = (size_t)(f - g->flows);
	g->nflows--;
	g->loop.over = g->loop.over || (g->ending && g->nflows == 0);
}

uint64_t flow_ticket(const struct flow *f) {
	return (uint64_t)(f - f->gate->flows) | (uint64_t)f->serial << 32;
}

struct flow *flow_of(struct gate *g, uint64_t ticket) {
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

void flow_answer(struct flow *f, int error) {
	if (f->id != 0) {
		wire_answer(f->gate->channel.fd, f->id, error);
		f->id = 0;
	}
}

void flow_go_on(struct flow *f) {
	flow_answer(f, WIRE_GO_ON);
}

void flow_fail(struct flow *f, int error) {
	flow_answer(f, error);
	flow_reset(f);
}

void flow_refuse(struct flow *f, enum net_op op, const struct net_verdict *v) {
	(void)flow_record(f, op, NET_DENIED, v);
	flow_fail(f, EACCES);
}

/* ---- its sockets ---- */

void flow_tune(int fd, bool keep) {
	const int on = 1, after = KEEPALIVE_AFTER;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); /* or it is slower */
	/* Urgent bytes have their place among the others (RFC 6093), or they are lost. */
	(void)setsockopt(fd, SOL_SOCKET, SO_OOBINLINE, &on, sizeof on);
	set_reset(fd, true);
	if (keep) {
		(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on,
				 sizeof on); /* or noticed late */
		(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &after,
				 sizeof after); /* likewise */
	}
}

void flow_low_water(int fd, size_t bytes) {
	int value = (int)bytes;

	/* Without it we are woken more often. */
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &value, sizeof value);
}

void flow_low(struct flow *f, size_t bytes) {
	if (f->low != bytes) {
		flow_low_water(f->client.fd, bytes);
		f->low = bytes;
	}
}

bool flow_ended(int fd) {
	struct pollfd end = {.fd = fd, .events = POLLRDHUP | POLLPRI};

	return poll(&end, 1, 0) > 0 &&
	       (end.revents & (POLLRDHUP | POLLPRI | POLLHUP | POLLERR)) != 0;
}

bool flow_more(struct flow *f, size_t seen) {
	if (f->low == seen + 1 && flow_ended(f->client.fd)) {
		return false;
	}
	flow_low(f, seen + 1);
	return true;
}

/* ---- where a program wants to go ---- */

static bool is_loopback(const struct ip *ip) {
	const struct ip one = {{[15] = 1}};

	return ip_is4(ip) ? ip->b[12] == 127 : ip_same(ip, &one);
}

/* Where --host-port leads: other addresses of the loopback have other services. */
static bool is_host(const struct ip *ip) {
	const struct ip four = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1}};

	return ip_same(ip, &four) || !ip_is4(ip);
}

static enum flow_kind kind_of(const struct net_plan *net, const struct ip *ip, uint16_t port) {
	if (!is_loopback(ip)) {
		return port == 53 && !judge_ip(net, ip, port).allowed ? FLOW_DNS : FLOW_THROUGH;
	}
	if (port == 53) {
		return FLOW_DNS;
	}
	if (net->proxy && (port == NET_PROXY_HTTP || port == NET_PROXY_SOCKS)) {
		return port == NET_PROXY_HTTP ? FLOW_HTTP : FLOW_SOCKS;
	}
	return net_passes_port(net, port) && is_host(ip) ? FLOW_HOST : FLOW_THROUGH;
}

static void begin_host(struct flow *f) {
	const struct net_verdict v = {.allowed = true};

	f->entry = flow_record(f, NET_OP_CONNECT, NET_ALLOWED, &v);
	f->talk.state = CONVERSATION_OPAQUE;
	upstream_connect(f);
}

/* The program talks to us before it is known where to. */
static void begin_asked(struct flow *f) {
	if (!client_socket_attach(f)) {
		return;
	}
	(void)loop_alarm_set(&f->gate->loop, &f->alarm, SILENCE_MS);
	if (loop_want(&f->gate->loop, &f->client, EPOLLIN | EPOLLPRI) != 0) {
		flow_reset(f);
	}
}

/* This call fails; those that follow may find a place. */
static void turn_away(struct gate *g, const struct wire *w, const char *why) {
	struct flow refused = {.gate = g, .id = w->id, .ip = w->to, .port = w->port};
	const struct net_verdict v = {.why = why};

	(void)flow_record(&refused, NET_OP_CONNECT, NET_FAILED, &v);
	flow_answer(&refused, ENOBUFS);
	splice_release_spares(g);
}

void flow_begin(struct gate *g, const struct wire *w, int socket) {
	struct flow *f = socket < 0 ? NULL : flow_new(g, kind_of(g->net, &w->to, w->port));

	if (f == NULL) {
		turn_away(g, w,
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
	case FLOW_THROUGH:
		upstream_open(f);
		break;
	case FLOW_HOST:
		begin_host(f);
		break;
	case FLOW_DNS:
	case FLOW_HTTP:
	case FLOW_SOCKS:
		begin_asked(f);
		break;
	case FLOW_INWARD: /* begins elsewhere */
		flow_fail(f, EACCES);
		break;
	}
}

/* ---- bytes ---- */

static bool muted(const struct flow *f) {
	return f->talk.strict && f->talk.state == CONVERSATION_FIRST;
}

/* The client's next bytes are to be looked at before they go. */
static bool looks(const struct flow *f) {
	return conversation_listens(&f->talk) && f->up.allow == 0 && f->up.held == 0 &&
	       !f->up.ended;
}

static bool move_up(struct flow *f) {
	uint64_t bytes = 0;

	for (int i = 0; i < PIECES; i++) {
		if (looks(f) && !inspect(f)) {
			return false;
		}
		if (!proxy_flush(f)) {
			return true;
		}
		if (splice_move(f->gate, &f->up, f->client.fd, f->server.fd, &bytes) != MOVED_ALL) {
			flow_reset(f);
			return false;
		}
		if (bytes == 0 || !looks(f)) {
			break;
		}
		if (f->entry != NULL) {
			f->entry->sent += bytes;
		}
		bytes = 0;
	}
	if (f->entry != NULL) {
		f->entry->sent += bytes;
	}
	return true;
}

static bool move_down(struct flow *f) {
	uint64_t bytes = 0;

	if (muted(f) || f->server.fd < 0 || f->client.fd < 0) {
		return true;
	}
	if (conversation_waits(&f->talk) && !inspect_answer(f)) {
		return false;
	}
	if (conversation_waits(&f->talk)) {
		return true; /* not known yet */
	}
	enum moved moved = splice_move(f->gate, &f->down, f->server.fd, f->client.fd, &bytes);
	f->heard_back = f->heard_back || bytes > 0;
	if (f->entry != NULL) {
		f->entry->received += bytes;
	}
	if (moved != MOVED_ALL) {
		flow_reset(f);
	}
	return moved == MOVED_ALL;
}

/* Bytes, urgent ones, the last. */
#define COMES (EPOLLIN | EPOLLPRI | EPOLLRDHUP)

static bool takes(const struct way *way) {
	return way->held == 0 && !way->ended;
}

static void want(struct flow *f) {
	struct loop *l = &f->gate->loop;
	bool asks = looks(f) || f->up.allow > 0;
	uint32_t client = (takes(&f->up) && asks && f->stash == 0 ? COMES : 0U) |
			  (f->down.held > 0 ? EPOLLOUT : 0U);
	uint32_t server = (takes(&f->down) && !muted(f) ? COMES : 0U) |
			  (f->up.held > 0 || f->stash != 0 ? EPOLLOUT : 0U);

	if (loop_want(l, &f->client, client) != 0 || loop_want(l, &f->server, server) != 0) {
		flow_reset(f);
	}
}

static bool over(const struct way *way) {
	return way->ended && way->held == 0;
}

/* The client's last byte went, or the last of the one request that a proxy serves. */
static bool spent(const struct flow *f) {
	bool served = f->talk.state == CONVERSATION_OVER && f->up.allow == 0 && f->stash == 0;

	return f->up.held == 0 && (f->up.ended || served);
}

static void tell_end(struct way *way, int to) {
	if (over(way) && !way->shut) {
		way->shut = true;
		(void)shutdown(to, SHUT_WR); /* who is gone already need not be told */
	}
}

void flow_step(struct flow *f, int ways) {
	if (f->phase != PHASE_OPEN || ((ways & STEP_UP) != 0 && !move_up(f)) ||
	    ((ways & STEP_DOWN) != 0 && !move_down(f))) {
		return;
	}
	bool told = over(f->kind == FLOW_INWARD ? &f->down : &f->up); /* what the inside sent */
	if ((spent(f) && over(&f->down)) || (f->gate->ending && told)) {
		flow_close(f); /* which tells both */
		return;
	}
	tell_end(&f->up, f->server.fd);
	tell_end(&f->down, f->client.fd);
	want(f);
}

void flow_reached(struct flow *f) {
	flow_tune(f->server.fd, false);
	f->server.ready = server_ready;
}

void flow_open(struct flow *f) {
	f->phase = PHASE_OPEN;
	loop_alarm_clear(&f->gate->loop, &f->alarm);
	if (f->by_name && f->talk.state == CONVERSATION_FIRST) {
		f->talk.strict = f->port == 80 || f->port == 443;
		f->up.allow = 0;
		if (f->talk.strict) {
			(void)loop_alarm_set(&f->gate->loop, &f->alarm, SILENCE_MS);
		}
	} else if (f->talk.state == CONVERSATION_FIRST) {
		f->talk.state = CONVERSATION_OPAQUE;
	}
	/* A head that was kept goes at once; else the loop says when there is something. */
	if (f->stash != 0) {
		flow_step(f, STEP_UP);
	} else {
		want(f);
	}
}

/* ---- events ---- */

static int ways_of(uint32_t events, int in, int out) {
	if ((events & (EPOLLHUP | EPOLLERR)) != 0) {
		return STEP_BOTH;
	}
	/* Urgent bytes come without the other word where more is waited for. */
	return ((events & (EPOLLIN | EPOLLPRI)) != 0 ? in : 0) |
	       ((events & EPOLLOUT) != 0 ? out : 0);
}

/* The end is behind what is there: it is taken in the same turn. */
static void note_end(struct way *way, uint32_t events) {
	way->ends = way->ends || (events & EPOLLRDHUP) != 0;
	way->urgent = way->urgent || (events & EPOLLPRI) != 0;
}

static void client_ready(struct loop_watch *w, uint32_t events) {
	struct flow *f = HOLDER(w, struct flow, client);

	if (f->phase == PHASE_ASK && (events & EPOLLPRI) != 0) {
		flow_reset(f); /* what is behind it could not be looked at */
		return;
	}
	if (f->phase == PHASE_ASK && f->kind == FLOW_DNS) {
		dns_server_step(f);
		return;
	}
	if (f->phase == PHASE_ASK && f->kind != FLOW_INWARD) {
		proxy_step(f);
		return;
	}
	if (f->phase == PHASE_ASK || f->phase == PHASE_DIAL) {
		/* It went away while nobody was there to talk to; what it said is for nobody. */
		if ((events & (EPOLLHUP | EPOLLERR)) != 0) {
			flow_reset(f);
		}
		return;
	}
	note_end(&f->up, events);
	flow_step(f, ways_of(events, STEP_UP, STEP_DOWN));
	/* Gone altogether; a flow that is still there has nothing more to tell it. */
	if (f->phase == PHASE_OPEN && f->client.fd == w->fd &&
	    (events & (EPOLLHUP | EPOLLERR)) != 0 && f->up.held == 0 && takes(&f->down)) {
		flow_reset(f);
	}
}

static void server_ready(struct loop_watch *w, uint32_t events) {
	struct flow *f = HOLDER(w, struct flow, server);

	note_end(&f->down, events);
	flow_step(f, ways_of(events, STEP_DOWN, STEP_UP));
	if (f->phase == PHASE_OPEN && (events & (EPOLLHUP | EPOLLERR)) != 0 && f->down.ended) {
		loop_drop(&f->gate->loop, w); /* it has no more to say, and takes nothing */
	}
}

static void flow_alarm(struct loop_alarm *a) {
	struct flow *f = HOLDER(a, struct flow, alarm);
	const struct net_verdict late = {
		.why = "the client did not say in time whom it wants to talk to"};

	if (f->phase == PHASE_DIAL) {
		upstream_timeout(f);
	} else if (f->phase == PHASE_MEET) {
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

struct ledger_entry *flow_record(struct flow *f, enum net_op op, enum net_outcome outcome,
				 const struct net_verdict *v) {
	struct ledger_entry entry = {.op = op,
				     .outcome = outcome,
				     .has_ip = true,
				     .ip = f->ip,
				     .port = f->port,
				     .unread = v->unread,
				     .own = v->own};

	set_text(entry.name, sizeof entry.name, f->name);
	set_text(entry.rule, sizeof entry.rule, v->rule == NULL ? NULL : v->rule->written);
	set_text(entry.why, sizeof entry.why, outcome == NET_ALLOWED ? NULL : v->why);
	for (size_t i = 0; i < sizeof f->ip.b; i++) {
		if (f->ip.b[i] != 0) {
			return ledger_add(f->gate->ledger, &entry);
		}
	}
	entry.has_ip = false; /* refused before it had one */
	return ledger_add(f->gate->ledger, &entry);
}
