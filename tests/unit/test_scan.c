/* SPDX-License-Identifier: Apache-2.0 */
/* scan.net in the gate: which bytes leave, and when.  The test is the supervisor that answers. */
#include "relay_world.h"

#include <stdio.h>

struct scanned {
	struct relay relay;
	int line; /* the supervisor's end */
	struct scan_question question;
	char data[SCAN_BYTES + 1];
	size_t len;
};

static bool scanned_begin(struct scanned *w, bool holds) {
	int line[2];

	if (!relay_begin(&w->relay) ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, line) != 0) {
		return false;
	}
	struct gate *g = w->relay.gate;
	w->line = line[1];
	g->scans = true;
	g->scan_holds = holds;
	g->scanner = (struct loop_watch){.fd = line[0], .ready = scan_ready};
	return loop_add(&g->loop, &g->scanner, EPOLLIN) == 0;
}

static void scanned_end(struct scanned *w) {
	drop_fd(&w->relay.gate->scanner.fd);
	drop_fd(&w->line);
	relay_end(&w->relay);
}

/* A program that is connected to the origin; *ret: the origin's end. */
static int open_flow(struct scanned *w, struct inbox *ret) {
	int program = relay_connect_port(&w->relay, w->relay.port);

	CHECK_INT(relay_await_answer(&w->relay, 1), 0);
	*ret = (struct inbox){.fd = relay_accept(&w->relay)};
	CHECK(ret->fd >= 0);
	return program;
}

static bool asked(struct scanned *w) {
	if (scan_question_receive(w->line, &w->question, w->data, &w->len) != 1) {
		return false;
	}
	w->data[w->len] = '\0';
	return true;
}

static bool await_question(struct scanned *w) {
	for (int i = 0; i < RELAY_TURNS; i++) {
		if (asked(w)) {
			return true;
		}
		relay_turn(&w->relay);
	}
	return false;
}

static void answer(struct scanned *w, uint64_t clean, bool refused) {
	struct scan_answer a = {.ticket = w->question.ticket, .clean = clean, .refused = refused};

	scan_answer_send(w->line, &a);
}

/* Everything that the origin has when nothing more happens. */
static void check_arrived(struct scanned *w, struct inbox *origin, const char *text) {
	UNTIL(&w->relay, inbox_has(origin, strlen(text)));
	relay_rest(&w->relay);
	inbox_read(origin);
	origin->text[origin->len] = '\0';
	CHECK_STR(origin->text, text);
}

#define HEAD "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n"

TEST(T4_no_byte_leaves_before_its_answer) {
	struct scanned w;
	struct inbox origin;
	REQUIRE(scanned_begin(&w, true));
	int program = open_flow(&w, &origin);

	CHECK(relay_send(program, HEAD "01234"));
	CHECK(await_question(&w));
	CHECK_STR(w.data, HEAD);
	CHECK_INT(w.question.flags, SCAN_FIRST | SCAN_END | SCAN_ANSWER);
	CHECK_INT(w.question.line, strlen("POST /"));
	check_arrived(&w, &origin, "");
	answer(&w, 0, false);
	CHECK(await_question(&w));
	CHECK_STR(w.data, "01234");
	CHECK_INT(w.question.part, SCAN_BODY);
	check_arrived(&w, &origin, HEAD);
	answer(&w, 3, false);
	check_arrived(&w, &origin, HEAD "012");
	CHECK(relay_send(program, "56789"));
	CHECK(await_question(&w));
	CHECK_STR(w.data, "56789");
	CHECK_INT(w.question.flags, SCAN_END | SCAN_ANSWER);
	check_arrived(&w, &origin, HEAD "012");
	answer(&w, 10, false);
	check_arrived(&w, &origin, HEAD "0123456789");
	CHECK(relay_send(program, "GET /next HTTP/1.1\r\nHost: a\r\n\r\n"));
	CHECK(await_question(&w));
	CHECK_INT(w.question.part, SCAN_HEAD);
	(void)close(program);
	(void)close(origin.fd);
	scanned_end(&w);
}

#define CHUNKED "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"

TEST(the_framing_of_chunks_leaves_with_the_content_around_it) {
	struct scanned w;
	struct inbox origin;
	REQUIRE(scanned_begin(&w, true));
	int program = open_flow(&w, &origin);

	CHECK(relay_send(program, CHUNKED));
	CHECK(await_question(&w));
	answer(&w, 0, false);
	CHECK(relay_send(program, "3\r\nabc\r\n2;x=y\r\nde\r\n"));
	CHECK(await_question(&w));
	CHECK_STR(w.data, ";x=y");
	CHECK_INT(w.question.part, SCAN_TEXT);
	CHECK(await_question(&w));
	CHECK_INT(w.question.flags, SCAN_END);
	CHECK(await_question(&w));
	CHECK_STR(w.data, "abcde");
	answer(&w, 4, false);
	check_arrived(&w, &origin, CHUNKED "3\r\nabc\r\n2;x=y\r\nd");
	CHECK(relay_send(program, "0\r\nT: v\r\n\r\n"));
	CHECK(await_question(&w));
	CHECK_STR(w.data, "T: v");
	CHECK(await_question(&w)); /* the end of the line */
	CHECK(await_question(&w));
	CHECK_INT(w.question.flags, SCAN_END | SCAN_ANSWER);
	answer(&w, 5, false);
	check_arrived(&w, &origin, CHUNKED "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nT: v\r\n\r\n");
	(void)close(program);
	(void)close(origin.fd);
	scanned_end(&w);
}

TEST(a_refused_request_is_answered_with_403_and_recorded) {
	struct scanned w;
	struct inbox origin;
	REQUIRE(scanned_begin(&w, true));
	struct inbox program = {.fd = open_flow(&w, &origin)};

	CHECK(relay_send(program.fd, HEAD "0123456789"));
	CHECK(await_question(&w));
	answer(&w, 0, true);
	UNTIL(&w.relay, inbox_ended(&program));
	CHECK(strstr(program.text, " 403 ") != NULL);
	CHECK_INT(program.error, 0);
	UNTIL(&w.relay, inbox_ended(&origin));
	CHECK_INT(origin.len, 0);
	const struct ledger_entry *e = relay_entry(&w.relay, NET_OP_REQUEST, NET_DENIED);
	REQUIRE(e != NULL);
	CHECK(e->leak);
	(void)close(program.fd);
	(void)close(origin.fd);
	scanned_end(&w);
}

TEST(with_warn_nothing_waits) {
	struct scanned w;
	struct inbox origin;
	REQUIRE(scanned_begin(&w, false));
	int program = open_flow(&w, &origin);

	CHECK(relay_send(program, HEAD "01234"));
	check_arrived(&w, &origin, HEAD "01234");
	CHECK(asked(&w) && (w.question.flags & SCAN_ANSWER) == 0);
	CHECK(asked(&w));
	CHECK_STR(w.data, "01234");
	(void)close(program);
	(void)close(origin.fd);
	scanned_end(&w);
}

TEST(requests_beyond_the_slots_wait_for_one) {
	enum { MORE = SCAN_SLOTS + 3 };
	struct scanned w;
	struct inbox origins[MORE];
	int programs[MORE];
	size_t questions = 0;
	REQUIRE(scanned_begin(&w, true));

	for (size_t i = 0; i < MORE; i++) {
		programs[i] = open_flow(&w, &origins[i]);
		CHECK(relay_send(programs[i], "GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
	}
	relay_rest(&w.relay);
	for (; asked(&w); questions++) {
	}
	CHECK_INT(questions, SCAN_SLOTS);
	CHECK_INT(w.relay.gate->nstalled, 3);
	/* A program that ends while its answer is awaited leaves its slot at once; the answer is
	 * ignored. */
	(void)close(programs[SCAN_SLOTS - 1]);
	relay_send_reset(origins[SCAN_SLOTS - 1].fd);
	relay_rest(&w.relay);
	answer(&w, 0, false);
	CHECK(await_question(&w));
	CHECK_INT(w.question.flags, SCAN_FIRST | SCAN_END | SCAN_ANSWER);
	for (size_t i = 0; i < MORE; i++) {
		if (i != SCAN_SLOTS - 1) {
			(void)close(programs[i]);
			(void)close(origins[i].fd);
		}
	}
	scanned_end(&w);
}

TEST(other_protocols_and_tls_pass_unread) {
	struct scanned w;
	struct inbox origin;
	REQUIRE(scanned_begin(&w, true));
	int program = open_flow(&w, &origin);

	CHECK(relay_send(program, "\x16\x03\x01 not a hello, and no name is needed"));
	check_arrived(&w, &origin, "\x16\x03\x01 not a hello, and no name is needed");
	CHECK(!asked(&w));
	(void)close(program);
	(void)close(origin.fd);
	scanned_end(&w);
}

TESTS_MAIN
