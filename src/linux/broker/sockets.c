/* SPDX-License-Identifier: Apache-2.0 */
/* Serves connect(2), bind(2), listen(2) and socketpair(2).
 *
 * A socket belongs to the network namespace in which it was created, whichever process has its
 * descriptor.  So the broker makes these calls itself on the caller's own socket (pidfd_getfd),
 * after it has compared that namespace with the run's.
 *
 * Should:   connect and bind to a copied and checked address; without a network namespace, with
 *           the network closed, that is the loopback, and there only a port on which this run
 *           listens.  unix_sockets.c serves unix sockets.
 * Must not: block in a connect (K5); bind a wildcard address of the host; leave a connect pending
 *           that was allowed because of the listener of its port, which may change.
 * Fails:    closed: EPERM for a socket of another network namespace, ENETUNREACH as in an empty
 *           one, ECONNREFUSED on the loopback. */
#include "linux/broker/sockets.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/send_timeout.h"
#include "linux/broker/refused.h"
#include "linux/broker/connect.h"
#include "linux/broker/domain.h"
#include "linux/broker/unix_sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SO_NETNS_COOKIE_ 71 /* Linux 5.14 */

static long or_errno(long r) {
	return r < 0 ? -errno : 0;
}

int socket_address_read(const struct call *c, struct socket_address *a) {
	int len = call_int(c, 2);

	memset(a, 0, sizeof *a);
	if (len < 0 || (size_t)len > sizeof a->all) {
		return -EINVAL;
	}
	a->len = (socklen_t)len;
	return caller_bytes(c, c->args[1], &a->all, (size_t)len);
}

int socket_option(int fd, int level, int option) {
	int value = -1;
	socklen_t len = sizeof value;

	return syscall(SYS_getsockopt, fd, level, option, &value, &len) != 0 ? -errno : value;
}

static uint64_t number_option(int fd, int option) {
	uint64_t value = 0;
	socklen_t len = sizeof value;

	return syscall(SYS_getsockopt, fd, SOL_SOCKET, option, &value, &len) == 0 ? value : 0;
}

uint64_t socket_cookie(int fd) {
	return number_option(fd, SO_COOKIE);
}

/* Kernels before 5.14 lack SO_NETNS_COOKIE.  There this accepts every socket; unix_sockets.c
 * prevents that a socket of another namespace is received. */
bool socket_network_is_own(struct broker *b, int fd) {
	if (b->network == 0) {
		auto_fd own = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		b->network = own < 0 ? 0 : number_option(own, SO_NETNS_COOKIE_);
	}
	return number_option(fd, SO_NETNS_COOKIE_) == b->network;
}

/* ---- addresses of the loopback ---- */

static const struct in6_addr loopback6 = IN6ADDR_LOOPBACK_INIT;
static const struct in6_addr any6 = IN6ADDR_ANY_INIT;

static struct in6_addr mapped(uint32_t network_order) {
	struct in6_addr a = {0};

	a.s6_addr[10] = a.s6_addr[11] = 0xff;
	memcpy(&a.s6_addr[12], &network_order, 4);
	return a;
}

static bool is_mapped(const struct in6_addr *a) {
	struct in6_addr none = mapped(0);

	return memcmp(a, &none, 12) == 0;
}

static struct in6_addr as_in6(const struct socket_address *a) {
	return a->any.sa_family == AF_INET6 ? a->in6.sin6_addr : mapped(a->in4.sin_addr.s_addr);
}

struct in6_addr socket_address_leads(const struct socket_address *a) {
	const struct in6_addr zero4 = mapped(0);
	struct in6_addr to = as_in6(a);

	if (memcmp(&to, &any6, sizeof to) == 0) {
		return loopback6;
	}
	return memcmp(&to, &zero4, sizeof to) == 0 ? mapped(htonl(INADDR_LOOPBACK)) : to;
}

bool socket_address_is_loopback(const struct in6_addr *a) {
	return is_mapped(a) ? a->s6_addr[12] == 127 : memcmp(a, &loopback6, sizeof *a) == 0;
}

bool socket_address_is_inet(int domain) {
	return domain == AF_INET || domain == AF_INET6;
}

bool socket_address_is_whole(const struct socket_address *a, int domain) {
	/* The kernel accepts an IPv6 address without sin6_scope_id as well. */
	size_t in6 = offsetof(struct sockaddr_in6, sin6_scope_id);

	return a->len >= (domain == AF_INET6 ? in6 : sizeof a->in4);
}

static bool only_v6(int fd) {
	return socket_option(fd, IPPROTO_IPV6, IPV6_V6ONLY) == 1;
}

/* Binds an unbound socket to the loopback.  Only bind(2) shows whether a socket is bound:
 * getsockname(2) still returns the port of a connection that was dissolved. */
static long bind_loopback(int fd, const struct socket_address *a) {
	struct socket_address own = {.len = sizeof own.all};
	long r = or_errno(syscall(SYS_bind, fd, &a->any, a->len));

	if (r != -EINVAL) {
		return r;
	}
	if (syscall(SYS_getsockname, fd, &own.any, &own.len) != 0) {
		return -errno;
	}
	/* EINVAL is also returned when another thread of the caller has set IPV6_V6ONLY: then the
	 * address is the wildcard. */
	struct in6_addr at = as_in6(&own);
	return socket_address_is_loopback(&at) ? 0 : -EADDRNOTAVAIL;
}

/* ---- connect ---- */

/* Binds without a port: connect(2) chooses one, which several destinations can share. */
static long bind_address(int fd, const struct socket_address *a) {
	int before = socket_option(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT), yes = 1;

	/* If this fails, bind(2) chooses the port, which is as safe. */
	(void)setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &yes, sizeof yes);
	long r = bind_loopback(fd, a);
	if (before == 0) {
		/* Best effort, as above. */
		(void)setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &before, sizeof before);
	}
	return r;
}

static long bind_source6(int fd, const struct in6_addr *to) {
	struct socket_address a = {.in6 = {.sin6_family = AF_INET6}, .len = sizeof a.in6};
	bool both = !only_v6(fd);
	int no = 0;

	a.in6.sin6_addr = is_mapped(to) ? mapped(htonl(INADDR_LOOPBACK)) : loopback6;
	long r = bind_address(fd, &a);
	if (r == -EADDRNOTAVAIL && !is_mapped(to)) {
		a.in6.sin6_addr = mapped(htonl(INADDR_LOOPBACK)); /* a host without ::1 */
		r = bind_address(fd, &a);
	}
	if (both) {
		/* Binding to ::1 sets IPV6_V6ONLY, and the next destination may be IPv4.  If this
		 * fails, it stays set. */
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
	}
	return r;
}

/* Binds the source address before the connect.  When a connection is dissolved, the kernel drops
 * an address that it chose and keeps one that was bound.  shutdown(2), which the broker does not
 * serve, dissolves a pending connect, and a later listen(2) would use the wildcard. */
static long bind_source_to_loopback(int fd, int domain, const struct in6_addr *to) {
	struct socket_address a = {.in4 = {.sin_family = AF_INET}, .len = sizeof a.in4};

	a.in4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return domain == AF_INET6 ? bind_source6(fd, to) : bind_address(fd, &a);
}

static long connect_now(int fd, const struct socket_address *a) {
	long r = or_errno(syscall(SYS_connect, fd, &a->any, a->len));

	return r == -EINTR ? -EINPROGRESS : r;
}

/* Connects without blocking, also on a blocking socket: sets O_NONBLOCK for the moment.  Another
 * thread of the caller may see or clear the flag: then a timer interrupts the call. */
static long connect_at_once(int fd, const struct socket_address *a, bool *ret_waits) {
	int flags = fcntl(fd, F_GETFL);
	struct wait_limit timer;

	*ret_waits = flags >= 0 && (flags & O_NONBLOCK) == 0;
	if (*ret_waits && fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0) {
		return -errno;
	}
	caller_wait_limit(&timer);
	long r = connect_now(fd, a);
	if (*ret_waits && r == -EINPROGRESS) {
		/* On the loopback the SYN-ACK arrives while the socket is locked; a second
		 * connect(2) then returns the or_errno. */
		r = connect_now(fd, a);
		r = r == -EALREADY ? -EINPROGRESS : r;
	}
	caller_wait_unlimited(&timer);
	if (*ret_waits && fcntl(fd, F_SETFL, flags) != 0) {
		return -errno;
	}
	return r;
}

/* Like the kernel: with SO_SNDTIMEO a call is not restarted after a signal, also with
 * SA_RESTART. */
static long interrupted(const struct call *c, int fd, long r) {
	return r == -EINTR && helper_stopped() && send_timeout_ms(fd) != 0 ? call_done(c, -EINTR)
									   : r;
}

struct begun {
	struct socket_address a;
	bool before; /* by an earlier connect(2) of the caller, and not by the gate */
};

/* In a helper: a second connect(2) waits for the first.  When SO_SNDTIMEO expires, the call that
 * began the connect gets EINPROGRESS. */
static long connect_waiting(const struct call *c, int fd, const void *arg) {
	const struct begun *b = arg;
	long r = or_errno(syscall(SYS_connect, fd, &b->a.any, b->a.len));

	return r == -EALREADY && !b->before ? -EINPROGRESS : interrupted(c, fd, r);
}

static long connect_or_wait(const struct call *c, int fd, const struct begun *begun, int held) {
	struct begun b = *begun;
	bool waits;
	long r = connect_at_once(fd, &b.a, &waits);

	b.before = b.before && r == -EALREADY;
	if (waits && (r == -EINPROGRESS || r == -EAGAIN || r == -EALREADY)) {
		return helper_run_waiting(c, fd, held, connect_waiting, &b);
	}
	if (r == -EINPROGRESS && c->b->plan->own_net) {
		refused_at_once(c, fd);
	}
	return r;
}

long socket_connect(const struct call *c, int fd, const struct socket_address *a, int held) {
	/* Landlock's scopes and rights for unix sockets: a helper enters the domain. */
	if (domain_is_set() && a->any.sa_family == AF_UNIX) {
		return helper_run_waiting(c, fd, held, connect_waiting,
					  &(struct begun){.a = *a, .before = true});
	}
	return connect_or_wait(c, fd, &(struct begun){.a = *a, .before = true}, held);
}

long socket_go_on(const struct call *c, int fd, const struct socket_address *a) {
	return connect_or_wait(c, fd, &(struct begun){.a = *a}, -1);
}

/* Sets the checked address (K3): the kernel would connect a wildcard to the address that the socket
 * is bound to. */
static void set_destination(struct socket_address *a, const struct in6_addr *to) {
	if (a->any.sa_family == AF_INET6) {
		a->in6.sin6_addr = *to;
	} else {
		memcpy(&a->in4.sin_addr, &to->s6_addr[12], sizeof a->in4.sin_addr);
	}
}

/* ---- connect, to the run's own servers on a loopback that is the host's ---- */

/* How long a connect is retried while the server's backlog is full: on a blocking socket as long
 * as the kernel retransmits a SYN; on a non-blocking one briefly, because its event loop waits. */
#define TRIED_MS 127000
#define TRIED_AT_ONCE_MS 100
#define TRIED_EVERY_MS 10

struct inward {
	struct socket_address a;
	struct in6_addr to; /* the destination, for listener_owner() */
	uint16_t port;
	bool waits; /* the caller's socket is blocking */
};

static bool is_pending(int fd) {
	uint8_t state = 0; /* the first byte of struct tcp_info */
	socklen_t len = sizeof state;

	return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &state, &len) == 0 &&
	       (state == TCP_SYN_SENT || state == TCP_SYN_RECV);
}

static void dissolve(int fd) {
	const struct sockaddr none = {.sa_family = AF_UNSPEC};

	(void)syscall(SYS_connect, fd, &none, sizeof none); /* does not fail for TCP */
}

/* Connects at once or dissolves the connect: a SYN that the kernel retransmits later could reach
 * another process's listener on that port.  -EAGAIN: the backlog is full. */
static long connect_to_own(const struct broker *b, int fd, struct inward *in) {
	long r = connect_at_once(fd, &in->a, &in->waits);

	if (r == -EINPROGRESS && is_pending(fd)) {
		dissolve(fd);
		return -EAGAIN;
	}
	/* Another process may have taken the port before the connection was made. */
	bool made = r == 0 || r == -EINPROGRESS;
	if (made && listener_owner(b, &in->to, in->port) == PORT_FOREIGN) {
		dissolve(fd);
		return -ECONNREFUSED;
	}
	return r;
}

int socket_dial_port(const struct broker *b, int family, uint16_t port) {
	struct inward in = {.port = port};

	in.a.any.sa_family = (sa_family_t)family;
	in.a.in4.sin_port = htons(port);
	in.a.len = family == AF_INET6 ? sizeof in.a.in6 : sizeof in.a.in4;
	in.to = socket_address_leads(&in.a); /* the wildcard means the loopback */
	set_destination(&in.a, &in.to);
	auto_fd fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0 || listener_owner(b, &in.to, port) != PORT_OURS) {
		return -1;
	}
	long r = connect_to_own(b, fd, &in);
	return r == 0 || r == -EINPROGRESS ? take_fd(&fd) : -1;
}

/* In a helper: retries until the server's backlog has room. */
static long connect_again(const struct call *c, int fd, const void *arg) {
	struct inward in = *(const struct inward *)arg;
	bool waits = in.waits;
	int64_t limit = waits ? send_timeout_ms(fd) : TRIED_AT_ONCE_MS;
	int64_t until = clock_ms() + (limit != 0 && limit < TRIED_MS ? limit : TRIED_MS);
	long r = -EAGAIN;

	while (r == -EAGAIN && clock_ms() < until) {
		(void)poll(NULL, 0, TRIED_EVERY_MS); /* sleeps */
		enum listener_owner owner = listener_owner(c->b, &in.to, in.port);
		r = helper_stopped()                                ? -EINTR
		    : owner == PORT_UNUSED || owner == PORT_FOREIGN ? -ECONNREFUSED
								    : connect_to_own(c->b, fd, &in);
	}
	if (r != -EAGAIN) {
		return interrupted(c, fd, r);
	}
	/* Not EINPROGRESS when SO_SNDTIMEO expires: the connect was dissolved. */
	return waits ? -ETIMEDOUT : -ECONNREFUSED;
}

/* Without a network namespace, with the network closed: the gate's addresses, and the run's own
 * listeners on the loopback. */
static long connect_inside(const struct call *c, int fd, const struct socket_address *a) {
	struct inward in = {.a = *a, .to = socket_address_leads(a), .port = ntohs(a->in4.sin_port)};
	struct in6_addr to = in.to;

	if (connect_is_gated(c->b, &to, in.port)) {
		long r = bind_source_to_loopback(fd, a->any.sa_family, &to);
		return r == 0 ? connect_forward(c, fd, a->any.sa_family, &to, in.port) : r;
	}
	if (!socket_address_is_loopback(&to)) {
		return -ENETUNREACH;
	}
	switch (listener_owner(c->b, &to, in.port)) {
	case PORT_OURS:
		break;
	case PORT_OURS_MAPPED:
		to = mapped(htonl(INADDR_LOOPBACK));
		break;
	case PORT_UNUSED:
	case PORT_FOREIGN:
		return -ECONNREFUSED;
	}
	set_destination(&in.a, &to);
	long r = bind_source_to_loopback(fd, a->any.sa_family, &to);
	r = r == 0 ? connect_to_own(c->b, fd, &in) : r;
	return r == -EAGAIN ? helper_run_waiting(c, fd, -1, connect_again, &in) : r;
}

/* SIOCGSKNS needs CAP_NET_ADMIN in the user namespace that owns the socket's network namespace.
 * The guard has no capability in its own, and every one in those beneath it that processes of the
 * run created, because it has their owner's uid.  So the call succeeds only for a network
 * namespace that was created inside. */
static bool is_of_inner_network(const struct broker *b, int fd) {
	auto_fd ns = b->nests ? (int)syscall(SYS_ioctl, fd, SIOCGSKNS, 0) : -1;

	return ns >= 0;
}

/* Takes the caller's socket, which must belong to the run's network namespace, or to one that was
 * created inside; returns its domain or -errno. */
static int take_socket(const struct call *c, int *ret_fd) {
	*ret_fd = caller_take_fd(c, call_int(c, 0));
	if (*ret_fd < 0) {
		return *ret_fd;
	}
	int domain = socket_option(*ret_fd, SOL_SOCKET, SO_DOMAIN);
	return domain >= 0 && !socket_network_is_own(c->b, *ret_fd) &&
			       !is_of_inner_network(c->b, *ret_fd)
		       ? -EPERM
		       : domain;
}

/* The same, and copies the address argument. */
static int socket_and_address(const struct call *c, int *ret_fd, struct socket_address *ret) {
	int domain = take_socket(c, ret_fd);
	int r = domain < 0 ? domain : socket_address_read(c, ret);

	return r < 0 ? r : domain;
}

static long connect_inet(const struct call *c, int fd, int domain, struct socket_address *a) {
	if (domain_is_set() && socket_option(fd, SOL_SOCKET, SO_TYPE) == SOCK_STREAM &&
	    (!socket_address_is_whole(a, domain) || domain_judge_connect(&a->any, a->len) != 0)) {
		return -EACCES;
	}
	if (c->b->nests && !socket_network_is_own(c->b, fd)) {
		return socket_connect(c, fd, a, -1); /* not by the gate: it has no way out (K7) */
	}
	if (!plan_lacks_namespaces(c->b->plan)) {
		return connect_serve(c, fd, a);
	}
	if (!c->b->plan->own_net) {
		return socket_connect(c, fd, a, -1);
	}
	return socket_address_is_whole(a, domain) ? connect_inside(c, fd, a) : -EINVAL;
}

long serve_connect(struct call *c) {
	struct socket_address a;
	auto_taken fd = -1;
	int domain = socket_and_address(c, &fd, &a);

	if (domain < 0) {
		return domain;
	}
	if (a.len < sizeof(sa_family_t)) {
		return -EINVAL;
	}
	if (a.any.sa_family == AF_UNSPEC) {
		return socket_connect(c, fd, &a, -1); /* AF_UNSPEC dissolves an association */
	}
	if (a.any.sa_family != domain) {
		return domain == AF_UNIX ? -EINVAL : -EAFNOSUPPORT;
	}
	if (domain == AF_UNIX) {
		return unix_socket_connect(c, fd, &a);
	}
	return socket_address_is_inet(domain) ? connect_inet(c, fd, domain, &a)
					      : socket_connect(c, fd, &a, -1);
}

/* ---- bind ---- */

/* Replaces the wildcard by the loopback. */
static void loopback_for(int fd, int domain, struct socket_address *a) {
	uint16_t port = a->in4.sin_port;

	if (domain == AF_INET) {
		a->in4.sin_family = AF_INET;
		a->in4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		a->len = sizeof a->in4;
		return;
	}
	a->in6.sin6_family = AF_INET6;
	a->in6.sin6_port = port;
	a->in6.sin6_addr = only_v6(fd) ? loopback6 : mapped(htonl(INADDR_LOOPBACK));
	a->len = sizeof a->in6;
}

static bool is_wildcard(const struct socket_address *a, int domain) {
	const struct in6_addr zero4 = mapped(0);

	if (domain == AF_INET) {
		return a->in4.sin_addr.s_addr == htonl(INADDR_ANY);
	}
	return memcmp(&a->in6.sin6_addr, &any6, sizeof any6) == 0 ||
	       memcmp(&a->in6.sin6_addr, &zero4, sizeof zero4) == 0;
}

static long bind_inside(int fd, int domain, struct socket_address *a) {
	/* bind(2) of an IPv4 socket also accepts AF_UNSPEC, with INADDR_ANY. */
	bool unspecified = domain == AF_INET && a->any.sa_family == AF_UNSPEC;

	if (!socket_address_is_whole(a, domain)) {
		return -EINVAL;
	}
	if ((a->any.sa_family != domain && !unspecified) ||
	    (unspecified && !is_wildcard(a, domain))) {
		return -EAFNOSUPPORT;
	}
	if (is_wildcard(a, domain)) {
		loopback_for(fd, domain, a);
	}
	struct in6_addr at = socket_address_leads(a);
	if (!socket_address_is_loopback(&at)) {
		return -EADDRNOTAVAIL;
	}
	return or_errno(in_domain(SYS_bind, fd, domain_pointer(&a->any), a->len));
}

long serve_bind(struct call *c) {
	struct socket_address a;
	auto_taken fd = -1;
	int domain = socket_and_address(c, &fd, &a);

	if (domain < 0) {
		return domain;
	}
	if (socket_address_is_inet(domain) && c->b->plan->own_net &&
	    plan_lacks_namespaces(c->b->plan)) {
		return bind_inside(fd, domain, &a);
	}
	if (domain == AF_UNIX && a.any.sa_family == AF_UNIX) {
		return unix_socket_bind(c, fd, &a);
	}
	return or_errno(in_domain(SYS_bind, fd, domain_pointer(&a.any), a.len));
}

/* ---- listen ---- */

/* listen(2) would bind an unbound socket to the wildcard. */
static long bind_unbound(int fd, int domain) {
	struct socket_address a;

	memset(&a, 0, sizeof a);
	loopback_for(fd, domain, &a);
	return bind_loopback(fd, &a);
}

long serve_listen(struct call *c) {
	auto_taken fd = -1;
	int domain = take_socket(c, &fd);

	if (domain < 0) {
		return domain;
	}
	bool shared = socket_address_is_inet(domain) && c->b->plan->own_net &&
		      plan_lacks_namespaces(c->b->plan);
	long r = shared ? bind_unbound(fd, domain) : 0;
	if (r == 0) {
		r = or_errno(syscall(SYS_listen, fd, call_int(c, 1)));
	}
	if (r == 0 && shared) {
		listener_remember(c->b, fd);
	}
	if (r == 0 && domain == AF_UNIX) {
		unix_socket_listens(c->b, fd);
	}
	return r;
}

/* ---- pairs ---- */

/* Returns a SOCK_SEQPACKET pair instead of a SOCK_DGRAM one: it preserves message boundaries as
 * well, and sendto(2) reaches only its other end, whatever address is given. */
long serve_socketpair(struct call *c) {
	int pair[2], numbers[2];
	int flags = call_int(c, 1) & (SOCK_NONBLOCK | SOCK_CLOEXEC);
	bool cloexec = (flags & SOCK_CLOEXEC) != 0;

	if (call_int(c, 0) != AF_UNIX || call_int(c, 2) != 0) {
		return -EPROTONOSUPPORT;
	}
	int type = SOCK_SEQPACKET | SOCK_CLOEXEC | (flags & SOCK_NONBLOCK);
	if (syscall(SYS_socketpair, AF_UNIX, type, 0, pair) != 0) {
		return -errno;
	}
	auto_fd one = pair[0], other = pair[1];
	numbers[0] = call_add(c, one, cloexec);
	numbers[1] = numbers[0] < 0 ? -EMFILE : call_add(c, other, cloexec);
	if (numbers[0] < 0 || numbers[1] < 0) {
		return numbers[0] < 0 ? numbers[0] : numbers[1];
	}
	return caller_write(c, c->args[3], numbers, sizeof numbers);
}
