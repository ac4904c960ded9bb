/* SPDX-License-Identifier: Apache-2.0 */
/* The relay of relay_world.h in a network namespace, with the sockets that pid 1 makes there
 * (linux/layers/network.c) and the broker that makes sockets for the gate (linux/broker/connect.c).
 * Programs and origins are in the same namespace. */
#ifndef CORRAL_TESTS_UNIT_RELAY_NAMESPACE_H
#define CORRAL_TESTS_UNIT_RELAY_NAMESPACE_H

#include "relay_world.h"

#include "linux/broker/broker.h"
#include "linux/broker/connect.h"
#include "linux/layer.h"

#include <netinet/tcp.h>
#include <sched.h>

/* Moves the test into a new network namespace, once.  False: the host refuses; errno is set. */
static inline bool relay_enter_namespace(void) {
	static bool entered;

	entered =
		entered || unshare(CLONE_NEWNET) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0;
	return entered;
}

/* The sockets of WIRE_SOCKETS, as gate.c takes them. */
static inline bool relay_take_sockets(struct relay *w) {
	struct gate *g = w->gate;
	struct wire m;
	int fds[WIRE_FDS] = WIRE_NO_FDS;
	size_t n = 0, at = 0;

	if (wire_receive(g->channel.fd, &m, fds, &n) != 1 || m.kind != WIRE_SOCKETS) {
		return false;
	}
	drop_fd(&g->relay[0].watch.fd);
	for (int i = 0; i < WIRE_SOCKET_COUNT; i++) {
		int fd = (m.flags & 1 << i) == 0 ? -1 : fds[at++];
		if (i >= WIRE_SYN) {
			g->syn_socket[i - WIRE_SYN] = fd;
		} else if (i >= WIRE_PENDING) {
			g->pending_listener[i - WIRE_PENDING] = fd;
			w->peers->pending[i - WIRE_PENDING] =
				fd < 0 ? 0 : (uint16_t)client_socket_port(fd);
		} else if (i >= WIRE_RELAY) {
			g->relay[i - WIRE_RELAY] = (struct listener){.gate = g, .watch.fd = fd};
			w->peers->relay[i - WIRE_RELAY] =
				fd < 0 ? 0 : (uint16_t)client_socket_port(fd);
		} else {
			g->dns.fd = fd;
		}
	}
	return at == n;
}

/* relay_begin() in the namespace.  The first call of the layer brings up the loopback interface,
 * the second sends the sockets as well. */
static inline bool relay_begin_namespace(struct relay *w) {
	struct plan plan = {.own_net = true};
	struct kit kit = {.plan = &plan, .gate_fd = -1, .netns = NETNS_HERE, .sys_fd = -1};
	struct err e = {0};

	if (layer_network.enter(&kit, &e) != 0 || !relay_begin(w)) {
		return false;
	}
	kit.gate_fd = w->broker;
	return layer_network.enter(&kit, &e) == 0 && relay_take_sockets(w);
}

/* Begins a test in the namespace, or skips it. */
#define BEGIN_IN_NAMESPACE(w)                                                                      \
	do {                                                                                       \
		if (!relay_enter_namespace()) {                                                    \
			SKIP("no network namespace: %s", strerror(errno));                         \
		}                                                                                  \
		REQUIRE(relay_begin_namespace(w));                                                 \
	} while (0)

/* The broker serves one request of the gate; the gate gets its socket.  -1: none arrives. */
static inline int relay_serve_want(struct relay *w, uint64_t *ret_ticket) {
	static struct broker b;
	struct wire m;
	int fds[WIRE_FDS] = WIRE_NO_FDS;
	size_t n = 0;

	for (int i = 0; i < RELAY_TURNS; i++) {
		char byte;
		if (recv(w->broker, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0) {
			b.gate = w->broker;
			connect_answered(&b);
			break;
		}
		relay_turn(w);
	}
	if (wire_receive(w->gate->channel.fd, &m, fds, &n) != 1 || m.kind != WIRE_SOCKET || n > 1) {
		return -1;
	}
	*ret_ticket = m.id;
	return fds[0];
}

/* The state of a TCP socket, of enum in <netinet/tcp.h>. */
static inline int relay_tcp_state(int fd) {
	uint8_t state = 0; /* the first byte of struct tcp_info */
	socklen_t len = sizeof state;

	return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &state, &len) == 0 ? state : -1;
}

static inline int relay_socket_error(int fd) {
	int error = -1;
	socklen_t len = sizeof error;

	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0 ? error : -1;
}

#endif
