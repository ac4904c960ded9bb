/* Forwards connect(2) to the gate, and returns the original destination from getpeername(2).
 *
 * Should:   send the gate the caller's own socket with a copy of its address (K2).
 * Must not: leave a connection that leads outside to the kernel where there is no
 *           network namespace: there the broker is the protection.  Where there is one
 *           the kernel may have everything else: nothing in it leads anywhere.
 * Fails:    closed: without a gate nothing is connected. */
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

/* The kernel's errors end there. */
#define ERRNO_MAX 4095

/* ---- calls that wait for the gate ---- */

/* More than the gate serves at once, and than its channel holds besides. */
#define WAITING_MAX 4096

struct waiting {
	uint64_t id;        /* of the notification; 0: nobody waits here */
	uint64_t cookie;    /* of its socket */
	struct in6_addr to; /* and its address */
	uint16_t port, family;
	uint16_t next;  /* free: 1 + the next free one */
	uint32_t round; /* how often the place was taken: an answer is good for one call */
	pid_t tid;      /* its caller */
	int fd;         /* and the caller's number for the socket */
};

/* The gate has numbers of this table and never those of notifications: it can answer each call
 * that it was handed once, and no other.  Not in struct broker: a run without a gate does not
 * touch these pages. */
static struct waiting waiting[WAITING_MAX];
static uint16_t waiting_free; /* 1 + the first */
static size_t waiting_used;   /* places that were ever taken */

/* The gate's number for it; 0: there are too many. */
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

/* The call behind the gate's number, which is used up; its id is 0 when there is none. */
static struct waiting waiting_take(uint64_t number) {
	size_t place = (uint32_t)number - 1U;

	if (place >= waiting_used || waiting[place].round != number >> 32) {
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

/* 127.0.0.1 or ::1: where --host-port leads. */
static bool is_first(const struct in6_addr *to) {
	static const uint8_t first[] = {127, 0, 0, 1};

	return !IN6_IS_ADDR_V4MAPPED(to) || memcmp(to->s6_addr + 12, first, sizeof first) == 0;
}

static bool is_virtual(const struct net_plan *net, const struct in6_addr *to, uint16_t port) {
	bool proxy = net->proxy && (port == NET_PROXY_HTTP || port == NET_PROXY_SOCKS);

	return port == 53 || proxy || (net_passes_port(net, port) && is_first(to));
}

/* 127.0.0.53: the resolver's; a server for names inside may have another. */
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
	/* Without a namespace the host's own server for names is on the loopback too. */
	return is_virtual(&b->plan->net, to, port) &&
	       (port != 53 || is_resolver(to) || plan_lacks_namespaces(b->plan));
}

/* Neither connected nor on its way, nor listening. */
static bool is_idle(int fd) {
	uint8_t state = 0; /* the first byte of struct tcp_info */
	socklen_t len = sizeof state;

	return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &state, &len) == 0 && state == TCP_CLOSE;
}

/* Not in the gate's own ledger: what is in that memory the gate may have written, so no process of
 * ours walks it but to copy. */
static void note_refusal(struct broker *b, const struct in6_addr *to, uint16_t port) {
	static const char why[] = "the process that serves the network ended before the run";
	struct ledger_entry entry = {
		.op = NET_OP_CONNECT, .outcome = NET_FAILED, .has_ip = true, .port = port};

	memcpy(entry.ip.b, to->s6_addr, sizeof entry.ip.b);
	memcpy(entry.why, why, sizeof why);
	(void)ledger_add(b->refusals, &entry); /* what finds no room is counted */
}

long connect_forward(const struct call *c, int fd, const struct in6_addr *to, uint16_t port) {
	struct broker *b = c->b;
	struct waiting call = {.id = c->id,
			       .cookie = socket_cookie(fd),
			       .to = *to,
			       .port = port,
			       .tid = c->tid,
			       .fd = call_int(c, 0)};
	struct wire w;
	int flags = fcntl(fd, F_GETFL);
	int family = socket_option(fd, SOL_SOCKET, SO_DOMAIN);

	if (flags < 0 || family < 0) {
		return -ECONNREFUSED;
	}
	if (!is_idle(fd)) {
		return -EISCONN;
	}
	if (b->gate < 0) {
		note_refusal(b, to, port);
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
		return CALL_ANSWERED; /* will be, by take_answer() */
	}
	(void)waiting_take(w.id);
	return r == -EAGAIN ? -EAGAIN : -ECONNREFUSED;
}

long connect_serve(const struct call *c, int fd, const struct socket_address *a) {
	int family = a->any.sa_family;

	/* Datagrams find no way out; one that is connected is told so by the kernel. */
	if (!c->b->plan->net.gate || !socket_address_is_whole(a, family) ||
	    socket_option(fd, SOL_SOCKET, SO_TYPE) != SOCK_STREAM) {
		return socket_connect(c, fd, a, -1);
	}
	struct in6_addr to = socket_address_leads(a);
	uint16_t port = ntohs(a->in4.sin_port);
	long done =
		connect_is_gated(c->b, &to, port) ? connect_forward(c, fd, &to, port) : -EISCONN;
	/* The kernel says that itself; or waits, where the gate has begun (gate/relay/pending.c).
	 */
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

static void fill(struct socket_address *a, const uint8_t ip[16], uint16_t port) {
	a->in4.sin_port = htons(port);
	if (a->any.sa_family == AF_INET) {
		memcpy(&a->in4.sin_addr, ip + 12, 4);
	} else {
		memcpy(&a->in6.sin6_addr, ip, 16);
	}
}

/* As the kernel does: what fits is written, and how long it is. */
static long tell_peer(const struct call *c, const struct socket_address *a) {
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
	fill(&peer, to->ip.b, to->port);
	return tell_peer(c, &peer);
}

/* ---- the other direction ---- */

/* To the port of a listener that allows it. */
static int bind_beside(int fd, const struct wire *asked) {
	struct socket_address at = {.len = sizeof at.in4};
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

static int make_socket(const struct broker *b, const struct wire *asked) {
	if (asked->kind == WIRE_WANT_SERVER) {
		return socket_dial_port(b, asked->family, asked->port);
	}
	auto_fd fd = socket(asked->family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	bool made = fd >= 0 && (asked->port == 0 || bind_beside(fd, asked) == 0);
	return made ? take_fd(&fd) : -1;
}

static void give_socket(struct broker *b, const struct wire *asked) {
	struct wire w = *asked;
	auto_fd fd = make_socket(b, asked);

	w.kind = WIRE_SOCKET;
	(void)wire_send(b->gate, &w, &fd, fd < 0 ? 0 : 1); /* a gate that is gone says so itself */
}

/* Waits for what the gate has begun.  Not in the caller: its number may stand for another socket by
 * now, and its address be one that nobody has judged, such as that of a unix socket (K1, K7). */
static long go_on(const struct call *c, const struct waiting *call) {
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
	fill(&a, call->to.s6_addr, call->port);
	return socket_go_on(c, fd, &a);
}

/* The gate reads what hostile programs and servers send: its word counts for the calls that it was
 * handed, as success or as an errno; or "go on", where there is nothing but the run's own network.
 */
static void take_answer(struct broker *b, const struct wire *w) {
	const struct waiting call = waiting_take(w->id);
	const struct call c = {.b = b, .id = call.id, .tid = call.tid};

	if (c.id == 0) {
		return;
	}
	long answer = w->flags >= 0 && w->flags <= ERRNO_MAX ? -w->flags : -ECONNREFUSED;
	if (w->flags == WIRE_CONTINUE && !plan_lacks_namespaces(b->plan)) {
		answer = go_on(&c, &call);
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
			waiting[i].id = 0; /* no gate is left to ask for the place */
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
		take_answer(b, &w);
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
