/* SPDX-License-Identifier: Apache-2.0 */
/* What is taken for HTTP by its first bytes, and how a server answered. */
#include "net/http.h"

#include "base/auto.h"
#include "test.h"

/* ---- requests ---- */

static void begins(const char *text, size_t len, enum sniff want) {
	enum sniff got = http_sniff((const uint8_t *)text, len);
	if (got != want) {
		printf("# %s: %d, not %d\n", text, got, want);
		CHECK(false);
	}
	for (size_t n = 0; n < len; n++) {
		enum sniff part = http_sniff((const uint8_t *)text, n);
		CHECK(part == SNIFF_MORE || part == want);
	}
}

TEST(what_a_lenient_server_takes_for_a_request_is_one) {
	static const char *const requests[] = {
		"GET / HTTP/1.1\r\n",      "\r\n\r\nGET / HTTP/1.1\r\n",
		"get / HTTP/1.1\n",        "GET\t/\tHTTP/1.1\r\n",
		"  GET / HTTP/1.0\n",      "GET /\r\n",
		"X-Y! / http/1.1\n",       "POST /\x01",
		"GET\x0b/ HTTP/1.1\n",     "PRI * HTTP/1.1\r\n",
		"OPTIONS * HTTP/9.9\r\n",  "G(T /x HTTP/1.1\r\n",
		"\"GET\" / HTTP/1.1\r\n",  "GET\x85/\xa0HTTP/1.1\n",
		"FROB\x1c/\x1fHTTP/1.1\n", "PROPFIND /\x01 HTTP/1.1\n",
	};
	/* Without a version, or with a relative's: Node 20 and PHP 8.2 serve these, with the Host
	 * that follows. */
	static const char *const simple[] = {
		"PROPFIND /\r\n",
		"M-SEARCH *HTTP/1.0\r\n",
		"POST *\r\n",
		"OPTIONS rtsp://a/b RTSP/1.0\r\n",
		"DESCRIBE / RTSP/1.0\r\n",
		"SOURCE /a ICE/1.0\r\n",
		"NEW-METHOD http://a.test/\n",
		"DELETE x://a\r\n",
		"CONNECT a.test:80\r\n",
		"CONNECT *\r\n",
		"PRI *\r\n",
		"CONNECT [2001:db8::1]:80\r\n",
		"PLAY /\x01\r\n",
	};
	for (size_t i = 0; i < ARRAY_LEN(simple); i++) {
		begins(simple[i], strlen(simple[i]), SNIFF_DONE);
	}
	for (size_t i = 0; i < ARRAY_LEN(requests); i++) {
		begins(requests[i], strlen(requests[i]), SNIFF_DONE);
	}
	begins("GET /\0 HTTP/1.1\r\n", 17, SNIFF_DONE);
	/* nginx and Apache serve methods of any length; cut anywhere it is no other protocol. */
	begins("ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFGHIJKLMNOPQRSTUVWXYZ"
	       " / HTTP/1.1\r\n",
	       91, SNIFF_DONE);
	static char endless[8192];
	memset(endless, 'a', sizeof endless);
	memcpy(endless, "get /", 5);
	begins(endless, sizeof endless - 1, SNIFF_MORE);
	begins(endless, sizeof endless, SNIFF_DONE);
}

TEST(other_protocols_are_not_requests) {
	static const char *const others[] = {
		"SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u2\r\n",
		"EHLO localhost\r\n",
		"USER anonymous\r\n",
		"a1 LOGIN x y\r\n",
		"*1\r\n$4\r\nPING\r\n",
		"PING\r\n",
		"CONNECT {\"verbose\":false}\r\n",
		"INVITE sip:a@b SIP/2.0\r\n",
		"KEYS *\r\n",
		"set /k 0 0 1\r\n",
		"CONNECT\naccept-version:1.2\n",
		"\x16\x03\x01",
		"AMQP\x01",
		"\x10\x0c",
		"<?xml version='1.0'?><stream:stream to='a.test' xmlns='jabber:client'>",
		"PRI * HTTP/2.0\r\n",
		"set k 0 0 1\r\n",
		"NICK x\r\n",
	};
	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		begins(others[i], strlen(others[i]), SNIFF_BAD);
	}
	begins("\0\0\0\x08\x04\xd2\x16\x2f", 8, SNIFF_BAD); /* Postgres */
	begins("0032git-upload-pack /p\0host=h\0", 30, SNIFF_BAD);
	begins("JRMI \x01\x02\n", 8, SNIFF_BAD);
	begins("GE", 2, SNIFF_MORE);
	begins("PROPFIND /\x01", 11, SNIFF_MORE);
	begins("GET /abc", 8, SNIFF_MORE);
}

TEST(http_2_by_its_preface) {
	static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
	for (size_t n = 0; n < sizeof preface - 1; n++) {
		CHECK_INT(http_sniff_http2((const uint8_t *)preface, n), SNIFF_MORE);
	}
	CHECK_INT(http_sniff_http2((const uint8_t *)preface, sizeof preface - 1), SNIFF_DONE);
	CHECK_INT(http_sniff_http2((const uint8_t *)"PRI * HTTP/2.0\r\n\r\nSM\r\n\rX", 24),
		  SNIFF_BAD);
	CHECK_INT(http_sniff_http2((const uint8_t *)"POST", 4), SNIFF_BAD);
}

/* ---- responses ---- */

static int status_of(const char *text) {
	int got = 0;
	switch (http_status_read((const uint8_t *)text, strlen(text), &got)) {
	case SNIFF_MORE:
		return -1;
	case SNIFF_BAD:
		return -2;
	case SNIFF_DONE:
		break;
	}
	return got;
}

TEST(the_status_of_a_response) {
	CHECK_INT(status_of("HTTP/1.1 200 OK\r\n"), 200);
	CHECK_INT(status_of("HTTP/1.0 404\r\nX: y"), 404);
	CHECK_INT(status_of("HTTP/1.1 101 Switching Protocols\r\n"), 101);
	CHECK_INT(status_of("HTTP/1.1 200 OK"), -1);
	CHECK_INT(status_of(""), -1);
	CHECK_INT(status_of("HTTP/2 200 OK\r\n"), -2);
	CHECK_INT(status_of("HTTP/1.1 20\r\n"), -2);
	CHECK_INT(status_of("HTTP/1.1 2000 OK\r\n"), -2);
	CHECK_INT(status_of("220 ready\r\n"), -2);
	CHECK_INT(http_status_read((const uint8_t *)"HTTP/1.1 200\0\r\n", 15, &(int){0}),
		  SNIFF_BAD);
}

TESTS_MAIN
