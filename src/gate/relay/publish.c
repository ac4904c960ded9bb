/* SPDX-License-Identifier: Apache-2.0 */
/* --publish: connections from the host to a server in the sandbox.
 *
 * Should:   forward every connection to the published port to the sandbox's listener.
 * Must not: make the server socket in the gate: it would be in the host's network namespace, and
 *           without namespaces reach any listener there.  The broker makes it in the sandbox,
 *           or connects it to a listener of the run.
 * Fails:    closed: without a listener in the sandbox the connection is reset. */
#include "gate/sockaddr.h"
#include "gate/relay/flow.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define ACCEPTED 16 /* in one turn of the loop */

static const struct ip loopback6 = {{[15] = 1}};

static void request_socket(struct flow *f) {
	const struct wire w = {
		.kind = f->gate->host_loopback ? WIRE_WANT_SERVER : WIRE_WANT_SOCKET,
		.id = flow_ticket(f),
		.family = ip_is4(&f->ip) ? AF_INET : AF_INET6,
		.port = f->gate->host_loopback ? f->port : 0,
	};

	if (wire_send(f->gate->channel.fd, &w, NULL, 0) != 0) {
		flow_reset(f);
	}
}

/* No listener on 127.0.0.1: tries ::1. */
static void try_ipv6(struct flow *f) {
	if (ip_is4(&f->ip)) {
		f->ip = loopback6;
		f->phase = PHASE_REQUEST;
		request_socket(f);
		return;
	}
	flow_reset(f);
}

static void server_connected(struct loop_watch *w, uint32_t events) {
	struct flow *f = CONTAINER_OF(w, struct flow, server);
	int error = EIO;
	socklen_t len = sizeof error;
	(void)events;

	if (getsockopt(w->fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0 || error != 0) {
		loop_close(&f->gate->loop, w);
		try_ipv6(f);
		return;
	}
	flow_reached(f);
	flow_open(f);
}

static int connect_inside(int fd, const struct flow *f) {
	union sockaddr_any a;
	socklen_t len = address_of(&f->ip, f->port, &a);

	return connect(fd, &a.any, len);
}

void publish_socket(struct flow *f, int socket) {
	auto_fd fd = socket;

	if (f->phase != PHASE_REQUEST) {
		return;
	}
	if (fd < 0 && !f->gate->host_loopback) {
		flow_reset(f);
		return;
	}
	/* On the host's loopback the broker has connected it to a listener of the run. */
	if (fd < 0 ||
	    (!f->gate->host_loopback && connect_inside(fd, f) != 0 && errno != EINPROGRESS)) {
		try_ipv6(f);
		return;
	}
	f->phase = PHASE_DIAL;
	f->server = (struct loop_watch){.fd = take_fd(&fd), .ready = server_connected};
	if (loop_add(&f->gate->loop, &f->server, EPOLLOUT) != 0) {
		flow_reset(f);
	}
}

static void begin(struct publisher *p, int fd) {
	struct flow *f = flow_new(p->listener.gate, FLOW_PUBLISH);
	const struct net_verdict v = {.allowed = true};
	auto_fd client = fd;

	if (f == NULL) {
		return;
	}
	f->ip = ip_loopback4;
	f->port = p->port;
	f->talk.state = CONVERSATION_OPAQUE;
	f->client.fd = take_fd(&client);
	flow_tune(f->client.fd, true);
	f->entry = flow_record(f, NET_OP_PUBLISH, NET_ALLOWED, &v);
	request_socket(f);
}

void publish_accept(struct loop_watch *w, uint32_t events) {
	struct publisher *p = CONTAINER_OF(w, struct publisher, listener.watch);
	(void)events;

	for (int i = 0; i < ACCEPTED; i++) {
		int fd = listener_accept(&p->listener);
		if (fd < 0) {
			return;
		}
		begin(p, fd);
	}
}
