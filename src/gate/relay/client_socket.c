/* SPDX-License-Identifier: Apache-2.0 */
/* The program's own socket, of which the gate has a duplicate during connect(2).
 *
 * Should:   connect it to the relay, accept the other end, and close the duplicate.
 * Must not: connect it to anything but the relay and the listener of pending.c; block: the program
 *           shares the open file description and may change O_NONBLOCK or SO_LINGER at any time.
 * Fails:    closed: a connect(2) that cannot be served fails. */
#include "base/interrupt_timer.h"
#include "gate/sockaddr.h"
#include "gate/relay/flow.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

/* Connections of other processes in the accept queue that are closed to find ours. */
#define STRANGERS 64

/* For an IPv6 socket and an IPv4 destination: ::ffff:127.0.0.1. */
static socklen_t loopback_address(const struct flow *f, int which, uint16_t port,
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

/* The port has the same offset in both families. */
int client_socket_port(int fd) {
	union sockaddr_any a;
	socklen_t len = sizeof a;

	return getsockname(fd, &a.any, &len) == 0 ? ntohs(a.in4.sin_port) : -1;
}

/* Accepts the other end of the caller's socket.  On the host's loopback other processes may have
 * connected to the relay: those connections are closed. */
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

void client_socket_release(struct flow *f) {
	if (f->caller >= 0) {
		interrupt_timer_start();
		drop_fd(&f->caller);
		interrupt_timer_stop();
	}
}

/* 0: connected, or in progress. */
static int start_connect(int fd, const union sockaddr_any *to, socklen_t len) {
	interrupt_timer_start();
	bool started = connect(fd, &to->any, len) == 0 || errno == EINPROGRESS || errno == EINTR;
	int error = started ? 0 : -errno;
	interrupt_timer_stop();
	return error;
}

int client_socket_connect(const struct flow *f, int which, uint16_t port) {
	union sockaddr_any to;
	socklen_t len = loopback_address(f, which, port, &to);

	/* Another thread of the caller may see O_NONBLOCK for this moment. */
	if (flow_waits(f) && fcntl(f->caller, F_SETFL, f->flags | O_NONBLOCK) != 0) {
		return -errno;
	}
	int error = start_connect(f->caller, &to, len);
	if (flow_waits(f)) {
		(void)fcntl(f->caller, F_SETFL, f->flags); /* setting it worked */
	}
	return error;
}

/* The gate's end of the connection, or -errno. */
static int connect_to_relay(struct flow *f) {
	int which = ip_is4(&f->ip) ? 0 : 1;
	int error = client_socket_connect(f, which, f->gate->peers->relay[which]);

	/* Without a network namespace the broker has bound this socket to 127.0.0.1. */
	if (error == -EAFNOSUPPORT && which == 1 && f->gate->host_loopback) {
		which = 0;
		error = client_socket_connect(f, which, f->gate->peers->relay[which]);
	}
	if (error != 0) {
		return error;
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
	int fd = connect_to_relay(f);

	if (fd < 0) {
		const struct net_verdict v = {
			.rule = f->rule, .why = "cannot connect the program's socket to the relay"};
		(void)flow_record(f, NET_OP_CONNECT, NET_FAILED, &v);
		splice_release_spares(f->gate);
		flow_fail(f, fd == -EMFILE || fd == -ENFILE ? ENOBUFS : -fd);
		return false;
	}
	f->client.fd = fd;
	client_socket_release(f);
	flow_answer(f, flow_waits(f) && !f->answer_early ? 0 : EINPROGRESS);
	return true;
}
