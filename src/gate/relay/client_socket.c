/* The program's own socket, while the gate has it too.
 *
 * Should:   connect it inside, find its other end, and give it back.
 * Must not: connect it to anything but the relay and the listener of pending.c; wait, whatever
 *           others do meanwhile to a socket that is theirs as well.
 * Fails:    closed: a call that cannot be made fails. */
#include "gate/sockaddr.h"
#include "gate/relay/flow.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

/* Strangers in the relay's queue that are turned away to find the one that was called. */
#define STRANGERS 64

/* Far more than a call needs that does not wait. */
#define PATIENCE_US 20000

/* An IPv6 socket that wants an IPv4 address is connected as one. */
static socklen_t inside_at(const struct flow *f, int which, uint16_t port,
			   union sockaddr_any *ret) {

	memset(ret, 0, sizeof *ret);
	if (f->family == AF_INET) {
		ret->in4.sin_family = AF_INET;
		ret->in4.sin_port = htons(port);
		ret->in4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		return sizeof ret->in4;
	}
	ret->in6.sin6_family = AF_INET6;
	ret->in6.sin6_port = htons(port);
	ret->in6.sin6_addr = in6addr_loopback;
	if (which == 0) {
		memcpy(&ret->in6.sin6_addr, ip_loopback4.b, sizeof ip_loopback4.b);
	}
	return sizeof ret->in6;
}

/* Both families have the port at the same place. */
int client_socket_port(int fd) {
	union sockaddr_any a;
	socklen_t len = sizeof a;

	return getsockname(fd, &a.any, &len) == 0 ? ntohs(a.in4.sin_port) : -1;
}

/* The other end of the caller's socket.  Nobody else is connected to the relay, but on
 * a loopback that is shared a stranger may be; he is turned away. */
static int accept_own(const struct flow *f, int which, const struct ip *own, uint16_t port) {
	for (int i = 0; i < STRANGERS; i++) {
		union sockaddr_any from;
		socklen_t len = sizeof from;
		int fd = accept4(f->gate->relay[which].watch.fd, &from.any, &len,
				 SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd < 0) {
			return -errno;
		}
		struct ip ip;
		if (address_ip(&from, &ip) == port && ip_same(&ip, own)) {
			return fd;
		}
		drop_fd(&fd);
	}
	return -EAGAIN;
}

/* Whatever others do to a socket that they have as well (O_NONBLOCK, SO_LINGER): a call on it
 * that waits all the same is interrupted (gate.c has the handler). */
static void patience(bool limited) {
	const struct timeval ms = {.tv_usec = limited ? PATIENCE_US : 0};
	const struct itimerval timer = {.it_interval = ms, .it_value = ms};

	(void)setitimer(ITIMER_REAL, &timer, NULL); /* fails for a bad number alone */
}

void client_socket_release(struct flow *f) {
	if (f->caller >= 0) {
		patience(true);
		drop_fd(&f->caller);
		patience(false);
	}
}

/* 0: connected, or on its way. */
static int call(int fd, const union sockaddr_any *to, socklen_t len) {
	patience(true);
	bool begun = connect(fd, &to->any, len) == 0 || errno == EINPROGRESS || errno == EINTR;
	int error = begun ? 0 : -errno;
	patience(false);
	return error;
}

int client_socket_connect(const struct flow *f, int which, uint16_t port) {
	union sockaddr_any to;
	socklen_t len = inside_at(f, which, port, &to);

	/* Another thread of the caller may see the flag for this moment. */
	if (flow_waits(f) && fcntl(f->caller, F_SETFL, f->flags | O_NONBLOCK) != 0) {
		return -errno;
	}
	int error = call(f->caller, &to, len);
	if (flow_waits(f)) {
		(void)fcntl(f->caller, F_SETFL, f->flags); /* it could be set */
	}
	return error;
}

static int join(struct flow *f) {
	int which = ip_is4(&f->ip) ? 0 : 1;
	int called = client_socket_connect(f, which, f->gate->peers->relay[which]);

	/* One that the broker bound to IPv4's loopback, for want of a namespace. */
	if (called == -EAFNOSUPPORT && which == 1 && f->gate->host_loopback) {
		which = 0;
		called = client_socket_connect(f, which, f->gate->peers->relay[which]);
	}
	if (called != 0) {
		return called;
	}
	union sockaddr_any at;
	socklen_t len = sizeof at;
	struct ip own;
	if (getsockname(f->caller, &at.any, &len) != 0) {
		return -ECONNREFUSED;
	}
	uint16_t port = address_ip(&at, &own);
	int fd = accept_own(f, which, &own, port);
	if (fd >= 0) {
		f->gate->peers->of[which][port] = (struct wire_peer){.ip = f->ip, .port = f->port};
	}
	return fd;
}

bool client_socket_attach(struct flow *f) {
	int fd = join(f);

	if (fd < 0) {
		const struct net_verdict v = {.rule = f->rule,
					      .why = "the program's socket could not be connected"};
		(void)flow_record(f, NET_OP_CONNECT, NET_FAILED, &v);
		splice_release_spares(f->gate);
		flow_fail(f, fd == -EMFILE || fd == -ENFILE ? ENOBUFS : -fd);
		return false;
	}
	f->client.fd = fd;
	client_socket_release(f);
	flow_answer(f, flow_waits(f) ? 0 : EINPROGRESS);
	return true;
}
