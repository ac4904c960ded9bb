/* SPDX-License-Identifier: Apache-2.0 */
/* The gate's HTTP and SOCKS proxies: their answers, and the bytes that the origin receives. */
#include "relay_world.h"

/* A program that is connected to a proxy. */
static struct inbox program_of(struct relay *w, uint16_t proxy) {
	struct inbox in = {.fd = relay_connect_port(w, proxy)};

	CHECK_INT(relay_await_answer(w, 1), 0);
	return in;
}

static int await_server(struct relay *w) {
	int server = -1;

	for (int i = 0; i < RELAY_TURNS && server < 0; i++) {
		relay_turn(w);
		server = relay_accept(w);
	}
	return server;
}

/* ---- HTTP ---- */

/* One request that the proxy answers itself and then closes, with FIN: an RST could discard the
 * answer. */
static void check_status(struct relay *w, const char *request, const char *status) {
	struct inbox in = program_of(w, NET_PROXY_HTTP);

	CHECK(relay_send(in.fd, request));
	UNTIL(w, inbox_ended(&in));
	in.text[strcspn(in.text, "\r")] = '\0';
	CHECK_STR(in.text, status);
	CHECK_INT(w->gate->nflows, 0);
	CHECK_INT(relay_accept(w), -1);
	CHECK_INT(in.error, 0);
	(void)close(in.fd);
}

TEST(a_name_without_a_rule_is_answered_with_403_and_recorded) {
	struct relay w;
	REQUIRE(relay_begin(&w));
	check_status(&w, "CONNECT other.example:443 HTTP/1.0\r\n\r\n", "HTTP/1.1 403 Forbidden");
	const struct ledger_entry *e = relay_entry(&w, NET_OP_PROXY, NET_DENIED);
	REQUIRE(e != NULL);
	CHECK_STR(e->name, "other.example");
	CHECK_INT(e->port, 443);
	CHECK(!e->has_ip); /* it was not resolved */
	check_status(&w, "GET http://other.example/ HTTP/1.1\r\nHost: other.example\r\n\r\n",
		     "HTTP/1.1 403 Forbidden");
	check_status(&w,
		     "POST http://other.example/ HTTP/1.1\r\nHost: other.example\r\n"
		     "Content-Length: 4\r\n\r\nbody",
		     "HTTP/1.1 403 Forbidden");
	relay_end(&w);
}

TEST(an_allowed_name_at_a_refused_address_is_answered_with_403) {
	struct relay w;
	REQUIRE(relay_begin(&w));
	/* 127.0.0.1, which is listed for other ports only. */
	check_status(&w, "CONNECT allowed.example:443 HTTP/1.0\r\n\r\n", "HTTP/1.1 403 Forbidden");
	const struct ledger_entry *e = relay_entry(&w, NET_OP_PROXY, NET_DENIED);
	REQUIRE(e != NULL);
	CHECK(e->has_ip && ip_same(&e->ip, &relay_ip));
	relay_end(&w);
}

TEST(a_request_that_is_not_for_a_proxy_is_answered_with_400) {
	struct relay w;
	REQUIRE(relay_begin(&w));
	check_status(&w, "GET / HTTP/1.1\r\nHost: allowed.example\r\n\r\n",
		     "HTTP/1.1 400 Bad Request");
	check_status(&w, "nonsense\r\n\r\n", "HTTP/1.1 400 Bad Request");
	relay_end(&w);
}

TEST(a_host_that_refuses_is_answered_with_502) {
	struct relay w;
	char request[128];
	REQUIRE(relay_begin(&w));
	(void)snprintf(request, sizeof request, "CONNECT allowed.example:%d HTTP/1.0\r\n\r\n",
		       w.refuses_port);
	check_status(&w, request, "HTTP/1.1 502 Bad Gateway");
	const struct ledger_entry *e = relay_entry(&w, NET_OP_CONNECT, NET_FAILED);
	REQUIRE(e != NULL);
	CHECK_STR(e->why, "the host refused the connection");
	relay_end(&w);
}

TEST(a_head_that_is_too_long_is_answered_with_431) {
	struct relay w;
	static char head[HTTP_HEAD_MAX + 1]; /* without its end */
	REQUIRE(relay_begin(&w));
	size_t at = (size_t)snprintf(head, sizeof head, "GET http://allowed.example/ HTTP/1.1\r\n");
	while (at < sizeof head - 64) {
		at += (size_t)snprintf(head + at, sizeof head - at, "Field: %032d\r\n", 0);
	}
	memset(head + at, 'x', sizeof head - 1 - at);
	struct inbox in = program_of(&w, NET_PROXY_HTTP);
	size_t sent = 0;
	for (int i = 0; i < RELAY_TURNS && w.gate->nflows > 0; i++) {
		ssize_t n = send(in.fd, head + sent, strlen(head) - sent, MSG_NOSIGNAL);
		sent += n > 0 ? (size_t)n : 0;
		relay_turn(&w);
	}
	CHECK_INT(w.gate->nflows, 0);
	UNTIL(&w, inbox_ended(&in));
	CHECK(strncmp(in.text, "HTTP/1.1 431 ", 13) == 0);
	CHECK_INT(in.error, 0);
	(void)close(in.fd);
	relay_end(&w);
}

TEST(a_tunnel_is_granted_and_forwards_both_ways) {
	struct relay w;
	char request[128];
	REQUIRE(relay_begin(&w));
	struct inbox in = program_of(&w, NET_PROXY_HTTP);
	(void)snprintf(request, sizeof request, "CONNECT 127.0.0.1:%d HTTP/1.0\r\n\r\nfirst",
		       w.port);
	CHECK(relay_send(in.fd, request));
	struct inbox server = {.fd = await_server(&w)};
	static const char granted[] = "HTTP/1.1 200 Connection established\r\n\r\n";
	UNTIL(&w, inbox_has(&in, strlen(granted)));
	CHECK_STR(in.text, granted);
	UNTIL(&w, inbox_has(&server, 5)); /* the bytes after the head, and not the head */
	CHECK_STR(server.text, "first");
	CHECK(relay_send(server.fd, "back"));
	UNTIL(&w, inbox_has(&in, strlen(granted) + 4));
	(void)close(in.fd);
	(void)close(server.fd);
	relay_end(&w);
}

/* The name of the request, and no other, may be in the tunnel. */
TEST(a_tunnel_to_a_name_is_inspected) {
	struct relay w;
	char text[256];
	REQUIRE(relay_begin(&w));
	struct inbox in = program_of(&w, NET_PROXY_HTTP);
	(void)snprintf(text, sizeof text, "CONNECT allowed.example:%d HTTP/1.0\r\n\r\n", w.port);
	CHECK(relay_send(in.fd, text));
	struct inbox server = {.fd = await_server(&w)};
	(void)snprintf(text, sizeof text, "GET / HTTP/1.1\r\nHost: two.example:%d\r\n\r\n", w.port);
	CHECK(relay_send(in.fd, text));
	UNTIL(&w, inbox_ended(&server));
	CHECK_INT(server.len, 0);
	const struct ledger_entry *e = relay_entry(&w, NET_OP_REQUEST, NET_DENIED);
	REQUIRE(e != NULL);
	CHECK_STR(e->name, "two.example");
	(void)close(in.fd);
	(void)close(server.fd);
	relay_end(&w);
}

TEST(a_request_is_rewritten_and_a_second_one_is_not_forwarded) {
	struct relay w;
	char text[512];
	REQUIRE(relay_begin(&w));
	struct inbox in = program_of(&w, NET_PROXY_HTTP);
	(void)snprintf(text, sizeof text,
		       "GET http://allowed.example:%d/path HTTP/1.1\r\n"
		       "Host: allowed.example:%d\r\nProxy-Authorization: secret\r\n"
		       "Proxy-Connection: keep-alive\r\nX-Kept: yes\r\n\r\n",
		       w.port, w.port);
	CHECK(relay_send(in.fd, text));
	CHECK(relay_send(in.fd, text));
	struct inbox server = {.fd = await_server(&w)};
	UNTIL(&w, inbox_has(&server, 20) && strstr(server.text, "\r\n\r\n") != NULL);
	CHECK(relay_send(server.fd, "HTTP/1.1 200 OK\r\n\r\nanswer"));
	CHECK_INT(shutdown(server.fd, SHUT_WR), 0);
	UNTIL(&w, inbox_has(&in, 25));
	UNTIL(&w, inbox_ended(&server));
	CHECK(strncmp(server.text, "GET /path HTTP/1.1\r\n", 20) == 0);
	CHECK(strstr(server.text, "X-Kept: yes\r\n") != NULL);
	CHECK(strstr(server.text, "Proxy-") == NULL);
	CHECK(strstr(server.text + 1, "GET ") == NULL);
	(void)close(in.fd);
	(void)close(server.fd);
	relay_end(&w);
}

/* ---- the buffers for rewritten heads ---- */

TEST(a_request_beyond_the_last_buffer_is_answered_with_503) {
	struct relay w;
	static const char request[] =
		"GET http://other.example/ HTTP/1.1\r\nHost: other.example\r\n\r\n";
	REQUIRE(relay_begin(&w));
	for (size_t i = 0; i < GATE_STASHES; i++) {
		w.gate->stash_used[i] = true;
	}
	check_status(&w, request, "HTTP/1.1 503 Service Unavailable");
	w.gate->stash_used[GATE_STASHES - 1] = false;
	check_status(&w, request, "HTTP/1.1 403 Forbidden");
	CHECK(!w.gate->stash_used[GATE_STASHES - 1]); /* the flow has returned it */
	relay_end(&w);
}

TEST(a_buffer_is_free_again_when_the_head_was_sent) {
	struct relay w;
	char text[256];
	REQUIRE(relay_begin(&w));
	struct inbox in = program_of(&w, NET_PROXY_HTTP);
	(void)snprintf(text, sizeof text,
		       "GET http://127.0.0.1:%d/ HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n", w.port,
		       w.port);
	CHECK(relay_send(in.fd, text));
	struct inbox server = {.fd = await_server(&w)};
	UNTIL(&w, inbox_has(&server, 16));
	CHECK_INT(w.gate->nflows, 1);
	for (size_t i = 0; i < GATE_STASHES; i++) {
		CHECK(!w.gate->stash_used[i]);
	}
	(void)close(in.fd);
	(void)close(server.fd);
	relay_end(&w);
}

/* ---- every result of a dial ---- */

TEST(each_result_of_a_dial_has_its_answer) {
	static const struct {
		int error;
		const char *status;
		int socks;
	} cases[] = {
		{EACCES, "HTTP/1.1 403 ", 2},       {ECONNREFUSED, "HTTP/1.1 502 ", 5},
		{EHOSTUNREACH, "HTTP/1.1 502 ", 4}, {ENETUNREACH, "HTTP/1.1 502 ", 4},
		{ETIMEDOUT, "HTTP/1.1 504 ", 4},    {ENOBUFS, "HTTP/1.1 502 ", 1},
	};
	struct relay w;
	REQUIRE(relay_begin(&w));
	for (size_t i = 0; i < 2 * ARRAY_LEN(cases); i++) {
		int pair[2];
		bool http = i % 2 == 0;
		REQUIRE(relay_tcp_pair(&w, pair));
		struct flow *f = flow_new(w.gate, http ? FLOW_HTTP : FLOW_SOCKS);
		struct inbox in = {.fd = pair[0]};
		f->client.fd = pair[1];
		f->socks.version = 5;
		f->dial_error = cases[i / 2].error;
		proxy_dialled(f);
		UNTIL(&w, inbox_ended(&in));
		CHECK_INT(in.error, 0);
		if (http) {
			CHECK(strncmp(in.text, cases[i / 2].status, 13) == 0);
		} else {
			CHECK_INT(in.len, 10);
			CHECK_INT(in.text[0], 5);
			CHECK_INT(in.text[1], cases[i / 2].socks);
		}
		CHECK_INT(w.gate->nflows, 0);
		(void)close(in.fd);
	}
	relay_end(&w);
}

/* ---- SOCKS ---- */

/* SOCKS 5 for a name: greeting and request at once. */
static struct inbox socks5(struct relay *w, const char *name, uint16_t port) {
	struct inbox in = program_of(w, NET_PROXY_SOCKS);
	uint8_t m[300] = {5, 1, 0, 5, 1, 0, 3};
	size_t len = strlen(name);

	m[7] = (uint8_t)len;
	memcpy(m + 8, name, len);
	m[8 + len] = (uint8_t)(port >> 8);
	m[9 + len] = (uint8_t)port;
	CHECK_INT(send(in.fd, m, len + 10, MSG_NOSIGNAL), len + 10);
	UNTIL(w, inbox_has(&in, 12));
	CHECK(in.text[0] == 5 && in.text[1] == 0); /* no authentication */
	CHECK_INT(in.text[2], 5);
	return in;
}

TEST(socks_5_replies_with_the_code_of_the_result) {
	struct relay w;
	REQUIRE(relay_begin(&w));
	struct inbox in = socks5(&w, "other.example", w.port);
	CHECK_INT(in.text[3], 2); /* not allowed by ruleset */
	UNTIL(&w, inbox_ended(&in));
	(void)close(in.fd);
	in = socks5(&w, "allowed.example", w.refuses_port);
	CHECK_INT(in.text[3], 5); /* connection refused */
	UNTIL(&w, inbox_ended(&in));
	(void)close(in.fd);
	CHECK_INT(relay_accept(&w), -1);
	in = socks5(&w, "allowed.example", w.port);
	CHECK_INT(in.text[3], 0);
	struct inbox server = {.fd = await_server(&w)};
	CHECK(relay_send(server.fd, "back"));
	UNTIL(&w, inbox_has(&in, 16));
	CHECK_STR(in.text + 12, "back");
	(void)close(in.fd);
	(void)close(server.fd);
	relay_end(&w);
}

TEST(socks_4_replies_with_its_own_codes) {
	struct relay w;
	REQUIRE(relay_begin(&w));
	for (int i = 0; i < 2; i++) {
		uint16_t port = i == 0 ? w.port : w.refuses_port;
		const uint8_t m[] = {4, 1, (uint8_t)(port >> 8), (uint8_t)port, 127, 0, 0, 1, 0};
		struct inbox in = program_of(&w, NET_PROXY_SOCKS);
		CHECK_INT(send(in.fd, m, sizeof m, MSG_NOSIGNAL), sizeof m);
		UNTIL(&w, inbox_has(&in, 8));
		CHECK_INT(in.text[0], 0);
		CHECK_INT(in.text[1], i == 0 ? 0x5a : 0x5b);
		(void)close(in.fd);
	}
	relay_end(&w);
}

TEST(urgent_data_in_a_request_resets_it) {
	struct relay w;
	REQUIRE(relay_begin(&w));
	struct inbox in = program_of(&w, NET_PROXY_HTTP);
	CHECK_INT(send(in.fd, "GET", 3, MSG_NOSIGNAL | MSG_OOB), 3);
	UNTIL(&w, inbox_ended(&in));
	CHECK_INT(in.error, ECONNRESET);
	CHECK_INT(in.len, 0);
	(void)close(in.fd);
	relay_end(&w);
}

TESTS_MAIN
