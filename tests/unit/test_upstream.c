/* SPDX-License-Identifier: Apache-2.0 */
/* The upstream of a flow: which addresses the gate dials, and the result of a dial. */
#include "relay_world.h"

#include "base/clock.h"

/* A public address, which no test dials. */
static const struct ip public_ip = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 93, 184, 216, 34}};

TEST(a_refused_dial_answers_with_its_errno_and_is_recorded) {
	struct relay w;
	REQUIRE(relay_begin(&w));
	int program = relay_connect_port(&w, w.refuses_port);
	CHECK_INT(relay_await_answer(&w, 1), ECONNREFUSED);
	CHECK_INT(w.gate->nflows, 0);
	const struct ledger_entry *e = relay_entry(&w, NET_OP_CONNECT, NET_FAILED);
	REQUIRE(e != NULL);
	CHECK_STR(e->why, "the host refused the connection");
	CHECK_STR(e->rule, "the closed port");
	CHECK_INT(e->port, w.refuses_port);
	(void)close(program);
	relay_end(&w);
}

/* Fails with EACCES, is not dialled, and the ledger has a refusal. */
static const struct ledger_entry *refused(struct relay *w, const struct ip *ip) {
	int program = relay_connect(w, &(struct wire){.id = 1, .to = *ip, .port = w->port});

	CHECK_INT(relay_await_answer(w, 1), EACCES);
	CHECK_INT(relay_accept(w), -1);
	CHECK_INT(w->gate->nflows, 0);
	CHECK(relay_entry(w, NET_OP_CONNECT, NET_ALLOWED) == NULL);
	(void)close(program);
	return relay_entry(w, NET_OP_CONNECT, NET_DENIED);
}

TEST(an_address_without_a_rule_is_not_dialled) {
	struct relay w;
	REQUIRE(relay_begin(&w));
	w.allow[0].port = w.refuses_port; /* the address, but another port */
	const struct ledger_entry *e = refused(&w, &relay_ip);
	REQUIRE(e != NULL);
	CHECK_STR(e->rule, "");
	CHECK(e->has_ip && ip_same(&e->ip, &relay_ip));
	relay_end(&w);
}

TEST(a_denied_address_is_not_dialled_though_it_is_allowed) {
	struct relay w;
	REQUIRE(relay_begin(&w));
	w.deny[0] = relay_rule_ip(&relay_ip, NET_PORT_ANY, "no loopback");
	w.net.ndeny = 1;
	const struct ledger_entry *e = refused(&w, &relay_ip);
	REQUIRE(e != NULL);
	CHECK_STR(e->rule, "no loopback");
	relay_end(&w);
}

TEST(a_rule_for_a_network_does_not_include_this_host) {
	struct relay w;
	REQUIRE(relay_begin(&w));
	w.allow[0].network.bits = 96 + 8; /* 127.0.0.0/8 */
	const struct ledger_entry *e = refused(&w, &relay_ip);
	REQUIRE(e != NULL);
	CHECK_STR(e->why, "the address belongs to this host");
	CHECK(e->own);
	relay_end(&w);
}

TEST(an_allowed_address_of_a_denied_name_is_not_dialled) {
	struct relay w;
	REQUIRE(relay_begin(&w));
	w.deny[0] = relay_rule_name("denied.example", NET_PORT_ANY);
	w.net.ndeny = 1;
	const struct ledger_entry *e = refused(&w, &relay_ip);
	REQUIRE(e != NULL);
	CHECK_STR(e->rule, "denied.example");
	CHECK_STR(e->why, "a host name in net.deny has this address");
	relay_end(&w);
}

/* ---- by name ---- */

static struct net_verdict judge(struct relay *w, uint16_t port, struct flow **ret) {
	*ret = flow_new(w->gate, FLOW_DIRECT);
	(*ret)->ip = public_ip;
	(*ret)->port = port;
	return upstream_judge(*ret);
}

TEST(an_address_is_allowed_by_a_name_that_was_resolved_to_it) {
	struct relay w;
	const struct alias_ports none = {.n = 0};
	struct flow *f;
	REQUIRE(relay_begin(&w));
	CHECK(!judge(&w, 443, &f).allowed);
	dns_names_add(&w.gate->names, &public_ip, "unknown.example", &none);
	CHECK(!judge(&w, 443, &f).allowed);
	CHECK(!f->by_name);
	CHECK_STR(f->name, "unknown.example");
	dns_names_add(&w.gate->names, &public_ip, "allowed.example", &none);
	CHECK(judge(&w, 443, &f).allowed);
	CHECK(f->by_name);
	CHECK_STR(f->name, "allowed.example");
	CHECK(f->rule == &w.allow[2]);
	w.allow[2].port = NET_PORT_WEB;
	CHECK(!judge(&w, 25, &f).allowed);
	relay_end(&w);
}

TEST(a_denied_port_of_an_alias_is_kept_with_the_address) {
	struct relay w;
	struct flow *f;
	REQUIRE(relay_begin(&w));
	w.deny[0] = relay_rule_name("alias.example", 443);
	const struct alias_ports denied = {.rules = {&w.deny[0]}, .n = 1};
	dns_names_add(&w.gate->names, &public_ip, "allowed.example", &denied);
	CHECK(judge(&w, 80, &f).allowed);
	struct net_verdict v = judge(&w, 443, &f);
	CHECK(!v.allowed);
	CHECK(v.rule == &w.deny[0]);
	CHECK_STR(v.why, judge_denied_alias);
	relay_end(&w);
}

/* ---- time-outs ---- */

/* A flow whose dial has no result yet. */
static struct flow *dialling(struct relay *w, int flags) {
	struct flow *f = flow_new(w->gate, FLOW_DIRECT);

	f->phase = PHASE_DIAL;
	f->id = 1;
	f->family = AF_INET;
	f->flags = flags;
	f->answer_early = (flags & O_NONBLOCK) != 0;
	f->ip = relay_ip;
	f->port = w->port;
	f->caller = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	return f;
}

/* The same for the first of two addresses, 127.0.0.2 and 127.0.0.1, of a name that is allowed. */
static struct flow *dialling_first(struct relay *w) {
	struct flow *f = dialling(w, O_NONBLOCK);

	f->ip = relay_ip2;
	f->by_name = true;
	f->rule = &w->allow[4];
	memcpy(f->name, "two.example", sizeof "two.example");
	return f;
}

static int accepted(struct relay *w) {
	int server = -1;

	UNTIL(w, server >= 0 || (server = relay_accept(w)) >= 0);
	return server;
}

TEST(a_blocking_call_fails_with_etimedout_after_the_time_to_dial) {
	struct relay w;
	REQUIRE(relay_begin(&w));
	upstream_timeout(dialling(&w, 0));
	CHECK_INT(relay_answer(&w, 1), ETIMEDOUT);
	const struct ledger_entry *e = relay_entry(&w, NET_OP_CONNECT, NET_FAILED);
	REQUIRE(e != NULL);
	CHECK_STR(e->why, "the host did not answer");
	CHECK_INT(w.gate->nflows, 0);
	relay_end(&w);
}

TEST(a_non_blocking_call_is_answered_before_the_dial_has_a_result) {
	struct relay w;
	REQUIRE(relay_begin(&w));
	struct flow *f = dialling(&w, O_NONBLOCK);
	int program = fcntl(f->caller, F_DUPFD_CLOEXEC, 0);
	upstream_timeout(f);
	CHECK_INT(relay_answer(&w, 1), EINPROGRESS);
	CHECK_INT(f->phase, PHASE_DIAL);
	CHECK(f->client.fd >= 0 && f->caller < 0);
	/* The dial fails later: the program, whose connect(2) has succeeded, sees RST. */
	struct inbox in = {.fd = program};
	upstream_timeout(f);
	UNTIL(&w, inbox_ended(&in));
	CHECK_INT(in.error, ECONNRESET);
	(void)close(program);
	relay_end(&w);
}

/* ---- SO_SNDTIMEO ---- */

/* A blocking connect(2) to the origin, as call 1. */
static int connect_limited(struct relay *w, long ms) {
	const struct timeval limit = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
	const struct wire call = {
		.kind = WIRE_CONNECT, .id = 1, .family = AF_INET, .to = relay_ip, .port = w->port};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	CHECK_INT(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit), 0);
	flow_begin(w->gate, &call, fcntl(fd, F_DUPFD_CLOEXEC, 0));
	return fd;
}

TEST(a_blocking_call_ends_with_einprogress_when_so_sndtimeo_expires_and_completes_later) {
	struct relay w;
	REQUIRE(relay_begin(&w));
	int first = relay_fill_backlog(&w);
	int64_t start = w.gate->loop.now; /* the gate counts from the begin of its turn */
	struct inbox in = {.fd = connect_limited(&w, 100)};
	CHECK_INT(relay_await_answer(&w, 1), EINPROGRESS);
	CHECK(clock_ms() - start >= 100);
	CHECK_INT(fcntl(in.fd, F_GETFL) & O_NONBLOCK, 0); /* as the program has set it */
	(void)close(relay_accept(&w));
	struct inbox server = {.fd = -1};
	/* The kernel retransmits the SYN. */
	UNTIL(&w, server.fd >= 0 || (server.fd = relay_accept(&w)) >= 0);
	CHECK(relay_send(in.fd, "there"));
	UNTIL(&w, inbox_has(&server, 5));
	CHECK(relay_send(server.fd, "back"));
	UNTIL(&w, inbox_has(&in, 4));
	(void)close(first);
	(void)close(in.fd);
	(void)close(server.fd);
	relay_end(&w);
}

TEST(a_dial_with_a_result_before_so_sndtimeo_expires_answers_with_success) {
	struct relay w;
	REQUIRE(relay_begin(&w));
	int program = connect_limited(&w, 60000);
	CHECK_INT(relay_await_answer(&w, 1), 0);
	(void)close(program);
	relay_end(&w);
}

TEST(a_second_address_of_the_name_is_dialled_when_the_first_does_not_answer) {
	struct relay w;
	REQUIRE(relay_begin(&w));
	struct flow *f = dialling_first(&w);
	int program = fcntl(f->caller, F_DUPFD_CLOEXEC, 0);
	upstream_timeout(f); /* answers the call */
	upstream_timeout(f); /* dials 127.0.0.1 */
	int server = accepted(&w);
	struct inbox in = {.fd = program};
	UNTIL(&w, f->phase == PHASE_OPEN);
	CHECK(relay_send(server, "hello"));
	UNTIL(&w, inbox_has(&in, 5));
	(void)close(program);
	(void)close(server);
	relay_end(&w);
}

TEST(a_second_address_of_the_name_is_dialled_when_the_first_refuses_at_once) {
	struct relay w;
	REQUIRE(relay_begin(&w));
	struct flow *f = dialling_first(&w);
	int program = fcntl(f->caller, F_DUPFD_CLOEXEC, 0);
	upstream_timeout(f); /* answers the call */
	upstream_connect(f); /* no server listens on 127.0.0.2: connect(2) fails in the call */
	int server = accepted(&w);
	UNTIL(&w, f->phase == PHASE_OPEN);
	(void)close(program);
	(void)close(server);
	relay_end(&w);
}

TEST(a_second_address_that_is_not_allowed_is_not_dialled) {
	struct relay w;
	REQUIRE(relay_begin(&w));
	struct flow *f = dialling_first(&w);
	w.allow[0].port = w.refuses_port; /* no rule for 127.0.0.1 at this port */
	upstream_timeout(f);
	upstream_timeout(f);
	relay_rest(&w);
	CHECK_INT(relay_accept(&w), -1);
	CHECK_INT(f->other.fd, -1);
	relay_end(&w);
}

TESTS_MAIN
