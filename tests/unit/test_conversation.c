/* SPDX-License-Identifier: Apache-2.0 */
/* The conversation state machine: conversation.h has the table. */
#include "test.h"

#include "base/auto.h"
#include "net/conversation.h"

#include <string.h>

#define GET "GET / HTTP/1.1\r\nHost: a.test\r\n"
#define SOCKET                                                                                     \
	GET "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"           \
	    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
#define SWITCHED                                                                                   \
	"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"        \
	"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"

static struct conversation talk;

static void begin(bool strict) {
	talk = (struct conversation){.strict = strict};
}

/* One call; bytes that did not pass are presented again with the next ones. */
static struct conversation_result say(const char *text) {
	return conversation_client(&talk, (const uint8_t *)text, strlen(text));
}

/* The whole text, in as many calls as needed; returns the bytes that passed.  SIZE_MAX: refused. */
static size_t passes(const char *text) {
	size_t len = strlen(text), at = 0;

	while (at < len && conversation_reads_client(&talk)) {
		struct conversation_result said = say(text + at);
		if (said.verdict == VERDICT_BAD) {
			return SIZE_MAX;
		}
		if (said.verdict != VERDICT_PASS) {
			return at;
		}
		at = said.pass > len - at ? len : at + (size_t)said.pass;
	}
	return talk.state == CONVERSATION_OPAQUE ? len : at;
}

static struct conversation_result answer(const char *text) {
	return conversation_server(&talk, (const uint8_t *)text, strlen(text), false);
}

/* ---- an upgrade ---- */

TEST(the_key_of_the_rfc_has_its_answer) {
	char accept[WEBSOCKET_ACCEPT];
	websocket_accept("dGhlIHNhbXBsZSBub25jZQ==", accept);
	CHECK(memcmp(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", sizeof accept) == 0);
}

TEST(a_web_socket_opens_with_the_answer_to_its_own_key) {
	begin(true);
	CHECK_INT(passes(SOCKET "\x81\x80"), strlen(SOCKET));
	CHECK_INT(talk.state, CONVERSATION_SWITCH);
	CHECK_INT(answer("HTTP/1.1 10").verdict, VERDICT_MORE);
	CHECK_INT(answer("HTTP/1.1 103 Early\r\nLink: <a>\r\n\r\nHTTP/1.1 101").verdict,
		  VERDICT_MORE);
	CHECK_INT(answer("HTTP/1.1 103 Early\r\nLink: <a>\r\n\r\n" SWITCHED).verdict, VERDICT_PASS);
	CHECK_INT(talk.state, CONVERSATION_SOCKET);
}

/* After a complete handshake only client frames pass, to the byte. */
TEST(a_web_socket_carries_frames_alone) {
	static const uint8_t two[] = "\x81\x85"
				     "abcdhello"
				     "\x82\xfe\x01\x00";
	static const uint8_t huge[] = "\x82\xff\x80\0\0\0\0\0\0\0", part[] = "\x82\xff\0";

	begin(true);
	(void)passes(SOCKET);
	(void)answer(SWITCHED);
	CHECK_INT(conversation_client(&talk, two, sizeof two - 1).pass, 11 + 8 + 256);
	CHECK_INT(conversation_client(&talk, two, 12).pass,
		  11); /* the second frame's header is incomplete */
	CHECK_INT(conversation_client(&talk, part, 1).verdict, VERDICT_MORE);
	CHECK_INT(conversation_client(&talk, part, 3).verdict, VERDICT_MORE);
	CHECK_INT(conversation_client(&talk, huge, 10).verdict, VERDICT_BAD);
	CHECK_INT(say(GET "\r\n").verdict, VERDICT_BAD);
	CHECK_INT(say("\r\n" GET "\r\n").verdict, VERDICT_BAD);
	CHECK_INT(say("\x81\x05hello").verdict, VERDICT_BAD); /* as a server sends it */
	CHECK_INT(talk.state, CONVERSATION_SOCKET);
}

TEST(an_answer_that_knows_no_key_opens_nothing) {
	static const char *const answers[] = {
		"HTTP/1.1 101 Switching Protocols\r\n\r\n",
		"HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: \r\n\r\n",
		"HTTP/1.1 101 X\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo\r\n\r\n",
		"HTTP/1.1 101 X\r\nSec-WebSocket-Accept: s3pplmbitxaq9kygzzhzrbk+xoo=\r\n\r\n",
	};
	for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
		begin(true);
		(void)passes(SOCKET);
		CHECK_INT(answer(answers[i]).verdict, VERDICT_BAD);
	}
}

TEST(another_status_switches_nothing) {
	static const char *const answers[] = {
		"HTTP/1.1 200 OK\r\n\r\n" SWITCHED,
		"HTTP/1.1 426 Upgrade Required\r\n\r\n",
		"HTTP/1.1 204 No\r\n\r\nHTTP/1.1 101 X\r\n\r\n",
		"x" SWITCHED,
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n" SWITCHED,
		"HTTP/1.1 100 Continue\n\n" SWITCHED,
		"HTTP/1.1 101 X\r\nSec-WebSocket-Accept: a\r\nSec-WebSocket-Accept: b\r\n\r\n",
	};
	for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
		begin(true);
		(void)passes(SOCKET);
		CHECK_INT(answer(answers[i]).verdict, VERDICT_PASS);
		CHECK_INT(talk.state, CONVERSATION_HEAD);
	}
}

TEST(an_upgrade_is_for_the_first_request_of_a_silent_server) {
	begin(true);
	CHECK_INT(passes(GET "\r\n" SOCKET), strlen(GET "\r\n" SOCKET));
	CHECK_INT(talk.state,
		  CONVERSATION_HEAD); /* behind a request that may have its answer to come */
	begin(false);
	talk.not_first = true; /* the server spoke first */
	CHECK_INT(passes(SOCKET), strlen(SOCKET));
	CHECK_INT(talk.state, CONVERSATION_HEAD);
	begin(true); /* a body may be anywhere when the answer comes */
	CHECK_INT(passes("POST / HTTP/1.1\r\nHost: a.test\r\nUpgrade: h2c\r\nContent-Length: "
			 "2\r\n\r\nab"),
		  strlen("POST / HTTP/1.1\r\nHost: a.test\r\nUpgrade: h2c\r\nContent-Length: "
			 "2\r\n\r\nab"));
	CHECK_INT(talk.state, CONVERSATION_HEAD);
	CHECK_INT(passes("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), SIZE_MAX);
}

TEST(a_protocol_that_nobody_judges_is_not_switched_to) {
	static const char *const asked[] = {
		GET "Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
		GET "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
		GET "Connection: Upgrade\r\nUpgrade: TLS/1.2\r\n\r\n",
	};
	for (size_t i = 0; i < ARRAY_LEN(asked); i++) {
		begin(true);
		CHECK_INT(passes(asked[i]), strlen(asked[i]));
		struct conversation_result said = answer(SWITCHED);
		CHECK(said.verdict == VERDICT_BAD && said.unread);
	}
}

/* ---- hosts ---- */

TEST(every_request_names_its_host_in_host) {
	begin(true);
	struct conversation_result said =
		say("GET http://a.test:8/ HTTP/1.1\r\nHost: a.test:8\r\n\r\nGET");
	CHECK(said.verdict == VERDICT_PASS && said.names && !said.tls);
	CHECK_STR(said.host.name, "a.test");
	CHECK_INT(said.port, 8);
	CHECK_INT(say("GET http://a.test/ HTTP/1.0\r\n\r\n").verdict, VERDICT_BAD);
	CHECK_INT(say("GET / HTTP/1.0\r\n\r\n").verdict, VERDICT_BAD);
	CHECK_INT(say("CONNECT a.test:80 HTTP/1.1\r\nHost: a.test\r\n\r\n").verdict, VERDICT_BAD);
}

/* ---- the first bytes ---- */

/* Lines and blanks before a request, as many as a server might skip. */
TEST(no_number_of_blank_lines_hides_a_request) {
	char text[1024];
	static const char *const lines[] = {"\r\n", "\n", " ", "\t", "\r"};
	for (size_t kind = 0; kind < ARRAY_LEN(lines); kind++) {
		for (size_t n = 0; n < 200; n++) {
			text[0] = '\0';
			for (size_t i = 0; i < n; i++) {
				(void)strncat(text, lines[kind], 2);
			}
			(void)strncat(text, "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n", 64);
			for (size_t len = 1; len <= strlen(text); len++) {
				begin(false);
				(void)conversation_client(&talk, (const uint8_t *)text, len);
				REQUIRE(talk.state != CONVERSATION_OPAQUE);
			}
		}
	}
}

TEST(another_protocol_passes_where_nothing_has_to_be_named) {
	begin(false);
	CHECK_INT(say("SSH-2.0-OpenSSH_9\r\n").verdict, VERDICT_PASS);
	CHECK_INT(talk.state, CONVERSATION_OPAQUE);
	begin(true);
	struct conversation_result said = say("SSH-2.0-OpenSSH_9\r\n");
	CHECK(said.verdict == VERDICT_BAD && said.unread);
	begin(false);
	CHECK_INT(say("GE").verdict, VERDICT_UNSURE);
	CHECK_INT(say("GET").verdict, VERDICT_UNSURE);
	/* Python serves these when the client ends there, and some servers end lines with CR. */
	CHECK_INT(say("GET /").verdict, VERDICT_MORE);
	CHECK_INT(say("GET http://a.test/ HTTP/1.1").verdict, VERDICT_MORE);
	CHECK_INT(say("PROPFIND /").verdict, VERDICT_MORE);
	CHECK_INT(say("X / HTTP/1.1\rHost: a.test\r\r").verdict, VERDICT_MORE);
	CHECK_INT(say("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").verdict, VERDICT_BAD);
}

/* ---- TLS ---- */

/* A hello that names a.test; the random bytes are the caller's, 32 of them. */
static size_t hello(uint8_t *out, const char random[static 32]) {
	static const uint8_t before[] = {22, 3, 1, 0, 62, 1, 0, 0, 58, 3, 3};
	static const uint8_t behind[] = {0, 0, 2, 19, 1, 1, 0, 0, 15, 0, 0, 0, 11, 0, 9, 0, 0, 6};

	memcpy(out, before, sizeof before);
	memcpy(out + sizeof before, random, 32);
	memcpy(out + sizeof before + 32, behind, sizeof behind);
	memcpy(out + sizeof before + 32 + sizeof behind, "a.test", 6);
	return sizeof before + 32 + sizeof behind + 6;
}

TEST(a_hello_passes_alone_until_the_server_answers_in_tls) {
	static const struct {
		const char *answer;
		enum conversation_verdict verdict;
		enum conversation_state state;
	} rows[] = {
		{"\x16", VERDICT_MORE, CONVERSATION_HELLO},
		{"\x16\x03\x03", VERDICT_PASS, CONVERSATION_OPAQUE},
		{"\x15\x03", VERDICT_PASS, CONVERSATION_OPAQUE},
		{"HTTP/1.1 400 Bad Request\r\n", VERDICT_BAD, CONVERSATION_OVER},
		{"\x16\x02", VERDICT_BAD, CONVERSATION_OVER},
	};
	uint8_t text[128];
	size_t len = hello(text, "rrrrrrrrrrrrrrrrrrrrrrrrrrrrrrrr");

	memcpy(text + len, " / HTTP/1.1\r\n", 14);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		begin(i % 2 == 0);
		CHECK_INT(conversation_client(&talk, text, len - 1).verdict, VERDICT_MORE);
		struct conversation_result said = conversation_client(&talk, text, len + 14);
		CHECK_INT(said.pass, len);
		CHECK(said.names && said.tls && strcmp(said.host.name, "a.test") == 0);
		CHECK_INT(conversation_client(&talk, text + len, 14).verdict, VERDICT_MORE);
		CHECK_INT(answer(rows[i].answer).verdict, rows[i].verdict);
		CHECK_INT(talk.state, rows[i].state);
	}
	begin(true);
	(void)conversation_client(&talk, text, len);
	CHECK_INT(conversation_server(&talk, text, 0, true).verdict,
		  VERDICT_PASS); /* EOF without a byte */
	CHECK_INT(talk.state, CONVERSATION_OVER);
}

/* To a server that takes any bytes for a method it would be one. */
TEST(a_hello_that_holds_a_request_is_refused) {
	uint8_t text[128];

	begin(false);
	CHECK_INT(conversation_client(&talk, text,
				      hello(text, " / HTTP/1.1\r\nHost: b.test\r\n\r\nxx"))
			  .verdict,
		  VERDICT_BAD);
	begin(false);
	CHECK_INT(conversation_client(&talk, text,
				      hello(text, " / http/2\r\nrrrrrrrrrrrrrrrrrrrrrrr"))
			  .verdict,
		  VERDICT_BAD);
	begin(false); /* as ALPN has it */
	CHECK_INT(conversation_client(&talk, text,
				      hello(text, "\x08http/1.1\x08http/1.0rrrrrrrrrrrrrr"))
			  .verdict,
		  VERDICT_PASS);
}

/* ---- bodies ---- */

#define BODY(method, body)                                                                         \
	method " / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n" body

TEST(a_body_that_a_server_could_ignore_does_not_begin_like_a_request) {
	static const char *const refused[] = {
		"GET / HTTP/1.1\r\nHost: b.test\r\n\r\n",
		"\r\n\r\nGET / HTTP/1.1\r\n",
		"x\r\nget  /\thttp/1.0\r\n",
		"GET /\r\n\r\n",
		"{\"a\": 1}\nPUT / HTTP/1.1\n",
		"a b c d HTTP/1.1",
		"GET\x85/\xa0HTTP/1.1\r\n", /* blanks to Python's split() */
		"FROB\x1c/\x1fHTTP/1.1\r\n",
	};
	static const char *const methods[] = {"GET",     "HEAD",     "DELETE",
					      "OPTIONS", "PROPFIND", "post"};
	char text[256];
	for (size_t m = 0; m < ARRAY_LEN(methods); m++) {
		for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
			(void)snprintf(
				text, sizeof text,
				"%s / HTTP/1.1\r\nHost: a.test\r\nContent-Length: %zu\r\n\r\n%s",
				methods[m], strlen(refused[i]), refused[i]);
			begin(true);
			CHECK(passes(text) == SIZE_MAX);
		}
		(void)snprintf(text, sizeof text,
			       "%s / HTTP/1.1\r\nHost: a.test\r\nContent-Length: "
			       "19\r\n\r\n{\"query\": \"HTTP/1\"}",
			       methods[m]);
		begin(true);
		CHECK_INT(passes(text), strlen(text));
	}
	begin(true);
	CHECK(passes(BODY("GET", "5;x / HTTP/1.1\r\nHost:\r\n0\r\n\r\n")) == SIZE_MAX);
	begin(true);
	CHECK(passes(BODY("POST", "5;x HTTP/1.1\r\nab / \r\n0\r\n\r\n")) != SIZE_MAX);
	begin(true);
	CHECK(passes(BODY("POST", "5 / HTTP/1.1\r\nHost:\r\n0\r\n\r\n")) == SIZE_MAX);
}

TEST(content_may_speak_of_requests_but_not_begin_with_one) {
	static const struct {
		const char *body;
		bool passes;
	} rows[] = {
		{"{\"line\": \"GET / HTTP/1.1\"}", true},
		{"11.0.0.1 - - [1/Jan] \"GET / HTTP/1.1\" 200", true},
		{"a=b\r\nGET / HTTP/1.1\r\nHost: b.test\r\n\r\n", true},
		{"get well soon", true},
		{"GET / HTTP/1.1\r\nHost: b.test\r\n\r\n", false},
		{"\r\n\r\n GET / HTTP/1.1\r\n", false},
		{"GET /", false},
	};
	char text[256];
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		(void)snprintf(text, sizeof text,
			       "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: %zu\r\n\r\n%s",
			       strlen(rows[i].body), rows[i].body);
		begin(true);
		CHECK_INT(passes(text) == strlen(text), rows[i].passes);
	}
}

TEST(nothing_follows_the_one_request_of_a_proxy) {
	struct http_head head = {0};
	const char *why = NULL;
	int status = 0;
	const char text[] =
		"POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nContent-Length: 2\r\n\r\n";
	begin(false);
	CHECK_INT(http_head_read((const uint8_t *)text, strlen(text), &head, &status, &why),
		  SNIFF_DONE);
	conversation_single(&talk, &head);
	CHECK_INT(passes("abGET / HTTP/1.1\r\nHost: b.test\r\n\r\n"), 2);
	CHECK_INT(talk.state, CONVERSATION_OVER);
}

/* ---- allowed by address, and read by the leak scanner ---- */

static void begin_unjudged(void) {
	talk = (struct conversation){.unjudged = true, .whole = true};
}

TEST(a_request_to_an_address_needs_no_host_and_is_read_to_its_end) {
	begin_unjudged();
	struct conversation_result said = say("POST /a HTTP/1.0\r\nContent-Length: 9\r\n\r\n");
	CHECK_INT(said.verdict, VERDICT_PASS);
	CHECK_INT(said.part, PART_HEAD);
	CHECK_INT(said.line, strlen("POST /a"));
	said = say("GET / HT");
	CHECK_INT(said.part, PART_BODY);
	CHECK_INT(said.pass, 8); /* not the byte that has not come, and no request is looked for */
	CHECK_INT(talk.state, CONVERSATION_BODY);
	CHECK_INT(say("x").pass, 1);
	CHECK_INT(talk.state, CONVERSATION_HEAD);
}

TEST(a_request_after_connect_to_an_address_is_read) {
	static const char tunnel[] = "CONNECT b.test:443 HTTP/1.1\r\nHost: b.test\r\n\r\n";

	begin_unjudged();
	CHECK_INT(say(tunnel).part, PART_HEAD);
	CHECK_INT(say("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n").part, PART_HEAD);
	begin_unjudged();
	CHECK_INT(say(tunnel).part, PART_HEAD);
	CHECK_INT(say("\x16\x03").pass, UINT64_MAX);
	CHECK_INT(talk.state, CONVERSATION_OPAQUE);
}

TEST(a_target_whose_version_is_missing_waits_if_requests_are_scanned) {
	begin_unjudged();
	CHECK_INT(say("note").verdict, VERDICT_UNSURE);
	CHECK_INT(say("note /a").verdict, VERDICT_MORE);
	CHECK_INT(say(" note http://a").verdict, VERDICT_MORE);
	talk.whole = false;
	CHECK_INT(say("note /a").verdict, VERDICT_UNSURE);
}

TEST(tls_and_another_protocol_to_an_address_are_opaque) {
	begin_unjudged();
	CHECK_INT(say("\x16\x03").pass, UINT64_MAX);
	begin_unjudged();
	CHECK_INT(passes(SOCKET), strlen(SOCKET));
	CHECK_INT(answer(SWITCHED).pass, UINT64_MAX);
	CHECK_INT(talk.state, CONVERSATION_OPAQUE);
}

TESTS_MAIN
