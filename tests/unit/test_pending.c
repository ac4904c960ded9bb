/* SPDX-License-Identifier: Apache-2.0 */
/* Pending connect(2): SYN-SENT while the gate dials, then a simultaneous open, an RST or nothing.
 */
#include "relay_namespace.h"

#include <poll.h>

/* A program whose connect(2), call 1, is pending: the backlog of the origin is full. */
struct program {
	int fd, first; /* first: the socket that fills the backlog */
	struct flow *flow;
};

static struct flow *only_flow(struct relay *w) {
	for (size_t i = 0; i < GATE_FLOWS; i++) {
		if (w->gate->flows[i].phase != PHASE_FREE) {
			return &w->gate->flows[i];
		}
	}
	return NULL;
}

static struct program program_begin(struct relay *w, int flags) {
	struct program p = {.first = relay_fill_backlog(w)};

	p.fd = relay_connect(
		w, &(struct wire){.id = 1, .to = relay_ip, .port = w->port, .flags = flags});
	p.flow = only_flow(w);
	CHECK(p.flow != NULL && p.flow->phase == PHASE_DIAL && p.flow->pending);
	return p;
}

static void program_end(struct program *p) {
	(void)close(p->fd);
	(void)close(p->first);
}

/* The dial ends with this errno. */
static void end_dial(struct flow *f, int error) {
	f->dial_error = error;
	pending_complete(f);
}

/* The broker makes the gate's end, and the gate connects it. */
static void join(struct relay *w) {
	uint64_t ticket = 0;
	int fd = relay_serve_want(w, &ticket);
	struct flow *f = flow_by_ticket(w->gate, ticket);

	CHECK(fd >= 0);
	CHECK(f != NULL && f->phase == PHASE_JOIN);
	if (f != NULL) {
		pending_take_socket(f, fd);
	}
}

static bool is_writable(int fd) {
	struct pollfd slot = {.fd = fd, .events = POLLOUT};

	return poll(&slot, 1, 0) == 1;
}

TEST(a_call_stays_in_syn_sent_until_the_upstream_answers) {
	struct relay w;
	BEGIN_IN_NAMESPACE(&w);
	struct program p = program_begin(&w, O_NONBLOCK);
	CHECK_INT(relay_answer(&w, 1), EINPROGRESS);
	relay_rest(&w);
	CHECK_INT(relay_tcp_state(p.fd), TCP_SYN_SENT);
	CHECK(!is_writable(p.fd));
	CHECK_INT(p.flow->caller, -1); /* no duplicate that keeps the program's socket open */
	const struct wire_peer *peer = &w.peers->of[0][client_socket_port(p.fd)];
	CHECK(ip_same(&peer->ip, &relay_ip));
	CHECK_INT(peer->port, w.port);

	(void)close(relay_accept(&w)); /* there is room in the backlog again */
	join(&w);
	CHECK_INT(relay_tcp_state(p.fd), TCP_ESTABLISHED);
	struct inbox in = {.fd = p.fd}, server = {.fd = relay_accept(&w)};
	CHECK(relay_send(in.fd, "there"));
	UNTIL(&w, inbox_has(&server, 5));
	CHECK(relay_send(server.fd, "back"));
	UNTIL(&w, inbox_has(&in, 4));
	CHECK_STR(in.text, "back");
	(void)close(server.fd);
	program_end(&p);
	relay_end(&w);
}

TEST(a_blocking_call_is_continued_by_the_broker) {
	struct relay w;
	BEGIN_IN_NAMESPACE(&w);
	struct program p = program_begin(&w, 0);
	CHECK_INT(relay_answer(&w, 1), WIRE_CONTINUE);
	CHECK_INT(relay_tcp_state(p.fd), TCP_SYN_SENT);
	program_end(&p);
	relay_end(&w);
}

TEST(an_upstream_that_refuses_becomes_econnrefused) {
	struct relay w;
	BEGIN_IN_NAMESPACE(&w);
	struct program p = program_begin(&w, O_NONBLOCK);
	end_dial(p.flow, ECONNREFUSED);
	CHECK_INT(w.gate->nflows, 0);
	CHECK_INT(relay_tcp_state(p.fd), TCP_CLOSE);
	CHECK_INT(relay_socket_error(p.fd), ECONNREFUSED);
	program_end(&p);
	relay_end(&w);
}

TEST(without_a_raw_socket_a_refusal_is_a_connection_that_is_reset) {
	struct relay w;
	BEGIN_IN_NAMESPACE(&w);
	drop_fd(&w.gate->syn_socket[0]);
	struct program p = program_begin(&w, O_NONBLOCK);
	CHECK_INT(relay_answer(&w, 1), EINPROGRESS);
	end_dial(p.flow, ECONNREFUSED);
	CHECK_INT(relay_tcp_state(p.fd), TCP_SYN_SENT);
	join(&w);
	CHECK_INT(w.gate->nflows, 0);
	CHECK_INT(relay_tcp_state(p.fd), TCP_CLOSE);
	CHECK_INT(relay_socket_error(p.fd), ECONNRESET);
	program_end(&p);
	relay_end(&w);
}

TEST(an_upstream_that_does_not_answer_leaves_the_program_to_its_own_time_out) {
	struct relay w;
	BEGIN_IN_NAMESPACE(&w);
	struct program p = program_begin(&w, O_NONBLOCK);
	upstream_timeout(p.flow);
	CHECK_INT(w.gate->nflows, 0);
	relay_rest(&w);
	CHECK_INT(relay_tcp_state(p.fd), TCP_SYN_SENT);
	CHECK_INT(relay_socket_error(p.fd), 0);
	program_end(&p);
	relay_end(&w);
}

TEST(without_the_brokers_socket_the_flow_ends_and_the_program_is_not_connected) {
	struct relay w;
	BEGIN_IN_NAMESPACE(&w);
	struct program p = program_begin(&w, O_NONBLOCK);
	end_dial(p.flow, 0);
	CHECK_INT(p.flow->phase, PHASE_JOIN);
	pending_take_socket(p.flow, -1);
	CHECK_INT(w.gate->nflows, 0);
	CHECK_INT(relay_tcp_state(p.fd), TCP_SYN_SENT);
	program_end(&p);
	relay_end(&w);
}

/* The broker sends a socket before the gate has requested it. */
TEST(a_socket_that_was_not_requested_is_closed) {
	struct relay w;
	int pair[2];
	char byte;
	BEGIN_IN_NAMESPACE(&w);
	struct program p = program_begin(&w, O_NONBLOCK);
	REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
	pending_take_socket(p.flow, pair[1]);
	CHECK_INT(recv(pair[0], &byte, 1, MSG_DONTWAIT), 0); /* EOF */
	CHECK_INT(p.flow->client.fd, -1);
	CHECK_INT(p.flow->phase, PHASE_DIAL);
	(void)close(pair[0]);
	program_end(&p);
	relay_end(&w);
}

/* A program that gave up binds the same port again. */
TEST(a_flow_that_had_the_source_port_before_is_reset) {
	struct relay w;
	struct sockaddr_in own = {.sin_family = AF_INET};
	socklen_t len = sizeof own;
	BEGIN_IN_NAMESPACE(&w);
	struct program p = program_begin(&w, O_NONBLOCK);
	REQUIRE(getsockname(p.fd, (struct sockaddr *)&own, &len) == 0);
	uint64_t ticket = flow_ticket(p.flow);
	(void)close(p.fd);

	const struct wire call = {.kind = WIRE_CONNECT,
				  .id = 2,
				  .family = AF_INET,
				  .to = relay_ip,
				  .port = w.port,
				  .flags = O_NONBLOCK};
	p.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	REQUIRE(bind(p.fd, (struct sockaddr *)&own, sizeof own) == 0);
	flow_begin(w.gate, &call, fcntl(p.fd, F_DUPFD_CLOEXEC, 0));
	CHECK(flow_by_ticket(w.gate, ticket) == NULL);
	CHECK_INT(w.gate->nflows, 1);
	program_end(&p);
	relay_end(&w);
}

TEST(no_call_is_pending_on_the_hosts_loopback_or_without_the_listener) {
	struct relay w;
	struct flow f = {.caller = 0, .ip = relay_ip};
	REQUIRE(relay_begin(&w));
	f.gate = w.gate;
	CHECK(!pending_possible(&f)); /* no listener */
	w.peers->pending[0] = 1;
	CHECK(pending_possible(&f));
	f.caller = -1; /* the call was answered */
	CHECK(!pending_possible(&f));
	f.caller = 0;
	w.gate->host_loopback = true;
	CHECK(!pending_possible(&f));
	relay_end(&w);
}

TESTS_MAIN
