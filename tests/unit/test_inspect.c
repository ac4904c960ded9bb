/* SPDX-License-Identifier: Apache-2.0 */
/* Inspection of a flow that a name allows: TLS server names and HTTP hosts. */
#include "relay_world.h"

struct talk {
	struct relay w;
	struct flow *flow;
	struct inbox program, server; /* the far ends */
};

/* An open flow to allowed.example, at 127.0.0.1 and this port. */
static bool talk_begin(struct talk *t, uint16_t port) {
	int up[2], down[2];

	memset(t, 0, sizeof *t);
	if (!relay_begin(&t->w) || !relay_tcp_pair(&t->w, up) || !relay_tcp_pair(&t->w, down)) {
		return false;
	}
	struct flow *f = flow_new(t->w.gate, FLOW_DIRECT);
	t->flow = f;
	t->program.fd = up[0];
	t->server.fd = down[0];
	f->client.fd = up[1];
	f->server.fd = down[1];
	flow_tune(f->client.fd, true);
	flow_tune(f->server.fd, false);
	f->ip = relay_ip;
	f->port = port;
	f->by_name = true;
	f->rule = &t->w.allow[2];
	memcpy(f->name, "allowed.example", sizeof "allowed.example");
	flow_open(f);
	return f->phase == PHASE_OPEN;
}

static void talk_end(struct talk *t) {
	(void)close(t->program.fd);
	(void)close(t->server.fd);
	relay_end(&t->w);
}

/* A refusal with this reason; the server has received only the text that was allowed. */
static void check_refused(struct talk *t, const char *why, const char *received) {
	const struct ledger_entry *e;

	UNTIL(&t->w, t->w.gate->nflows == 0);
	UNTIL(&t->w, inbox_ended(&t->server));
	CHECK_STR(t->server.text, received);
	UNTIL(&t->w, inbox_ended(&t->program));
	e = relay_entry(&t->w, NET_OP_REQUEST, NET_DENIED);
	REQUIRE(e != NULL);
	CHECK_STR(e->why, why);
}

/* ---- TLS ---- */

#define HELLO_MAX 256

static size_t put(uint8_t *out, size_t at, const void *bytes, size_t len) {
	memcpy(out + at, bytes, len);
	return at + len;
}

static size_t put16(uint8_t *out, size_t at, size_t n) {
	return put(out, at, (const uint8_t[]){(uint8_t)(n >> 8), (uint8_t)n}, 2);
}

/* A ClientHello in one record. */
static size_t hello(uint8_t out[HELLO_MAX], const char *name) {
	size_t len = strlen(name), extension = len + 9, body = 43 + extension;
	size_t at = put(out, 0, "\x16\x03\x01", 3);

	at = put16(out, at, body + 4);
	at = put(out, at, "\x01\0", 2);
	at = put16(out, at, body);
	at = put(out, at, "\x03\x03", 2);
	at = put(out, at, "0123456789abcdef0123456789abcdef", 32);
	at = put(out, at, "\0\0\x02\x13\x01\x01\0", 7); /* session, ciphers, compression */
	at = put16(out, at, extension);
	at = put(out, at, "\0\0", 2); /* server_name */
	at = put16(out, at, len + 5);
	at = put16(out, at, len + 3);
	at = put(out, at, "\0", 1);
	at = put16(out, at, len);
	at = put(out, at, name, len);
	return at;
}

static bool send_hello(struct talk *t, const char *name, size_t *ret_len) {
	uint8_t bytes[HELLO_MAX];

	*ret_len = hello(bytes, name);
	return send(t->program.fd, bytes, *ret_len, MSG_NOSIGNAL) == (ssize_t)*ret_len;
}

TEST(a_tls_name_that_is_allowed_passes_and_then_all_bytes_do) {
	struct talk t;
	size_t len;
	uint8_t bytes[HELLO_MAX];
	REQUIRE(talk_begin(&t, 443));
	REQUIRE(send_hello(&t, "allowed.example", &len));
	UNTIL(&t.w, inbox_has(&t.server, len));
	CHECK_INT(hello(bytes, "allowed.example"), len);
	CHECK(memcmp(t.server.text, bytes, len) == 0);
	CHECK_INT(send(t.server.fd, "\x16\x03\x03\0\x01xyz", 8, MSG_NOSIGNAL), 8);
	UNTIL(&t.w, inbox_has(&t.program, 8));
	CHECK(relay_send(t.program.fd, "GET / HTTP/1.1\r\nHost: other.example\r\n\r\n"));
	UNTIL(&t.w, inbox_has(&t.server, len + 39));
	CHECK(relay_entry(&t.w, NET_OP_REQUEST, NET_DENIED) == NULL);
	talk_end(&t);
}

TEST(a_tls_name_that_is_not_allowed_is_refused_and_recorded) {
	struct talk t;
	size_t len;
	REQUIRE(talk_begin(&t, 443));
	REQUIRE(send_hello(&t, "other.example", &len));
	check_refused(&t, "no rule of net.allow matches this name", "");
	CHECK_INT(t.program.error, ECONNRESET);
	const struct ledger_entry *e = relay_entry(&t.w, NET_OP_REQUEST, NET_DENIED);
	REQUIRE(e != NULL);
	CHECK_STR(e->name, "other.example");
	CHECK_INT(e->port, 443);
	talk_end(&t);
}

TEST(an_allowed_tls_name_of_another_address_is_refused) {
	struct talk t;
	size_t len;
	REQUIRE(talk_begin(&t, 443));
	REQUIRE(send_hello(&t, "elsewhere.example", &len));
	check_refused(&t, "the client names this host on a connection to another host's address",
		      "");
	talk_end(&t);
}

/* The bytes that were inspected stay in the receive queue (G2). */
TEST(no_byte_of_a_hello_passes_before_it_is_complete) {
	struct talk t;
	uint8_t bytes[HELLO_MAX];
	size_t len = hello(bytes, "allowed.example");
	REQUIRE(talk_begin(&t, 443));
	CHECK_INT(send(t.program.fd, bytes, len - 1, MSG_NOSIGNAL), len - 1);
	UNTIL(&t.w, t.flow->low_water == len);
	CHECK(!inbox_has(&t.server, 1));
	CHECK_INT(send(t.program.fd, bytes + len - 1, 1, MSG_NOSIGNAL), 1);
	UNTIL(&t.w, inbox_has(&t.server, len));
	CHECK(memcmp(t.server.text, bytes, len) == 0);
	talk_end(&t);
}

TEST(a_server_that_answers_a_hello_without_tls_is_refused) {
	struct talk t;
	size_t len;
	REQUIRE(talk_begin(&t, 443));
	REQUIRE(send_hello(&t, "allowed.example", &len));
	UNTIL(&t.w, inbox_has(&t.server, len));
	CHECK(relay_send(t.server.fd, "HTTP/1.1 200 OK\r\n\r\nthe answer"));
	UNTIL(&t.w, t.w.gate->nflows == 0);
	UNTIL(&t.w, inbox_ended(&t.program));
	CHECK_INT(t.program.len, 0);
	CHECK(relay_entry(&t.w, NET_OP_REQUEST, NET_DENIED) != NULL);
	talk_end(&t);
}

/* ---- HTTP ---- */

#define ALLOWED "GET / HTTP/1.1\r\nHost: allowed.example\r\n\r\n"
#define OTHER "GET / HTTP/1.1\r\nHost: other.example\r\n\r\n"

TEST(a_request_with_another_host_is_answered_with_403) {
	struct talk t;
	REQUIRE(talk_begin(&t, 80));
	CHECK(relay_send(t.program.fd, OTHER));
	check_refused(&t, "no rule of net.allow matches this name", "");
	CHECK_INT(t.program.error, 0);
	CHECK(strncmp(t.program.text, "HTTP/1.1 403 Forbidden\r\n", 24) == 0);
	CHECK(strstr(t.program.text, "corral: other.example: no rule") != NULL);
	talk_end(&t);
}

TEST(every_request_of_a_connection_is_judged) {
	struct talk t;
	REQUIRE(talk_begin(&t, 80));
	CHECK(relay_send(t.program.fd, ALLOWED ALLOWED OTHER));
	check_refused(&t, "no rule of net.allow matches this name", ALLOWED ALLOWED);
	talk_end(&t);
}

/* After a byte of the server a 403 would be taken for a part of its answer. */
TEST(a_later_request_is_refused_with_a_reset) {
	struct talk t;
	REQUIRE(talk_begin(&t, 80));
	CHECK(relay_send(t.program.fd, ALLOWED));
	UNTIL(&t.w, inbox_has(&t.server, strlen(ALLOWED)));
	CHECK(relay_send(t.server.fd, "HTTP/1.1 200 OK\r\n"));
	UNTIL(&t.w, inbox_has(&t.program, 17));
	CHECK(relay_send(t.program.fd, OTHER));
	check_refused(&t, "no rule of net.allow matches this name", ALLOWED);
	CHECK_STR(t.program.text, "HTTP/1.1 200 OK\r\n");
	CHECK_INT(t.program.error, ECONNRESET);
	talk_end(&t);
}

TEST(a_host_is_refused_without_a_name_or_with_another_port) {
	static const struct {
		const char *request, *why;
	} cases[] = {
		{"GET / HTTP/1.1\r\nHost: allowed.example:81\r\n\r\n",
		 "the request names a port other than the connection's"},
		{"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
		 "the request names an address, not a host name"},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct talk t;
		REQUIRE(talk_begin(&t, 80));
		CHECK(relay_send(t.program.fd, cases[i].request));
		check_refused(&t, cases[i].why, "");
		talk_end(&t);
	}
}

TEST(a_request_whose_body_is_cut_off_is_refused) {
	struct talk t;
	REQUIRE(talk_begin(&t, 80));
	CHECK(relay_send(t.program.fd, "POST / HTTP/1.1\r\nHost: allowed.example\r\n"
				       "Content-Length: 5\r\n\r\nab"));
	CHECK_INT(shutdown(t.program.fd, SHUT_WR), 0);
	UNTIL(&t.w, t.w.gate->nflows == 0);
	const struct ledger_entry *e = relay_entry(&t.w, NET_OP_REQUEST, NET_DENIED);
	REQUIRE(e != NULL);
	CHECK_STR(e->why, "the client closed in the middle of a request");
	talk_end(&t);
}

/* ---- before a name, and other protocols ---- */

TEST(no_byte_of_the_server_arrives_before_the_client_has_named_a_host) {
	struct talk t;
	REQUIRE(talk_begin(&t, 80));
	CHECK(relay_send(t.server.fd, "banner"));
	relay_rest(&t.w);
	CHECK(!inbox_has(&t.program, 1));
	CHECK(relay_send(t.program.fd, ALLOWED));
	UNTIL(&t.w, inbox_has(&t.program, 6));
	CHECK_STR(t.program.text, "banner");
	talk_end(&t);
}

TEST(a_client_that_closes_before_a_name_gets_no_byte_of_the_server) {
	struct talk t;
	REQUIRE(talk_begin(&t, 443));
	CHECK(relay_send(t.server.fd, "banner"));
	CHECK_INT(shutdown(t.program.fd, SHUT_WR), 0);
	UNTIL(&t.w, t.w.gate->nflows == 0);
	UNTIL(&t.w, inbox_ended(&t.program));
	CHECK_INT(t.program.len, 0);
	talk_end(&t);
}

TEST(a_client_that_names_no_host_in_time_is_refused) {
	struct talk t;
	REQUIRE(talk_begin(&t, 443));
	CHECK(t.flow->alarm.place != 0);
	t.flow->alarm.ring(&t.flow->alarm);
	check_refused(&t, "the client named no host in time (TLS server name or HTTP Host)", "");
	talk_end(&t);
}

TEST(another_protocol_is_refused_on_the_web_ports_and_passes_on_others) {
	static const char binary[] = "\x01\x02\x03\x04\x05\x06\x07\x08";
	struct talk t;
	REQUIRE(talk_begin(&t, 443));
	CHECK(relay_send(t.program.fd, binary));
	UNTIL(&t.w, t.w.gate->nflows == 0);
	UNTIL(&t.w, inbox_ended(&t.server));
	CHECK_INT(t.server.len, 0);
	const struct ledger_entry *e = relay_entry(&t.w, NET_OP_REQUEST, NET_DENIED);
	REQUIRE(e != NULL);
	CHECK(e->unread); /* a rule for the address would allow it */
	talk_end(&t);

	REQUIRE(talk_begin(&t, 5432));
	CHECK(relay_send(t.program.fd, binary));
	UNTIL(&t.w, inbox_has(&t.server, 8));
	CHECK_STR(t.server.text, binary);
	talk_end(&t);
}

/* A first word may be all that the client sends, or the start of a request. */
TEST(a_word_that_was_forwarded_while_unsure_is_inspected_again) {
	struct talk t;
	REQUIRE(talk_begin(&t, 8080));
	CHECK(relay_send(t.program.fd, "GET"));
	UNTIL(&t.w, t.flow->unsure || t.flow->npassed > 0);
	UNTIL(&t.w, inbox_has(&t.server, 3)); /* after UNSURE_MS */
	CHECK_INT(t.flow->npassed, 3);
	CHECK(relay_send(t.program.fd, " / HTTP/1.1\r\nHost: other.example\r\n\r\n"));
	check_refused(&t, "no rule of net.allow matches this name", "GET");
	talk_end(&t);
}

TESTS_MAIN
