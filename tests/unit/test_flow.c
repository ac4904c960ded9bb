/* SPDX-License-Identifier: Apache-2.0 */
/* A flow of the gate: from connect(2) through forwarding to the close of both sockets. */
#include "relay_world.h"

/* Both ends of one connection through the relay. */
static bool pair_up(struct relay *w, int *ret_program, int *ret_server) {
	*ret_program = relay_connect_port(w, w->port);
	*ret_server = -1;
	for (int i = 0; i < RELAY_TURNS && *ret_server < 0; i++) {
		relay_turn(w);
		*ret_server = relay_accept(w);
	}
	return *ret_server >= 0;
}

TEST(a_call_is_answered_once_when_the_upstream_is_connected) {
	struct relay w;
	REQUIRE(relay_begin(&w));
	int program, server;
	REQUIRE(pair_up(&w, &program, &server));
	CHECK_INT(relay_await_answer(&w, 1), 0);
	(void)close(server);
	(void)close(program);
	UNTIL(&w, w.gate->nflows == 0);
	CHECK_INT(relay_answer(&w, 1), RELAY_NO_ANSWER);
	relay_end(&w);
}

TEST(a_non_blocking_call_is_answered_with_einprogress) {
	struct relay w;
	REQUIRE(relay_begin(&w));
	int program = relay_connect(
		&w, &(struct wire){.id = 1, .to = relay_ip, .port = w.port, .flags = O_NONBLOCK});
	CHECK_INT(relay_await_answer(&w, 1), EINPROGRESS);
	(void)close(program);
	relay_end(&w);
}

TEST(the_end_of_one_direction_is_forwarded_and_the_other_goes_on) {
	struct relay w;
	REQUIRE(relay_begin(&w));
	int program, server;
	REQUIRE(pair_up(&w, &program, &server));
	struct inbox at_server = {.fd = server}, at_program = {.fd = program};
	CHECK(relay_send(program, "question"));
	CHECK_INT(shutdown(program, SHUT_WR), 0);
	UNTIL(&w, inbox_ended(&at_server));
	CHECK_STR(at_server.text, "question");
	CHECK_INT(at_server.error, 0);
	CHECK_INT(w.gate->nflows, 1);
	CHECK(relay_send(server, "answer"));
	UNTIL(&w, inbox_has(&at_program, 6));
	CHECK(!inbox_ended(&at_program));
	(void)close(server);
	UNTIL(&w, inbox_ended(&at_program));
	CHECK_STR(at_program.text, "answer");
	CHECK_INT(at_program.error, 0);
	UNTIL(&w, w.gate->nflows == 0);
	const struct ledger_entry *e = relay_entry(&w, NET_OP_CONNECT, NET_ALLOWED);
	REQUIRE(e != NULL);
	CHECK_INT(e->sent, 8);
	CHECK_INT(e->received, 6);
	(void)close(program);
	relay_end(&w);
}

TEST(a_reset_of_either_side_arrives_as_a_reset) {
	struct relay w;
	for (int by_server = 0; by_server < 2; by_server++) {
		REQUIRE(relay_begin(&w));
		int program, server;
		REQUIRE(pair_up(&w, &program, &server));
		struct inbox other = {.fd = by_server ? program : server};
		relay_send_reset(by_server ? server : program);
		UNTIL(&w, inbox_ended(&other));
		CHECK_INT(other.error, ECONNRESET);
		UNTIL(&w, w.gate->nflows == 0);
		(void)close(other.fd);
		relay_end(&w);
	}
}

/* Sends until the relay takes no more. */
static size_t fill(struct relay *w, int fd) {
	static char chunk[65536];
	size_t total = 0;

	for (int idle = 0; idle < RELAY_QUIET;) {
		ssize_t n = send(fd, chunk, sizeof chunk, MSG_DONTWAIT | MSG_NOSIGNAL);
		idle = n > 0 ? 0 : idle + 1;
		total += n > 0 ? (size_t)n : 0;
		if (n <= 0) {
			relay_turn(w);
		}
	}
	return total;
}

static size_t drain(struct relay *w, int fd) {
	static char chunk[65536];
	size_t total = 0;

	for (int i = 0; i < RELAY_TURNS; i++) {
		ssize_t n = recv(fd, chunk, sizeof chunk, MSG_DONTWAIT);
		if (n == 0) {
			break;
		}
		total += n > 0 ? (size_t)n : 0;
		if (n < 0) {
			relay_turn(w);
		}
	}
	return total;
}

TEST(a_receiver_that_does_not_read_stops_the_sender_and_loses_no_byte) {
	struct relay w;
	REQUIRE(relay_begin(&w));
	int program, server;
	REQUIRE(pair_up(&w, &program, &server));
	size_t sent = fill(&w, program);
	const struct flow *f = &w.gate->flows[0];
	CHECK(f->up.buffered > 0 && f->up.buffered <= (size_t)1 << 20);
	CHECK_INT(f->client.events & EPOLLIN, 0); /* no spinning */
	CHECK_INT(shutdown(program, SHUT_WR), 0);
	CHECK_INT(drain(&w, server), sent);
	(void)close(program);
	(void)close(server);
	relay_end(&w);
}

TEST(a_call_beyond_the_last_flow_fails_and_a_later_one_is_served) {
	struct relay w;
	REQUIRE(relay_begin(&w));
	for (size_t i = 0; i < GATE_FLOWS; i++) {
		REQUIRE(flow_new(w.gate, FLOW_DIRECT) != NULL);
	}
	CHECK(flow_new(w.gate, FLOW_DIRECT) == NULL);
	(void)close(relay_connect_port(&w, w.port));
	CHECK_INT(relay_answer(&w, 1), ENOBUFS);
	const struct ledger_entry *e = relay_entry(&w, NET_OP_CONNECT, NET_FAILED);
	REQUIRE(e != NULL);
	CHECK_STR(e->why, "too many connections at once");
	CHECK_INT(relay_accept(&w), -1);
	flow_close(&w.gate->flows[7]);
	int program, server;
	REQUIRE(pair_up(&w, &program, &server));
	CHECK_INT(relay_await_answer(&w, 1), 0);
	(void)close(program);
	(void)close(server);
	relay_end(&w);
}

TEST(a_call_without_a_socket_fails_with_enobufs) {
	struct relay w;
	REQUIRE(relay_begin(&w));
	flow_begin(w.gate, &(struct wire){.id = 1, .to = relay_ip, .port = w.port}, -1);
	CHECK_INT(relay_answer(&w, 1), ENOBUFS);
	CHECK_INT(w.gate->nflows, 0);
	const struct ledger_entry *e = relay_entry(&w, NET_OP_CONNECT, NET_FAILED);
	REQUIRE(e != NULL);
	CHECK_STR(e->why, "too many open files");
	relay_end(&w);
}

TEST(a_ticket_finds_its_flow_and_not_the_next_one_in_that_slot) {
	struct relay w;
	REQUIRE(relay_begin(&w));
	struct flow *f = flow_new(w.gate, FLOW_DIRECT);
	uint64_t ticket = flow_ticket(f);
	CHECK(flow_by_ticket(w.gate, ticket) == f);
	flow_close(f);
	CHECK(flow_by_ticket(w.gate, ticket) == NULL);
	CHECK(flow_new(w.gate, FLOW_DIRECT) == f);
	CHECK(flow_by_ticket(w.gate, ticket) == NULL);
	CHECK(flow_by_ticket(w.gate, flow_ticket(f)) == f);
	CHECK(flow_by_ticket(w.gate, GATE_FLOWS) == NULL);
	relay_end(&w);
}

TEST(a_flow_that_ends_before_its_answer_refuses_the_call) {
	struct relay w;
	REQUIRE(relay_begin(&w));
	struct flow *f = flow_new(w.gate, FLOW_DIRECT);
	f->id = 9;
	flow_close(f);
	CHECK_INT(relay_answer(&w, 9), ECONNREFUSED);
	flow_close(f); /* no second end */
	CHECK_INT(w.gate->nflows, 0);
	CHECK_INT(w.gate->nfree_flows, GATE_FLOWS);
	relay_end(&w);
}

TEST(a_port_of_the_host_is_connected_only_if_it_is_passed) {
	struct relay w;
	REQUIRE(relay_begin(&w));
	w.net.nallow = 0; /* no rule */
	(void)close(relay_connect_port(&w, w.port));
	CHECK_INT(relay_answer(&w, 1), EACCES);
	CHECK_INT(relay_accept(&w), -1);
	w.host_ports[0] = w.port;
	w.net.nhost_ports = 1;
	/* Other addresses of the loopback have other services. */
	(void)close(relay_connect(&w, &(struct wire){.id = 1, .to = relay_ip2, .port = w.port}));
	CHECK_INT(relay_answer(&w, 1), EACCES);
	int program, server;
	REQUIRE(pair_up(&w, &program, &server));
	CHECK_INT(relay_await_answer(&w, 1), 0);
	(void)close(program);
	(void)close(server);
	relay_end(&w);
}

TEST(the_loop_ends_with_the_last_flow_after_the_sandbox) {
	struct relay w;
	REQUIRE(relay_begin(&w));
	struct flow *one = flow_new(w.gate, FLOW_DIRECT), *two = flow_new(w.gate, FLOW_DIRECT);
	w.gate->ending = true;
	flow_close(one);
	CHECK(!w.gate->loop.over);
	flow_close(two);
	CHECK(w.gate->loop.over);
	relay_end(&w);
}

TESTS_MAIN
