/* SPDX-License-Identifier: Apache-2.0 */
/* What a strict proxy takes for a request, and what it makes of it. */
#include "net/http.h"

#include "base/auto.h"
#include "test.h"

static struct http_head head;
static int status;
static const char *why;

static enum sniff read_text(const char *text, size_t len) {
	head = (struct http_head){0};
	status = 0;
	why = NULL;
	return http_head_read((const uint8_t *)text, len, &head, &status, &why);
}

/* Every prefix says that it cannot tell, or what the whole says. */
static enum sniff read_bytewise(const char *text, size_t len) {
	enum sniff whole = read_text(text, len);
	for (size_t n = 0; n < len; n++) {
		enum sniff part = read_text(text, n);
		if (part != SNIFF_MORE && part != whole) {
			printf("# %zu bytes of %s say %d, all say %d\n", n, text, part, whole);
			CHECK(false);
		}
	}
	CHECK_INT(read_text(text, len), whole);
	return whole;
}

static void accepts(const char *text) {
	if (read_bytewise(text, strlen(text)) != SNIFF_DONE) {
		printf("# %s: %s\n", text, why == NULL ? "unfinished" : why);
		CHECK(false);
	}
}

static void refuses_bytes(const char *text, size_t len, int with) {
	if (read_bytewise(text, len) != SNIFF_BAD || status != with || why == NULL) {
		printf("# %s: %d, %s\n", text, status, why == NULL ? "no reason" : why);
		CHECK(false);
	}
}

static void refuses(const char *text, int with) {
	refuses_bytes(text, strlen(text), with);
}

#define HOST "Host: allowed.test\r\n"
#define GET "GET / HTTP/1.1\r\n" HOST

/* ---- heads ---- */

TEST(a_request_in_origin_form) {
	accepts("GET /a/b?c=d HTTP/1.1\r\nHost: Allowed.TEST.:8080\r\nAccept: */*\r\n\r\nmore");
	CHECK_INT(head.form, HTTP_ORIGIN);
	CHECK_STR(head.host.name, "allowed.test");
	CHECK_INT(head.port, 8080);
	CHECK_INT(head.minor, 1);
	CHECK_INT(head.body.kind, BODY_NONE);
	CHECK_INT(head.upgrade, UPGRADE_NONE);
	CHECK_INT(head.target, 4);
	CHECK_INT(head.target_len, 8);
	CHECK_INT(
		head.len,
		strlen("GET /a/b?c=d HTTP/1.1\r\nHost: Allowed.TEST.:8080\r\nAccept: */*\r\n\r\n"));
}

TEST(a_request_in_absolute_form) {
	accepts("GET http://allowed.test/x HTTP/1.1\r\n" HOST "\r\n");
	CHECK_INT(head.form, HTTP_ABSOLUTE);
	CHECK_STR(head.host.name, "allowed.test");
	CHECK_INT(head.port, 0);
	accepts("GET HTTP://ALLOWED.test.:80?x HTTP/1.1\r\n" HOST "\r\n");
	CHECK_INT(head.port, 80);
	accepts("GET http://allowed.test:8080 HTTP/1.0\r\n\r\n");
	CHECK_INT(head.port, 8080);
	CHECK_INT(head.minor, 0);
	accepts("GET http://[::1]:81/ HTTP/1.1\r\nHost: [0:0::1]:81\r\n\r\n");
	CHECK_INT(head.host.kind, HOST_IP);
}

TEST(connect) {
	accepts("CONNECT allowed.test:443 HTTP/1.1\r\nHost: allowed.test:443\r\n\r\n");
	CHECK(head.connect);
	CHECK_INT(head.form, HTTP_AUTHORITY);
	CHECK_INT(head.port, 443);
	accepts("CONNECT allowed.test:443 HTTP/1.1\r\n" HOST "\r\n");
	accepts("CONNECT allowed.test:443 HTTP/1.0\r\n\r\n");
	accepts("CONNECT allowed.test:443 HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n");
	accepts("CONNECT [::ffff:11.0.0.66]:443 HTTP/1.0\r\n\r\n");
	CHECK_INT(head.host.kind, HOST_IP);
	refuses("CONNECT allowed.test HTTP/1.0\r\n\r\n", 400);
	refuses("CONNECT allowed.test:0 HTTP/1.0\r\n\r\n", 400);
	refuses("CONNECT allowed.test:65536 HTTP/1.0\r\n\r\n", 400);
	refuses("CONNECT allowed.test:0443 HTTP/1.0\r\n\r\n", 400);
	refuses("CONNECT http://allowed.test:443/ HTTP/1.0\r\n\r\n", 400);
	refuses("CONNECT /x HTTP/1.0\r\n\r\n", 400);
	refuses("CONNECT ::1:443 HTTP/1.0\r\n\r\n", 400);
	refuses("CONNECT user@allowed.test:443 HTTP/1.0\r\n\r\n", 400);
	refuses("CONNECT allowed.test:443 HTTP/1.1\r\nHost: evil.test:443\r\n\r\n", 400);
	refuses("CONNECT allowed.test:443 HTTP/1.1\r\nHost: allowed.test:444\r\n\r\n", 400);
	refuses("CONNECT allowed.test:443 HTTP/1.1\r\n" HOST "Content-Length: 4\r\n\r\n", 400);
	refuses("CONNECT allowed.test:443 HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n",
		400);
}

TEST(options_of_the_server) {
	accepts("OPTIONS * HTTP/1.1\r\n" HOST "\r\n");
	CHECK_INT(head.form, HTTP_ASTERISK);
	refuses("GET * HTTP/1.1\r\n" HOST "\r\n", 400);
}

TEST(http_1_0_may_be_without_a_host) {
	accepts("GET / HTTP/1.0\r\n\r\n");
	CHECK_INT(head.host.kind, HOST_BAD);
	accepts("GET / HTTP/1.0\r\n" HOST "\r\n");
	CHECK_STR(head.host.name, "allowed.test");
	refuses("GET / HTTP/1.1\r\n\r\n", 400);
	refuses("GET http://allowed.test/ HTTP/1.1\r\n\r\n", 400);
	refuses("GET / HTTP/1.1\r\nHost:\r\n\r\n", 400);
	refuses("GET / HTTP/1.0\r\nHost: \r\n\r\n", 400);
}

/* PX04, PX24: absolute and Host. */
TEST(target_and_host_must_agree) {
	refuses("GET http://allowed.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n", 400);
	refuses("GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test:8080\r\n\r\n", 400);
	refuses("GET http://allowed.test:8080/ HTTP/1.1\r\n" HOST "\r\n", 400);
	refuses("GET http://allowed.test/ HTTP/1.1\r\n" HOST HOST "\r\n", 400);
	refuses("GET http://11.0.0.10/ HTTP/1.1\r\n" HOST "\r\n", 400);
	accepts("GET http://184549386/ HTTP/1.1\r\nHost: 11.0.0.10\r\n\r\n");
}

/* PX41, PX42, PX20 and PX13, PX14. */
TEST(targets_that_are_refused) {
	static const char *const targets[] = {
		"ftp://allowed.test/",
		"gopher://allowed.test/",
		"file:///etc/passwd",
		"https://allowed.test/",
		"ws://allowed.test/",
		"http:/allowed.test/",
		"http:allowed.test",
		"allowed.test",
		"allowed.test:80",
		"",
		"http://",
		"http:///x",
		"http://@allowed.test/",
		"http://allowed.test@evil.test/",
		"http://u:p@allowed.test/",
		"http://%65vil.test/",
		"http://allowed.test%2eevil.test/",
		"http://allowed.test\\@evil.test/",
		"http://allowed.test#@evil.test/",
		"http://allowed.test:80:80/",
		"http://allowed.test:/",
		"http://::1/",
		"http://[::1]x/",
		"http://[::1%25lo]/",
		"http://[::1%x.ok.test]/",
		"http://a..test/",
		"http://.ok.test/",
		"http://-a.test/",
		"http://a_b\x7f.test/",
		"/a#b",
		"/a\tb",
		"/a\x01",
		"http://al\xd0\xbbowed.test/",
	};
	for (size_t i = 0; i < ARRAY_LEN(targets); i++) {
		char text[256];
		(void)snprintf(text, sizeof text, "GET %s HTTP/1.1\r\n" HOST "\r\n", targets[i]);
		refuses(text, 400);
	}
	accepts("GET //evil.test/x HTTP/1.1\r\n" HOST "\r\n");
	CHECK_STR(head.host.name, "allowed.test");
	CHECK_INT(head.form, HTTP_ORIGIN);
	accepts("GET /..//evil.test/%65?http://evil.test/ HTTP/1.1\r\n" HOST "\r\n");
	CHECK_STR(head.host.name, "allowed.test");
}

TEST(a_host_in_another_form_than_a_name_and_port) {
	static const char *const hosts[] = {"evil.test allowed.test",
					    "allowed.test, evil.test",
					    "allowed.test/x",
					    "allowed.test:",
					    "allowed.test:x",
					    "allowed.test:80x",
					    "http://allowed.test",
					    "a@allowed.test",
					    "\"allowed.test\"",
					    "::1",
					    "::1:80",
					    "[::1",
					    "*.ok.test"};
	for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
		char text[256];
		(void)snprintf(text, sizeof text, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", hosts[i]);
		refuses(text, 400);
	}
}

TEST(lines_that_are_refused) {
	refuses("GET /\r\n", 400); /* HTTP/0.9 */
	refuses("GET / \r\n", 400);
	refuses("GET  / HTTP/1.1\r\n" HOST "\r\n", 400);
	refuses("GET / HTTP/1.1 \r\n" HOST "\r\n", 400);
	refuses("GET\t/ HTTP/1.1\r\n" HOST "\r\n", 400);
	refuses(" GET / HTTP/1.1\r\n" HOST "\r\n", 400);
	refuses("G@T / HTTP/1.1\r\n" HOST "\r\n", 400);
	refuses("GET / http/1.1\r\n" HOST "\r\n", 400);
	refuses("GET / HTTP/1.1x\r\n" HOST "\r\n", 400);
	refuses("GET / HTTP/1\r\n" HOST "\r\n", 400);
	refuses("GET / HTTP/1.2\r\n" HOST "\r\n", 505);
	refuses("GET / HTTP/2.0\r\n" HOST "\r\n", 505);
	refuses("GET / HTTP/0.9\r\n" HOST "\r\n", 505);
	refuses("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505);
	refuses("PRI * HTTP/1.1\r\n" HOST "\r\n", 400);
	refuses("\r\n\r\n\r\n\r\n\r\n" GET "\r\n", 400);
	accepts("\r\n\r\n" GET "\r\n");
	CHECK_STR(head.host.name, "allowed.test");
}

/* PX27. */
TEST(methods_that_are_not_passed_on) {
	refuses("TRACE / HTTP/1.1\r\n" HOST "\r\n", 405);
	refuses("TRACK / HTTP/1.1\r\n" HOST "\r\n", 405);
	refuses("PURGE / HTTP/1.1\r\n" HOST "\r\n", 405);
	refuses("trace / HTTP/1.1\r\n" HOST "\r\n", 405);
	accepts("PROPFIND / HTTP/1.1\r\n" HOST "\r\n");
	accepts("M-SEARCH / HTTP/1.1\r\n" HOST "\r\n");
	refuses("ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFG / HTTP/1.1\r\n" HOST "\r\n", 400);
}

static void refuses_each(const char *const *fields, size_t n) {
	for (size_t i = 0; i < n; i++) {
		char text[512];
		(void)snprintf(text, sizeof text, GET "%s\r\n", fields[i]);
		refuses(text, 400);
	}
}

/* PX24. */
TEST(fields_that_are_refused) {
	static const char *const fields[] = {
		HOST,
		"Host: evil.test\r\n",
		"host: allowed.test\r\n",
		"X: a\r\n b\r\n",
		"X: a\r\n\tb\r\n",
		" X: a\r\n",
		"X : a\r\n",
		"X\t: a\r\n",
		": a\r\n",
		"X\r\n",
		"X a: b\r\n",
		"X: a\n",
		"X: a\rY: b\r\n",
		"X: a\r\r\n",
		"X: \x01\r\n",
		"X: \x7f\r\n",
		"X: \x0b\r\n",
		"X\x80: a\r\n",
		"Host : evil.test\r\n",
		"(X): a\r\n",
		"\x0bHost: evil.test\r\n",
		"Ho_st: x\r\nHost_: y\r\n: z\r\n",
	};
	refuses_each(fields, ARRAY_LEN(fields));
	refuses_bytes(GET "X: a\0b\r\n\r\n", sizeof GET "X: a\0b\r\n\r\n" - 1, 400);
	refuses("GET / HTTP/1.1\n" HOST "\r\n", 400);
	refuses("GET / HTTP/1.1\r\nHost: allowed.test\n\n", 400);
	refuses("GET / HTTP/1.1\r\nHost: allowed.test\r\n\n", 400);
}

/* PX24. */
TEST(lengths_of_bodies_that_are_refused) {
	static const char *const fields[] = {
		"Content-Length: 5\r\nContent-Length: 5\r\n",
		"Content-Length: 5, 5\r\n",
		"Content-Length: +5\r\n",
		"Content-Length: -1\r\n",
		"Content-Length: 0x5\r\n",
		"Content-Length: 5 5\r\n",
		"Content-Length:\r\n",
		"Content-Length: 05\r\n",
		"Content-Length: 5;\r\n",
		"Content-Length: 4611686018427387904\r\n",
		"Content-Length: 99999999999999999999\r\n",
		"Content_Length: 5\r\n",
		"Content-Length : 5\r\n",
		"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
		"Transfer-Encoding: chunked\r\nContent-Length: 0\r\n",
		"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
		"Transfer-Encoding: gzip, chunked\r\n",
		"Transfer-Encoding: chunked, identity\r\n",
		"Transfer-Encoding: identity\r\n",
		"Transfer-Encoding: xchunked\r\n",
		"Transfer-Encoding: \"chunked\"\r\n",
		"Transfer-Encoding: chunked;a=b\r\n",
		"Transfer-Encoding: ,chunked\r\n",
		"Transfer-Encoding:\r\n",
		"Transfer-Encoding:\r\n chunked\r\n",
		("Transfer-Encoding:\x0b"
		 "chunked\r\n"),
		"Transfer_Encoding: chunked\r\n",
		"Transfer-Encoding : chunked\r\n",
	};
	refuses_each(fields, ARRAY_LEN(fields));
	refuses("GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400);
}

TEST(connection_does_not_name_what_frames_a_message) {
	static const char *const fields[] = {
		"Connection: Host\r\n",
		"Connection: close, hOST\r\n",
		"Connection: close\r\nConnection: transfer-encoding\r\n",
		"Connection: Content-Length\r\n",
		"Connection: content_length\r\n",
		"Connection: a b\r\n",
	};
	refuses_each(fields, ARRAY_LEN(fields));
}

TEST(fields_that_are_everyday) {
	accepts(GET "Cookie: a=b; c=\"d\"\r\nUser-Agent: x (y; z)\r\nX-Empty:\r\nX-Utf8: "
		    "gr\xc3\xbc\xc3\x9f\r\n\r\n");
	accepts(GET "Expect: 100-continue\r\nContent-Length: 10\r\n\r\n");
	CHECK_INT(head.body.kind, BODY_LENGTH);
	CHECK_INT(head.body.left, 10);
	accepts(GET "Content-Length:\t7 \r\n\r\n");
	CHECK_INT(head.body.left, 7);
	accepts(GET "Content-Length: 999999999999999999\r\n\r\n");
	accepts(GET "content-length: 0\r\n\r\n");
	CHECK_INT(head.body.kind, BODY_NONE);
	accepts(GET "Transfer-Encoding: Chunked\r\n\r\n");
	CHECK_INT(head.body.kind, BODY_CHUNKED);
	accepts(GET
		"Connection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n"
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
	CHECK_INT(head.upgrade, UPGRADE_WEBSOCKET);
	accepts(GET "Connection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n\r\n");
	CHECK_INT(head.upgrade, UPGRADE_OTHER); /* without a key nothing answers it */
	accepts(GET "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: "
		    "AA\r\n\r\n");
	CHECK_INT(head.upgrade, UPGRADE_OTHER);
	accepts(GET "Upgrade: websocket\r\nUpgrade: h2c\r\n\r\n");
	CHECK_INT(head.upgrade, UPGRADE_OTHER);
	accepts(GET "Upgrade: websocket, h2c\r\n\r\n");
	CHECK_INT(head.upgrade, UPGRADE_OTHER);
}

/* PX37. */
TEST(a_head_has_a_bound_in_bytes_and_in_fields) {
	static char text[2 * HTTP_HEAD_MAX];
	size_t at = strlen(GET);
	memcpy(text, GET "X: ", at + 3);
	memset(text + at + 3, 'a', sizeof text - at - 3);
	CHECK_INT(read_text(text, HTTP_HEAD_MAX - 1), SNIFF_MORE);
	CHECK_INT(read_text(text, HTTP_HEAD_MAX), SNIFF_BAD);
	CHECK_INT(status, 431);
	memcpy(text + HTTP_HEAD_MAX - 4, "\r\n\r\n", 4);
	CHECK_INT(read_text(text, sizeof text), SNIFF_DONE);
	CHECK_INT(head.len, HTTP_HEAD_MAX);
	for (size_t i = 1; i < HTTP_FIELDS_MAX; i++, at += 4) {
		memcpy(text + at, "X:\r\n", 4);
	}
	memcpy(text + at, "\r\n", 2);
	CHECK_INT(read_text(text, at + 2), SNIFF_DONE);
	memcpy(text + at, "X:\r\n", 4);
	CHECK_INT(read_text(text, at + 4), SNIFF_BAD);
	CHECK_INT(status, 431);
}

/* ---- bodies ---- */

/* The length of the chunked body that text begins with; -1: broken, -2: unfinished. */
static long chunked(const char *text, size_t len) {
	struct http_body whole = {.kind = BODY_CHUNKED}, parts = whole;
	bool end = false, parts_end = false;
	long taken = http_body_take(&whole, (const uint8_t *)text, len, &end), at = 0, n = 1;
	while (n == 1 && at < (long)len && !parts_end) {
		n = http_body_take(&parts, (const uint8_t *)text + at, 1, &parts_end);
		at += n == 1;
	}
	CHECK_INT(end, parts_end);
	CHECK(taken == at || (taken == -1 && n == -1));
	return taken == -1 ? -1 : end ? taken : -2;
}

static void chunks(const char *text, long want) {
	long got = chunked(text, strlen(text));
	if (got != want) {
		printf("# %s: %ld, not %ld\n", text, got, want);
		CHECK(false);
	}
}

TEST(where_a_chunked_body_ends) {
	chunks("0\r\n\r\n", 5);
	chunks("5\r\nhello\r\n0\r\n\r\nGET", 15);
	chunks("A;x=\"y\"\r\n0123456789\r\n00\r\n\r\n", 27);
	chunks("0\r\nX-Sum: 1\r\nY:\r\n\r\n0", 19);
	chunks("5\r\nhel", -2);
	chunks("0\r\n", -2);
	chunks("0\r\n\r", -2);
}

/* One letter for each byte: d content, t text, f framing. */
static void check_pieces(const char *text, const char *want) {
	for (size_t step = 1; step <= strlen(text); step++) {
		struct http_body b = {.kind = BODY_CHUNKED};
		char got[128] = "";
		long n = 1;
		for (size_t at = 0; at < strlen(text) && n > 0; at += (size_t)n) {
			size_t left = strlen(text) - at;
			enum http_piece piece = HTTP_PIECE_FRAME;
			n = http_body_next(&b, (const uint8_t *)text + at,
					   left < step ? left : step, &piece);
			CHECK(n > 0);
			memset(got + at, "dtf"[piece], (size_t)n);
		}
		CHECK_STR(got, want);
	}
}

TEST(content_and_text_of_a_chunked_body_are_told_from_its_framing) {
	check_pieces("3\r\nabc\r\n0\r\n\r\n", "fffdddfffffff");
	check_pieces("2;x=y\r\nab\r\n0\r\nT: v\r\n\r\n", "fttttffddfffffttttffff");
}

TEST(broken_chunks) {
	static const char *const broken[] = {
		"\r\n",
		"x\r\n",
		" 5\r\nhello\r\n",
		"5 \r\nhello\r\n",
		"5 ;a\r\nhello\r\n",
		"+5\r\n",
		"-5\r\n",
		"0x5\r\n",
		"5\nhello\r\n",
		"5\r\nhello\n",
		"5\r\nhelloX",
		"5\r\nhello\r\r",
		"5;a\nhello",
		"5;a\rb",
		"5;\x01\r\n",
		"0\r\n X: a\r\n",
		"0\r\n: a\r\n",
		"0\r\nX a\r\n",
		"0\r\nX\r\n",
		"0\r\nX: a\nY",
		"0\r\nX: a\rY",
		"0\r\n\n",
		"0\n\r\n",
		";a\r\n",
		"fffffffffffffffff\r\n",
		"0000000000000000\r\n",
		"5,5\r\nhello",
		"5\r\n\r\nhello",
		"0\r\nX : a\r\n",
	};
	for (size_t i = 0; i < ARRAY_LEN(broken); i++) {
		chunks(broken[i], -1);
	}
	CHECK_INT(chunked("5;\0\r\n", 5), -1);
	CHECK_INT(chunked("0\r\nX: \0\r\n", 9), -1);
}

TEST(extensions_and_trailers_have_a_bound) {
	static char text[20000];
	memset(text, 'a', sizeof text);
	memcpy(text, "5;", 2);
	CHECK_INT(chunked(text, 4096), -2);
	CHECK_INT(chunked(text, 4097), -1);
	memset(text, 'a', sizeof text);
	memcpy(text, "0\r\nX:", 5);
	CHECK_INT(chunked(text, 8000), -2);
	CHECK_INT(chunked(text, sizeof text), -1);
	size_t at = 3;
	for (; at + 4 < sizeof text; at += 4) {
		memcpy(text + at, "X:\r\n", 4);
	}
	CHECK_INT(chunked(text, at), -1);
}

TEST(where_a_counted_body_ends) {
	struct http_body b = {.kind = BODY_LENGTH, .left = 5};
	bool end = true;
	CHECK_INT(http_body_take(&b, (const uint8_t *)"hel", 3, &end), 3);
	CHECK(!end);
	CHECK_INT(http_body_take(&b, (const uint8_t *)"loGET /", 7, &end), 2);
	CHECK(end);
	b = (struct http_body){.kind = BODY_NONE};
	end = false;
	CHECK_INT(http_body_take(&b, (const uint8_t *)"GET", 3, &end), 0);
	CHECK(end);
}

/* ---- forwarding ---- */

static void forwards(const char *text, const char *want) {
	uint8_t out[2048];
	REQUIRE(read_text(text, strlen(text)) == SNIFF_DONE);
	size_t len = http_head_forward((const uint8_t *)text, &head, out, sizeof out - 1);
	out[len] = '\0';
	CHECK_STR((char *)out, want);
	CHECK_INT(http_head_forward((const uint8_t *)text, &head, out, strlen(want) - 1), 0);
	CHECK_INT(http_head_forward((const uint8_t *)text, &head, out, strlen(want)), strlen(want));
}

#define CLOSE "Connection: close\r\n\r\n"

TEST(the_target_is_forwarded_in_origin_form) {
	forwards("GET http://allowed.test/a?b HTTP/1.1\r\n" HOST "\r\n",
		 "GET /a?b HTTP/1.1\r\n" HOST CLOSE);
	forwards("GET http://allowed.test HTTP/1.1\r\n" HOST "\r\n",
		 "GET / HTTP/1.1\r\n" HOST CLOSE);
	forwards("GET http://allowed.test?q HTTP/1.1\r\n" HOST "\r\n",
		 "GET /?q HTTP/1.1\r\n" HOST CLOSE);
	forwards("OPTIONS http://allowed.test HTTP/1.1\r\n" HOST "\r\n",
		 "OPTIONS * HTTP/1.1\r\n" HOST CLOSE);
	forwards("GET http://allowed.test//evil.test/ HTTP/1.1\r\n" HOST "\r\n",
		 "GET //evil.test/ HTTP/1.1\r\n" HOST CLOSE);
	forwards("\r\nGET http://allowed.test:81/ HTTP/1.0\r\n\r\n",
		 "GET / HTTP/1.0\r\nHost: allowed.test:81\r\n" CLOSE);
	forwards("GET / HTTP/1.0\r\n\r\n", "GET / HTTP/1.0\r\n" CLOSE);
	REQUIRE(read_text("CONNECT a.test:1 HTTP/1.0\r\n\r\n", 29) == SNIFF_DONE);
	CHECK_INT(http_head_forward((const uint8_t *)"CONNECT a.test:1 HTTP/1.0\r\n\r\n", &head,
				    (uint8_t[100]){0}, 100),
		  0);
}

/* PX36. */
TEST(what_is_meant_for_the_proxy_stays_there) {
	forwards(GET
		 "Proxy-Authorization: Basic eA==\r\nproxy-connection: keep-alive\r\nProxy-X: 1\r\n"
		 "Connection: keep-alive, X-Hop\r\nKeep-Alive: 5\r\nX-Hop: 1\r\nx-HOP: 2\r\nTE: "
		 "trailers\r\nTrailer: X\r\n"
		 "Accept: */*\r\nTransfer-Encoding: chunked\r\n\r\n",
		 GET "Accept: */*\r\nTransfer-Encoding: chunked\r\n" CLOSE);
	forwards(GET "Connection: close\r\n\r\n", GET "Connection: close\r\n\r\n");
	forwards(GET "Proxy-Connection: Close\r\n\r\n", GET "Connection: close\r\n\r\n");
}

/* PX26. */
TEST(no_upgrade_is_forwarded) {
	forwards(GET "Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: "
		     "k\r\n\r\n",
		 GET "Sec-WebSocket-Key: k\r\n" CLOSE);
	forwards(
		GET
		"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\n\r\n",
		GET CLOSE);
}

TESTS_MAIN
