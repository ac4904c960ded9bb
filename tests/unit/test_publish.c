/* SPDX-License-Identifier: Apache-2.0 */
/* --publish: connections from the host to a server in the sandbox.  The origin of the relay is that
 * server; the broker is the real one, or a test that sends no socket. */
#include "relay_namespace.h"

#include "gate/sockaddr.h"

/* The relay with one publisher, for a port of the sandbox. */
struct published {
	struct relay relay;
	uint16_t port; /* on the host */
};

static bool published_begin(struct published *p, uint16_t port) {
	struct publisher *one;

	if (!relay_begin(&p->relay)) {
		return false;
	}
	one = &p->relay.gate->publishers[0];
	one->port = port == 0 ? p->relay.port : port;
	one->listener = (struct listener){
		.gate = p->relay.gate,
		.watch = {.fd = relay_socket(&p->port, true), .ready = publish_accept}};
	return listener_open(&one->listener) == 0;
}

static void published_end(struct published *p) {
	loop_close(&p->relay.gate->loop, &p->relay.gate->publishers[0].listener.watch);
	relay_end(&p->relay);
}

/* A client on the host, which the gate has accepted. */
static struct inbox client_of(struct published *p) {
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_port = htons(p->port),
				.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct inbox in = {.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};

	CHECK_INT(connect(in.fd, (struct sockaddr *)&a, sizeof a), 0);
	return in;
}

/* The gate's request to the broker.  A kind of 0: there is none. */
static struct wire want(struct relay *w) {
	struct wire m = {.kind = 0};
	int fds[WIRE_FDS] = WIRE_NO_FDS;
	size_t n = 0;

	for (int i = 0; i < RELAY_TURNS && m.kind == 0; i++) {
		relay_turn(w);
		if (wire_receive(w->broker, &m, fds, &n) != 1) {
			m.kind = 0;
		}
	}
	return m;
}

/* The broker sends a socket, which gate.c passes to the flow. */
static void answer(struct relay *w, uint64_t ticket, int socket) {
	struct flow *f = flow_by_ticket(w->gate, ticket);

	CHECK(f != NULL && f->kind == FLOW_PUBLISH);
	if (f != NULL) {
		publish_socket(f, socket);
	}
}

static void serve(struct relay *w) {
	uint64_t ticket = 0;
	int fd = relay_serve_want(w, &ticket);

	CHECK(fd >= 0);
	answer(w, ticket, fd);
}

static int await_server(struct relay *w) {
	int fd = -1;

	for (int i = 0; i < RELAY_TURNS && fd < 0; i++) {
		relay_turn(w);
		fd = relay_accept(w);
	}
	return fd;
}

static void check_reset(struct relay *w, struct inbox *client) {
	UNTIL(w, inbox_ended(client));
	CHECK_INT(client->error, ECONNRESET);
	CHECK_INT(client->len, 0);
	CHECK_INT(w->gate->nflows, 0);
	(void)close(client->fd);
}

TEST(a_client_on_the_host_reaches_the_server_in_the_sandbox) {
	struct published p;
	struct relay *w = &p.relay;
	REQUIRE(published_begin(&p, 0));
	struct inbox client = client_of(&p);
	serve(w);
	struct inbox server = {.fd = await_server(w)};
	CHECK(relay_send(client.fd, "there"));
	UNTIL(w, inbox_has(&server, 5));
	CHECK_STR(server.text, "there");
	CHECK(relay_send(server.fd, "back"));
	UNTIL(w, inbox_has(&client, 4));
	CHECK_STR(client.text, "back");
	(void)close(client.fd);
	UNTIL(w, inbox_ended(&server));
	CHECK_INT(server.error, 0); /* FIN stays FIN */
	const struct ledger_entry *e = relay_entry(w, NET_OP_PUBLISH, NET_ALLOWED);
	REQUIRE(e != NULL);
	CHECK_INT(e->port, w->port);
	(void)close(server.fd);
	published_end(&p);
}

TEST(bytes_that_a_client_sends_at_once_wait_for_the_server) {
	struct published p;
	struct relay *w = &p.relay;
	REQUIRE(published_begin(&p, 0));
	struct inbox client = client_of(&p);
	CHECK(relay_send(client.fd, "early"));
	relay_rest(w);
	CHECK_INT(relay_accept(w), -1);
	serve(w);
	struct inbox server = {.fd = await_server(w)};
	UNTIL(w, inbox_has(&server, 5));
	CHECK_STR(server.text, "early");
	(void)close(client.fd);
	(void)close(server.fd);
	published_end(&p);
}

TEST(a_server_on_ipv6_only_is_reached) {
	struct published p;
	struct relay *w = &p.relay;
	union sockaddr_any a;
	socklen_t len = address_of(&(struct ip){{[15] = 1}}, 0, &a);
	int listener = socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (listener < 0 || bind(listener, &a.any, len) != 0 || listen(listener, 8) != 0) {
		drop_fd(&listener);
		SKIP("no IPv6 loopback: %s", strerror(errno));
	}
	REQUIRE(published_begin(&p, (uint16_t)client_socket_port(listener)));
	struct inbox client = client_of(&p);
	serve(w); /* 127.0.0.1 refuses */
	serve(w);
	struct inbox server = {.fd = -1};
	UNTIL(w, server.fd >= 0 || (server.fd = accept4(listener, NULL, NULL,
							SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0);
	CHECK(relay_send(client.fd, "there"));
	UNTIL(w, inbox_has(&server, 5));
	(void)close(listener);
	(void)close(client.fd);
	(void)close(server.fd);
	published_end(&p);
}

TEST(without_a_server_in_the_sandbox_the_client_is_reset) {
	struct published p;
	struct relay *w = &p.relay;
	REQUIRE(published_begin(&p, 1)); /* no server is on port 1, in either family */
	struct inbox client = client_of(&p);
	serve(w);
	serve(w);
	check_reset(w, &client);
	published_end(&p);
}

TEST(without_the_brokers_socket_the_client_is_reset) {
	struct published p;
	struct relay *w = &p.relay;
	REQUIRE(published_begin(&p, 0));
	struct inbox client = client_of(&p);
	struct wire m = want(w);
	CHECK_INT(m.kind, WIRE_WANT_SOCKET);
	CHECK_INT(m.family, AF_INET);
	CHECK_INT(m.port, 0); /* any: the gate connects it */
	answer(w, m.id, -1);
	check_reset(w, &client);
	published_end(&p);
}

/* There the broker connects the socket, because it knows the listeners of the run. */
TEST(on_the_hosts_loopback_the_gate_connects_no_socket) {
	struct published p;
	struct relay *w = &p.relay;
	REQUIRE(published_begin(&p, 0));
	w->gate->host_loopback = true;
	struct inbox client = client_of(&p);
	struct wire m = want(w);
	CHECK_INT(m.kind, WIRE_WANT_SERVER);
	CHECK_INT(m.family, AF_INET);
	CHECK_INT(m.port, w->port);
	answer(w, m.id, -1); /* no listener of the run on 127.0.0.1 */
	m = want(w);
	CHECK_INT(m.kind, WIRE_WANT_SERVER);
	CHECK_INT(m.family, AF_INET6);
	int pair[2];
	REQUIRE(relay_tcp_pair(w, pair));
	answer(w, m.id, pair[0]);
	struct inbox server = {.fd = pair[1]};
	CHECK(relay_send(client.fd, "there"));
	UNTIL(w, inbox_has(&server, 5));
	CHECK_INT(relay_accept(w), -1);
	(void)close(client.fd);
	(void)close(server.fd);

	client = client_of(&p);
	m = want(w);
	answer(w, m.id, -1);
	m = want(w);
	answer(w, m.id, -1); /* nor on ::1 */
	UNTIL(w, inbox_ended(&client));
	CHECK_INT(client.error, ECONNRESET);
	(void)close(client.fd);
	published_end(&p);
}

TEST(a_second_socket_for_a_flow_is_closed) {
	struct published p;
	struct relay *w = &p.relay;
	int pair[2];
	char byte;
	REQUIRE(published_begin(&p, 0));
	struct inbox client = client_of(&p);
	struct wire m = want(w);
	answer(w, m.id, socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
	struct inbox server = {.fd = await_server(w)};
	REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
	answer(w, m.id, pair[1]);
	CHECK_INT(recv(pair[0], &byte, 1, MSG_DONTWAIT), 0); /* EOF */
	CHECK(relay_send(client.fd, "there"));
	UNTIL(w, inbox_has(&server, 5));
	(void)close(pair[0]);
	(void)close(client.fd);
	(void)close(server.fd);
	published_end(&p);
}

TEST(a_client_without_room_for_its_flow_is_closed) {
	struct published p;
	struct relay *w = &p.relay;
	REQUIRE(published_begin(&p, 0));
	size_t room = w->gate->nfree_flows;
	w->gate->nfree_flows = 0;
	struct inbox client = client_of(&p);
	UNTIL(w, inbox_ended(&client));
	CHECK_INT(client.len, 0);
	CHECK_INT(w->gate->nflows, 0);
	char byte;
	CHECK_INT(recv(w->broker, &byte, 1, MSG_DONTWAIT), -1); /* no request */
	w->gate->nfree_flows = room;
	(void)close(client.fd);
	published_end(&p);
}

TESTS_MAIN
