/* SPDX-License-Identifier: Apache-2.0 */
#include "http/check.h"

#include "test.h"

/* A request with these field lines, read at once. */
static struct http_reader read_fields(const char *fields) {
	struct http_reader r;
	struct buf text;
	size_t used = 0;

	buf_init(&text);
	buf_printf(&text, "GET /page?a=b HTTP/1.1\r\nHost: localhost:80\r\n%s\r\n", fields);
	http_reader_init(&r);
	CHECK_INT(http_reader_feed(&r, text.data, text.len, &used), HTTP_EVENT_HEAD);
	CHECK_INT(used, text.len);
	CHECK_INT(http_reader_accept(&r, 0), HTTP_EVENT_DONE);
	buf_done(&text);
	return r;
}

static const char *cookie_of(const char *fields) {
	static char text[64];
	struct http_reader r = read_fields(fields);
	struct http_span value;
	bool found = http_request_cookie(&r.request, "id", &value);

	(void)snprintf(text, sizeof text, "%.*s", found ? (int)value.len : 4,
		       found ? (const char *)value.at : "none");
	http_reader_done(&r);
	return text;
}

TEST(a_cookie_has_one_value) {
	CHECK_STR(cookie_of("Cookie: id=abc\r\n"), "abc");
	CHECK_STR(cookie_of("Cookie: x=1; id=abc; y=2\r\n"), "abc");
	CHECK_STR(cookie_of("Cookie: id=\r\n"), "");
	CHECK_STR(cookie_of("Cookie: xid=abc\r\n"), "none");
	CHECK_STR(cookie_of("Cookie: id\r\n"), "none");
	CHECK_STR(cookie_of("Cookie: id=a; id=b\r\n"), "none");
	CHECK_STR(cookie_of("Cookie: id=a\r\nCookie: id=b\r\n"), "none");
	CHECK_STR(cookie_of(""), "none");
}

TEST(a_list_has_members_without_parameters) {
	struct http_reader r = read_fields("Accept: text/html;q=0.5, application/json ;q=1\r\n"
					   "Accept: text/plain\r\n");
	bool has = false;

	CHECK(http_request_lists(&r.request, "accept", "application/json", &has));
	CHECK(http_request_lists(&r.request, "ACCEPT", "TEXT/PLAIN", NULL));
	CHECK(!http_request_lists(&r.request, "accept", "q=1", NULL));
	CHECK(has);
	CHECK(!http_request_lists(&r.request, "origin", "x", &has));
	CHECK(!has);
	CHECK(http_span_exactly(r.request.path, "/page"));
	CHECK(http_span_exactly(r.request.query, "a=b"));
	http_reader_done(&r);
}

static int local_status(const char *fields, uint16_t port) {
	struct http_reader r = read_fields(fields);
	int status = http_check_local(&r.request, &ip_loopback4, port).status;

	http_reader_done(&r);
	return status;
}

TEST(an_origin_is_that_of_the_server_or_none) {
	CHECK_INT(local_status("", 80), 0);
	CHECK_INT(local_status("", 81), 403);
	CHECK_INT(local_status("Origin: http://localhost\r\n", 80), 0);
	CHECK_INT(local_status("Origin: http://127.0.0.1:80\r\n", 80), 0);
	CHECK_INT(local_status("Origin: http://127.0.0.1:81\r\n", 80), 403);
	CHECK_INT(local_status("Origin: http://localhost\r\nOrigin: http://localhost\r\n", 80),
		  403);
	CHECK_INT(local_status("Origin: null\r\n", 80), 403);
}

TESTS_MAIN
