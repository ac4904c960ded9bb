/* SPDX-License-Identifier: Apache-2.0 */
/* A pending connect(2): the program's socket stays in SYN-SENT while the gate dials the upstream.
 *
 * The gate connects the program's socket to a listener whose socket filter drops every SYN
 * (linux/layers/network.c), so that the kernel keeps it in SYN-SENT, as with a host that has not
 * answered yet.  A blocking caller waits in connect(2): the broker repeats the call, and the kernel
 * continues the handshake that has begun.  When the upstream is connected, the gate makes a
 * simultaneous open (RFC 9293, 3.5): the broker makes a socket bound to the listener's port, the
 * gate connects it to the program's source port, and the two SYNs establish the connection.  When
 * the upstream refuses, the program gets a RST (tcp_reset.c); when it does not answer, the program
 * gets nothing and times out by itself.
 *
 * Should:   let the program wait as it does without a sandbox: signals interrupt it, its own
 *           time-out applies, and it can try another address.
 * Must not: keep the caller's socket: with a second descriptor it would stay in the program's
 *           epoll set after the program has closed it.
 * Fails:    closed: without the broker's socket the program's SYN is not answered; when the gate
 *           ends the call is refused. */
#include "gate/relay/flow.h"

#include "gate/sockaddr.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>

/* 0: IPv4, 1: IPv6. */
static int family_index(const struct flow *f) {
	return ip_is4(&f->ip) ? 0 : 1;
}

/* A previous flow used this source port and was closed by the program: reset it, or its relay
 * socket would connect to ours. */
static void claim_port(struct flow *f) {
	uint64_t *owner = &f->gate->pending_by_port[family_index(f)][f->client_port];
	struct flow *former = flow_by_ticket(f->gate, *owner);

	if (former != NULL && former->pending && former->client_port == f->client_port) {
		flow_reset(former);
	}
	*owner = flow_ticket(f);
}

/* On the host's loopback any process of the user could bind the listener's port (SO_REUSEPORT). */
bool pending_possible(const struct flow *f) {
	return f->caller >= 0 && !f->gate->host_loopback &&
	       f->gate->peers->pending[family_index(f)] != 0;
}

bool pending_begin(struct flow *f) {
	int which = family_index(f);
	struct wire_peers *peers = f->gate->peers;
	union sockaddr_any own;
	socklen_t len = sizeof own;

	int error = client_socket_connect(f, which, peers->pending[which]);
	if (error == 0 && getsockname(f->caller, &own.any, &len) != 0) {
		error = -errno;
	}
	if (error != 0) {
		flow_fail(f, -error);
		return false;
	}
	f->client_port = address_ip(&own, &f->client_ip);
	claim_port(f);
	tcp_reset_record_syn(f);
	peers->of[which][f->client_port] = (struct wire_peer){.ip = f->ip, .port = f->port};
	f->pending = true;
	client_socket_release(f);
	if (flow_waits(f)) {
		flow_continue(f);
	} else {
		flow_answer(f, EINPROGRESS);
	}
	return true;
}

/* The program gets the error: by its own time-out, or by a RST. */
static bool report_error(const struct flow *f) {
	return f->dial_error == ETIMEDOUT || tcp_reset_send(f);
}

void pending_complete(struct flow *f) {
	int which = family_index(f);
	const struct wire w = {
		.kind = WIRE_WANT_SOCKET,
		.id = flow_ticket(f),
		.family = which == 0 ? AF_INET : AF_INET6,
		.port = f->gate->peers->pending[which],
	};

	if (f->dial_error != 0 && report_error(f)) {
		flow_reset(f);
		return;
	}
	f->phase = PHASE_JOIN;
	if (f->dial_error != 0) {
		loop_close(&f->gate->loop, &f->server); /* connect, then reset */
	}
	(void)loop_want(&f->gate->loop, &f->server, 0); /* its bytes stay queued */
	(void)loop_alarm_set(&f->gate->loop, &f->alarm, JOIN_MS);
	if (wire_send(f->gate->channel.fd, &w, NULL, 0) != 0) {
		flow_reset(f);
	}
}

void pending_take_socket(struct flow *f, int socket) {
	union sockaddr_any at;
	socklen_t len = address_of(&f->client_ip, f->client_port, &at);
	auto_fd fd = socket;

	if (f->phase != PHASE_JOIN) {
		return;
	}
	f->pending = false;
	if (fd >= 0) {
		flow_tune(fd, true); /* before the first byte arrives */
	}
	if (fd < 0 || (connect(fd, &at.any, len) != 0 && errno != EINPROGRESS)) {
		flow_reset(f);
		return;
	}
	f->client.fd = take_fd(&fd);
	if (f->dial_error != 0) {
		flow_reset(f);
		return;
	}
	flow_open(f);
}
