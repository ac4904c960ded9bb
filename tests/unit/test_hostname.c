/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hostname.h"

#include "base/auto.h"
#include "test.h"

/* "name x", "ip 1.2.3.4" or "bad: why". */
static const char *parsed_bytes(const char *s, size_t len) {
	static char out[400];
	struct hostname h;
	char text[IP_TEXT];
	switch (hostname_parse(s, len, &h)) {
	case HOST_NAME:
		(void)snprintf(out, sizeof out, "name %s", h.name);
		break;
	case HOST_IP:
		ip_text(&h.ip, text);
		(void)snprintf(out, sizeof out, "ip %s", text);
		break;
	default:
		(void)snprintf(out, sizeof out, "bad: %s", h.why);
	}
	return out;
}

static const char *parsed(const char *s) {
	return parsed_bytes(s, strlen(s));
}

TEST(names_are_lower_case_and_without_the_last_dot) {
	CHECK_STR(parsed("Example.COM"), "name example.com");
	CHECK_STR(parsed("example.com."), "name example.com");
	CHECK_STR(parsed("a"), "name a");
	CHECK_STR(parsed("_srv.a-b.c_d"), "name _srv.a-b.c_d");
	CHECK_STR(parsed("xn--bcher-kva.example"), "name xn--bcher-kva.example");
	CHECK_STR(parsed("1.a"), "name 1.a");
	CHECK_STR(parsed("1.2.3.4.a"), "name 1.2.3.4.a");
	CHECK_STR(parsed("0xg"), "name 0xg");
	CHECK_STR(parsed("a.0x1z"), "name a.0x1z");
}

TEST(what_ends_in_a_number_is_never_a_name) {
	CHECK_STR(parsed("2130706433"), "ip 127.0.0.1");
	CHECK_STR(parsed("0x7f.1."), "ip 127.0.0.1");
	CHECK_STR(parsed("013.0.0.102"), "ip 11.0.0.102");
	CHECK_STR(parsed("11.66"), "ip 11.0.0.66");
	CHECK_STR(parsed("a.1"), "bad: it ends in a number and is not an IPv4 address");
	CHECK_STR(parsed("a.0x"), "bad: it ends in a number and is not an IPv4 address");
	CHECK_STR(parsed("1.2.3.08"), "bad: it ends in a number and is not an IPv4 address");
	CHECK_STR(parsed("1.2.3.4.5"), "bad: it ends in a number and is not an IPv4 address");
	CHECK_STR(parsed("1.2.3.256"), "bad: it ends in a number and is not an IPv4 address");
}

TEST(ipv6_with_and_without_brackets) {
	CHECK_STR(parsed("[::1]"), "ip ::1");
	CHECK_STR(parsed("::1"), "ip ::1");
	CHECK_STR(parsed("[2001:DB8::A]"), "ip 2001:db8::a");
	CHECK_STR(parsed("[::ffff:11.0.0.66]"), "ip 11.0.0.66");
	CHECK_STR(parsed("[::1%lo]"), "bad: an IPv6 address with a zone is not supported");
	CHECK_STR(parsed("[::1%25x.ok.test]"), "bad: an IPv6 address with a zone is not supported");
	CHECK_STR(parsed("[1.2.3.4]"), "bad: it is not an IPv6 address");
	CHECK_STR(parsed("[::1"), "bad: a bracket is not closed");
	CHECK_STR(parsed("[]"), "bad: a bracket is not closed");
	CHECK_STR(parsed("[::1]."), "bad: a bracket is not closed");
	CHECK_STR(parsed("[[::1]]"), "bad: it is not an IPv6 address");
}

TEST(bytes_that_no_name_has_are_refused) {
	for (int c = 0; c < 256; c++) {
		char s[] = "a?b.test";
		s[1] = (char)c;
		bool fine = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
			    (c >= 'A' && c <= 'Z') || c == '-' || c == '_' || c == '.';
		struct hostname h;
		CHECK_INT(hostname_parse(s, sizeof s - 1, &h) == HOST_NAME, fine);
	}
	CHECK_STR(parsed_bytes("evil.test\0.ok.test", 18),
		  "bad: it has characters that host names do not allow");
	CHECK_STR(parsed("\xd0\xb0llowed.test"),
		  "bad: it has bytes that are not ASCII (write the name as \"xn--\")");
	CHECK_STR(parsed("a\xe3\x80\x82test"),
		  "bad: it has bytes that are not ASCII (write the name as \"xn--\")");
}

TEST(labels_and_names_have_lengths) {
	char name[300];
	memset(name, 'a', sizeof name);
	CHECK_STR(parsed(""), "bad: the host is empty");
	CHECK_STR(parsed("."), "bad: a label is empty");
	CHECK_STR(parsed(".."), "bad: a label is empty");
	CHECK_STR(parsed(".ok.test"), "bad: a label is empty");
	CHECK_STR(parsed("ok..test"), "bad: a label is empty");
	CHECK_STR(parsed("ok.test.."), "bad: a label is empty");
	CHECK_STR(parsed("-a.test"), "bad: a label begins or ends with '-'");
	CHECK_STR(parsed("a-.test"), "bad: a label begins or ends with '-'");
	CHECK_STR(parsed_bytes(name, 64), "bad: a label is longer than 63 bytes");
	CHECK_INT(strlen(parsed_bytes(name, 63)), 5 + 63);
	for (size_t i = 50; i < sizeof name; i += 51) {
		name[i] = '.';
	}
	CHECK_INT(strlen(parsed_bytes(name, 253)), 5 + 253);
	CHECK_STR(parsed_bytes(name, 254), "bad: it is longer than 253 bytes");
	name[253] = '.';
	CHECK_INT(strlen(parsed_bytes(name, 254)), 5 + 253);
}

static const char *with_port(const char *s) {
	static char out[450];
	struct hostname h;
	uint16_t port = 7;
	if (hostname_parse_port(s, strlen(s), &h, &port) == HOST_BAD) {
		(void)snprintf(out, sizeof out, "bad: %s", h.why);
		CHECK_INT(port, 7);
		return out;
	}
	char text[IP_TEXT] = "";
	if (h.kind == HOST_IP) {
		ip_text(&h.ip, text);
	}
	(void)snprintf(out, sizeof out, "%s%s %d", h.name, text, port);
	return out;
}

TEST(a_port_follows_the_host) {
	CHECK_STR(with_port("a.test"), "a.test 0");
	CHECK_STR(with_port("a.test:1"), "a.test 1");
	CHECK_STR(with_port("a.test.:65535"), "a.test 65535");
	CHECK_STR(with_port("1.2.3.4:80"), "1.2.3.4 80");
	CHECK_STR(with_port("[::1]:443"), "::1 443");
	CHECK_STR(with_port("[::1]"), "::1 0");
	CHECK_STR(with_port("::1:443"), "::1:443 0");
}

TEST(a_port_is_a_plain_number) {
	static const char *const bad[] = {"a:",      "a:0",   "a:08",   "a:65536",       "a:+1",
					  "a: 1",    "a:1 ",  "a:0x50", "a:99999999999", "[::1]x",
					  "[::1]80", "[::1]:"};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		CHECK_STR(with_port(bad[i]), "bad: its port is not a number from 1 to 65535");
	}
	CHECK_STR(with_port(""), "bad: the host is empty");
	CHECK_STR(with_port(":80"), "bad: the host is empty");
	CHECK_STR(with_port("a:1:2"), "bad: it is not an IPv6 address");
	CHECK_STR(with_port("[::1"), "bad: a bracket is not closed");
}

TESTS_MAIN
