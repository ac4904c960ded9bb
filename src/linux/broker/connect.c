/* SPDX-License-Identifier: Apache-2.0 */
/* Forwards connect(2) to the gate, sends the gate's answer to the caller, and serves
 * getpeername(2), so that it returns the original destination.
 *
 * The gate decides about the connection, and sends WIRE_ANSWER back over the same channel
 * (gate/wire.h); this file then answers the notification.
 *
 * Should:   send the caller's own socket with a copy of its address (K2).
 * Must not: let the kernel make a connection to another host where there is no network
 *           namespace: there the broker is the protection.  In a network namespace the kernel
 *           may serve all other addresses: it has no route.
 * Fails:    closed: without a gate every such connect gets ECONNREFUSED. */
#include "linux/broker/connect.h"

#include "base/auto.h"
#include "gate/ledger.h"
#include "gate/wire.h"
#include "linux/broker/sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <string.h>
#include <unistd.h>

/* The kernel's largest errno. */
#define ERRNO_MAX 4095

/* ---- table of calls that wait for the gate ---- */

/* More than the gate serves at once plus the messages that fit in its channel. */
#define WAITING_MAX 4096

struct waiting {
	uint64_t id;        /* of the notification; 0: the entry is free */
	uint64_t cookie;    /* SO_COOKIE of its socket */
	struct in6_addr to; /* and its destination */
	uint16_t port, family;
	uint16_t next;  /* in a free entry: 1 + index of the next free one */
	uint32_t round; /* how often the entry was used: an answer is valid for one call */
	pid_t tid;      /* the caller */
	int fd;         /* the socket's number in the caller */
};

/* The gate gets tickets of this table instead of notification ids: it can answer each call
 * that it received once, and no other.  Not in struct broker: a run without a gate does not
 * touch these pages. */
static struct waiting waiting[WAITING_MAX];
static uint16_t waiting_free; /* 1 + index of the first free entry */
static size_t waiting_used;   /* entries that were ever used */

/* Returns the gate's ticket for the call; 0: the table is full. */
static uint64_t waiting_add(const struct waiting *call) {
	size_t place = waiting_free != 0 ? waiting_free - 1U : waiting_used;

	if (place == WAITING_MAX) {
		return 0;
	}
	struct waiting *one = &waiting[place];
	if (waiting_free != 0) {
		waiting_free = one->next;
	} else {
		waiting_used++;
	}
	uint32_t round = one->round + 1;
	*one = *call;
	one->round = round;
	return (uint64_t)round << 32 | (place + 1);
}

/* Removes and returns the call of a ticket; its id is 0 when there is none. */
static struct waiting waiting_take(uint64_t ticket) {
	size_t place = (uint32_t)ticket - 1U;

	if (place >= waiting_used || waiting[place].round != ticket >> 32) {
		return (struct waiting){.id = 0};
	}
	struct waiting found = waiting[place];
	if (found.id != 0) {
		waiting[place].id = 0;
		waiting[place].next = waiting_free;
		waiting_free = (uint16_t)(place + 1);
	}
	return found;
}

/* ---- connect ---- */

/* 127.0.0.1 or ::1, the addresses of --host-port. */
static bool is_localhost(const struct in6_addr *to) {
	static const uint8_t first[] = {127, 0, 0, 1};

	return !IN6_IS_ADDR_V4MAPPED(to) || memcmp(to->s6_addr + 12, first, sizeof first) == 0;
}

static bool is_virtual(const struct net_plan *net, const struct in6_addr *to, uint16_t port) {
	bool proxy = net->proxy && (port == NET_PROXY_HTTP || port == NET_PROXY_SOCKS);

	return port == 53 || proxy || (net_passes_port(net, port) && is_localhost(to));
}

/* 127.0.0.53, the sandbox's resolver; a DNS server of the command may have another address. */
static bool is_resolver(const struct in6_addr *to) {
	static const uint8_t last[] = {127, 0, 0, 53};

	return IN6_IS_ADDR_V4MAPPED(to) && memcmp(to->s6_addr + 12, last, sizeof last) == 0;
}

bool connect_is_gated(const struct broker *b, const struct in6_addr *to, uint16_t port) {
	if (!b->plan->net.gate) {
		return false;
	}
	if (!socket_address_is_loopback(to)) {
		return true;
	}
	/* Without a network namespace the host's own DNS server is on the loopback, too. */
	return is_virtual(&b->plan->net, to, port) &&
	       (port != 53 || is_resolver(to) || plan_lacks_namespaces(b->plan));
}

/* Not connected, connecting or listening. */
static bool is_tcp_closed(int fd) {
	uint8_t state = 0; /* the first byte of struct tcp_info */
	socklen_t len = sizeof state;

	return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &state, &len) == 0 && state == TCP_CLOSE;
}

/* Not in the gate's own ledger: a compromised gate may have written anything there, so the guard
 * never traverses that memory. */
static void record_refusal(struct broker *b, const struct in6_addr *to, uint16_t port) {
	static const char why[] = "the process that serves the network ended before the run";
	struct ledger_entry entry = {
		.op = NET_OP_CONNECT, .outcome = NET_FAILED, .has_ip = true, .port = port};

	memcpy(entry.ip.b, to->s6_addr, sizeof entry.ip.b);
	memcpy(entry.why, why, sizeof why);
	(void)ledger_add(b->refusals, &entry); /* a full ledger counts the lost entries */
}

long connect_forward(const struct call *c, int fd, int family, const struct in6_addr *to,
		     uint16_t port) {
	struct broker *b = c->b;
	struct waiting call = {.id = c->id,
			       .cookie = socket_cookie(fd),
			       .to = *to,
			       .port = port,
			       .tid = c->tid,
			       .fd = call_int(c, 0)};
	struct wire w;
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0) {
		return -ECONNREFUSED;
	}
	if (!is_tcp_closed(fd)) {
		return -EISCONN;
	}
	if (b->gate < 0) {
		record_refusal(b, to, port);
		return -ECONNREFUSED;
	}
	memset(&w, 0, sizeof w);
	w.kind = WIRE_CONNECT;
	call.family = (uint16_t)family;
	w.id = waiting_add(&call);
	if (w.id == 0) {
		return -EAGAIN;
	}
	memcpy(w.to.b, to->s6_addr, sizeof w.to.b);
	w.port = port;
	w.family = (uint16_t)family;
	w.flags = flags;
	int r = wire_send(b->gate, &w, &fd, 1);
	if (r == 0) {
		return CALL_ANSWERED; /* handle_answer() answers it */
	}
	(void)waiting_take(w.id);
	return r == -EAGAIN ? -EAGAIN : -ECONNREFUSED;
}

long connect_serve(const struct call *c, int fd, const struct socket_address *a) {
	int family = a->any.sa_family;

	/* Datagrams have no route: connect(2) of such a socket returns ENETUNREACH. */
	if (!c->b->plan->net.gate || !socket_address_is_whole(a, family) ||
	    socket_option(fd, SOL_SOCKET, SO_TYPE) != SOCK_STREAM) {
		return socket_connect(c, fd, a, -1);
	}
	struct in6_addr to = socket_address_leads(a);
	uint16_t port = ntohs(a->in4.sin_port);
	long done = connect_is_gated(c->b, &to, port) ? connect_forward(c, fd, family, &to, port)
						      : -EISCONN;
	/* For a socket that is not closed the kernel returns EISCONN itself, or blocks until a
	 * pending connect that the gate began completes (gate/relay/pending.c). */
	return done == -EISCONN ? socket_connect(c, fd, a, -1) : done;
}

/* ---- getpeername ---- */

static bool is_relay(const struct broker *b, const struct socket_address *peer, int *ret_which) {
	if (!socket_address_is_inet(peer->any.sa_family)) {
		return false;
	}
	struct in6_addr at = socket_address_leads(peer);
	*ret_which = IN6_IS_ADDR_V4MAPPED(&at) ? 0 : 1;
	uint16_t port = ntohs(peer->in4.sin_port);
	return port != 0 && socket_address_is_loopback(&at) &&
	       (port == b->peers->relay[*ret_which] || port == b->peers->pending[*ret_which]);
}

static void set_ip_and_port(struct socket_address *a, const uint8_t ip[16], uint16_t port) {
	a->in4.sin_port = htons(port);
	if (a->any.sa_family == AF_INET) {
		memcpy(&a->in4.sin_addr, ip + 12, 4);
	} else {
		memcpy(&a->in6.sin6_addr, ip, 16);
	}
}

/* Like the kernel: writes as much of the address as fits, and its full length. */
static long write_peer(const struct call *c, const struct socket_address *a) {
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
	struct socket_address peer = {.len = sizeof peer.all}, own = {.len = sizeof own.all};
	int which;
	auto_taken fd = c->b->peers == NULL ? -1 : caller_take_fd(c, call_int(c, 0));

	if (fd < 0 || syscall(SYS_getpeername, fd, &peer.any, &peer.len) != 0 ||
	    !is_relay(c->b, &peer, &which) ||
	    syscall(SYS_getsockname, fd, &own.any, &own.len) != 0) {
		return call_let_pass(c);
	}
	const struct wire_peer *to = &c->b->peers->of[which][ntohs(own.in4.sin_port)];
	set_ip_and_port(&peer, to->ip.b, to->port);
	return write_peer(c, &peer);
}

/* ---- messages from the gate ---- */

/* Binds to the port of a listener that has SO_REUSEPORT, too. */
static int bind_beside(int fd, const struct wire *request) {
	struct socket_address at = {.len = sizeof at.in4};
	const int on = 1;

	if (request->family == AF_INET) {
		at.in4 = (struct sockaddr_in){.sin_family = AF_INET,
					      .sin_port = htons(request->port),
					      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	} else {
		at.in6 = (struct sockaddr_in6){.sin6_family = AF_INET6,
					       .sin6_port = htons(request->port),
					       .sin6_addr = IN6ADDR_LOOPBACK_INIT};
		at.len = sizeof at.in6;
	}
	return setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) == 0 &&
			       syscall(SYS_bind, fd, &at.any, at.len) == 0
		       ? 0
		       : -1;
}

static int make_socket(const struct broker *b, const struct wire *request) {
	if (request->kind == WIRE_WANT_SERVER) {
		return socket_dial_port(b, request->family, request->port);
	}
	auto_fd fd = socket(request->family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	bool made = fd >= 0 && (request->port == 0 || bind_beside(fd, request) == 0);
	return made ? take_fd(&fd) : -1;
}

static void give_socket(struct broker *b, const struct wire *request) {
	struct wire w = *request;
	auto_fd fd = make_socket(b, request);

	w.kind = WIRE_SOCKET;
	(void)wire_send(b->gate, &w, &fd, fd < 0 ? 0 : 1); /* the next receive shows a dead gate */
}

/* Continues the pending connect that the gate began.  Not with FLAG_CONTINUE: the caller's
 * descriptor may be another socket by now, and its address one that was not checked, such as that
 * of a unix socket (K1, K7). */
static long continue_connect(const struct call *c, const struct waiting *call) {
	struct socket_address a;
	auto_taken fd = caller_take_fd(c, call->fd);

	if (fd < 0) {
		return fd;
	}
	if (call->cookie == 0 || socket_cookie(fd) != call->cookie) {
		return -EBADF;
	}
	memset(&a, 0, sizeof a);
	a.any.sa_family = call->family;
	a.len = call->family == AF_INET6 ? sizeof a.in6 : sizeof a.in4;
	set_ip_and_port(&a, call->to.s6_addr, call->port);
	return socket_go_on(c, fd, &a);
}

/* The gate parses input of hostile programs and servers, so its answer is valid only for a call
 * that it received, and only as success, as an errno, or as WIRE_GO_ON where the sandbox has its
 * own network namespace. */
static void handle_answer(struct broker *b, const struct wire *w) {
	const struct waiting call = waiting_take(w->id);
	const struct call c = {.b = b, .id = call.id, .tid = call.tid};

	if (c.id == 0) {
		return; /* G7 */
	}
	long answer = w->flags >= 0 && w->flags <= ERRNO_MAX ? -w->flags : -ECONNREFUSED;
	if (w->flags == WIRE_CONTINUE && !plan_lacks_namespaces(b->plan)) {
		answer = continue_connect(&c, &call);
	}
	if (answer != CALL_ANSWERED) {
		call_answer(&c, answer);
	}
}

static void refuse_all(struct broker *b) {
	if (b->refusals != NULL) {
		atomic_store(&b->refusals->ended, true);
	}
	for (size_t i = 0; i < waiting_used; i++) {
		const struct call c = {.b = b, .id = waiting[i].id};
		if (c.id != 0) {
			waiting[i].id = 0; /* no free list: there will be no forwards any more */
			call_answer(&c, -ECONNREFUSED);
		}
	}
}

void connect_answered(struct broker *b) {
	struct wire w;
	int fds[WIRE_FDS] = WIRE_NO_FDS;
	size_t n = 0;
	int got = wire_receive(b->gate, &w, fds, &n);

	for (size_t i = 0; i < n; i++) {
		drop_fd(&fds[i]);
	}
	if (got > 0 && w.kind == WIRE_ANSWER) {
		handle_answer(b, &w);
	}
	bool wants = w.kind == WIRE_WANT_SOCKET || w.kind == WIRE_WANT_SERVER;
	if (got > 0 && wants && socket_address_is_inet(w.family)) {
		give_socket(b, &w);
	}
	if (got < 0) {
		drop_fd(&b->gate);
		refuse_all(b);
	}
}
