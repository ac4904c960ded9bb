/* What the gate has to decide, and getpeername(2), which should not tell of it.
 *
 * Should:   hand over the caller's own socket with a copy of its address (K2).
 * Must not: leave a connection that leads outside to the kernel where there is no
 *           network namespace: there the broker is the protection.  Where there is one
 *           the kernel may have everything else: nothing in it leads anywhere.
 * Fails:    closed: without a gate nothing is connected. */
#include "linux/broker/gate.h"

#include "base/auto.h"
#include "gate/wire.h"
#include "linux/broker/sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <string.h>
#include <unistd.h>

/* ---- connect ---- */

static bool is_virtual(const struct net_plan *net, uint16_t port) {
	bool proxy = net->proxy && (port == NET_PROXY_HTTP || port == NET_PROXY_SOCKS);

	return port == 53 || proxy || net_passes_port(net, port);
}

/* 127.0.0.53: the resolver's; a server for names inside may have another. */
static bool is_resolver(const struct in6_addr *to) {
	static const uint8_t last[] = {127, 0, 0, 53};

	return IN6_IS_ADDR_V4MAPPED(to) && memcmp(to->s6_addr + 12, last, sizeof last) == 0;
}

bool gate_serves(const struct broker *b, const struct in6_addr *to, uint16_t port) {
	if (!b->plan->net.gate) {
		return false;
	}
	if (!address_is_loopback(to)) {
		return true;
	}
	/* Without a namespace the host's own server for names is on the loopback too. */
	return is_virtual(&b->plan->net, port) &&
	       (port != 53 || is_resolver(to) || plan_shares(b->plan));
}

/* Neither connected nor on its way, nor listening. */
static bool is_idle(int fd) {
	uint8_t state = 0; /* the first byte of struct tcp_info */
	socklen_t len = sizeof state;

	return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &state, &len) == 0 && state == TCP_CLOSE;
}

long gate_forward(const struct call *c, int fd, const struct in6_addr *to, uint16_t port) {
	struct broker *b = c->b;
	struct wire w;
	int flags = fcntl(fd, F_GETFL);
	int family = socket_option(fd, SOL_SOCKET, SO_DOMAIN);

	if (flags < 0 || family < 0) {
		return -ECONNREFUSED;
	}
	if (!is_idle(fd)) {
		return -EISCONN;
	}
	memset(&w, 0, sizeof w);
	w.kind = WIRE_CONNECT;
	w.id = c->id;
	memcpy(w.to.b, to->s6_addr, sizeof w.to.b);
	w.port = port;
	w.family = (uint16_t)family;
	w.flags = flags;
	int r = b->gate < 0 ? -EPIPE : wire_send(b->gate, &w, &fd, 1);
	if (r != 0) {
		return r == -EAGAIN ? -EAGAIN : -ECONNREFUSED;
	}
	b->forwarded[b->nforwarded++ % BROKER_FORWARDED] = c->id;
	return CALL_ANSWERED;
}

long gate_connect(const struct call *c) {
	struct address a;
	int r = address_read(c, &a);

	if (r < 0) {
		return r;
	}
	int family = a.len < sizeof(sa_family_t) ? AF_UNSPEC : a.any.sa_family;
	if (!address_is_inet(family) || !address_is_whole(&a, family)) {
		return call_let_pass(c);
	}
	struct in6_addr to = address_leads(&a);
	uint16_t port = ntohs(a.in4.sin_port);
	if (!gate_serves(c->b, &to, port)) {
		return call_let_pass(c);
	}
	auto_taken fd = caller_take_fd(c, call_int(c, 0));
	if (fd < 0) {
		return fd;
	}
	/* Datagrams find no way out; one that is connected is told so by the kernel. */
	if (socket_option(fd, SOL_SOCKET, SO_TYPE) != SOCK_STREAM ||
	    socket_option(fd, SOL_SOCKET, SO_DOMAIN) != family) {
		return call_let_pass(c);
	}
	long done = gate_forward(c, fd, &to, port);
	/* The kernel says that itself; or waits, where the gate has begun (gate/hold.c). */
	return done == -EISCONN ? call_let_pass(c) : done;
}

/* ---- getpeername ---- */

static bool is_relay(const struct broker *b, const struct address *peer, int *ret_which) {
	if (!address_is_inet(peer->any.sa_family)) {
		return false;
	}
	struct in6_addr at = address_leads(peer);
	*ret_which = IN6_IS_ADDR_V4MAPPED(&at) ? 0 : 1;
	uint16_t port = ntohs(peer->in4.sin_port);
	return port != 0 && address_is_loopback(&at) &&
	       (port == b->peers->relay[*ret_which] || port == b->peers->hold[*ret_which]);
}

static void fill(struct address *a, const struct wire_peer *to) {
	a->in4.sin_port = htons(to->port);
	if (a->any.sa_family == AF_INET) {
		memcpy(&a->in4.sin_addr, to->ip.b + 12, 4);
	} else {
		memcpy(&a->in6.sin6_addr, to->ip.b, sizeof to->ip.b);
	}
}

/* As the kernel does: what fits is written, and how long it is. */
static long tell_peer(const struct call *c, const struct address *a) {
	int room;
	int r = caller_bytes(c, c->args[2], &room, sizeof room);

	if (r == 0 && room < 0) {
		return -EINVAL;
	}
	if (r == 0) {
		size_t len = (size_t)room < a->len ? (size_t)room : a->len;
		r = len == 0 ? 0 : caller_write(c, c->args[1], &a->all, len);
	}
	int whole = (int)a->len;
	return r == 0 ? caller_write(c, c->args[2], &whole, sizeof whole) : r;
}

long serve_getpeername(struct call *c) {
	struct address peer = {.len = sizeof peer.all}, own = {.len = sizeof own.all};
	int which;
	auto_taken fd = c->b->peers == NULL ? -1 : caller_take_fd(c, call_int(c, 0));

	if (fd < 0 || syscall(SYS_getpeername, fd, &peer.any, &peer.len) != 0 ||
	    !is_relay(c->b, &peer, &which) ||
	    syscall(SYS_getsockname, fd, &own.any, &own.len) != 0) {
		return call_let_pass(c);
	}
	fill(&peer, &c->b->peers->of[which][ntohs(own.in4.sin_port)]);
	return tell_peer(c, &peer);
}

/* ---- the other direction ---- */

/* To the port of a listener that allows it. */
static int bind_beside(int fd, const struct wire *asked) {
	struct address at = {.len = sizeof at.in4};
	const int on = 1;

	if (asked->family == AF_INET) {
		at.in4 = (struct sockaddr_in){.sin_family = AF_INET,
					      .sin_port = htons(asked->port),
					      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	} else {
		at.in6 = (struct sockaddr_in6){.sin6_family = AF_INET6,
					       .sin6_port = htons(asked->port),
					       .sin6_addr = IN6ADDR_LOOPBACK_INIT};
		at.len = sizeof at.in6;
	}
	return setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) == 0 &&
			       syscall(SYS_bind, fd, &at.any, at.len) == 0
		       ? 0
		       : -1;
}

static void give_socket(struct broker *b, const struct wire *asked) {
	struct wire w = *asked;
	auto_fd fd = socket(asked->family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd >= 0 && asked->port != 0 && bind_beside(fd, asked) != 0) {
		drop_fd(&fd);
	}
	w.kind = WIRE_SOCKET;
	(void)wire_send(b->gate, &w, &fd, fd < 0 ? 0 : 1); /* a gate that is gone says so itself */
}

static void refuse_all(struct broker *b) {
	for (size_t i = 0; i < BROKER_FORWARDED && i < b->nforwarded; i++) {
		const struct call c = {.b = b, .id = b->forwarded[i]};
		call_answer(&c,
			    -ECONNREFUSED); /* those that were answered are not there any more */
	}
}

void gate_heard(struct broker *b) {
	struct wire w;
	int fds[WIRE_FDS] = WIRE_NO_FDS;
	size_t n = 0;
	int got = wire_receive(b->gate, &w, fds, &n);

	for (size_t i = 0; i < n; i++) {
		drop_fd(&fds[i]);
	}
	if (got > 0 && w.kind == WIRE_WANT_SOCKET && address_is_inet(w.family)) {
		give_socket(b, &w);
	}
	if (got < 0) {
		drop_fd(&b->gate);
		refuse_all(b);
	}
}
