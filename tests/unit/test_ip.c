/* SPDX-License-Identifier: Apache-2.0 */
#include "base/ip.h"

#include "base/auto.h"
#include "test.h"

#include <arpa/inet.h>
#include <netinet/in.h>

static const char *parsed(const char *s, bool any) {
	static char out[IP_TEXT];
	struct ip ip;
	if (!(any ? ip_parse_any : ip_parse)(s, strlen(s), &ip)) {
		return "none";
	}
	CHECK_INT(ip_text(&ip, out), strlen(out));
	return out;
}

TEST(an_address_is_written_in_one_way) {
	CHECK_STR(parsed("1.2.3.4", false), "1.2.3.4");
	CHECK_STR(parsed("255.255.255.255", false), "255.255.255.255");
	CHECK_STR(parsed("::", false), "::");
	CHECK_STR(parsed("::1", false), "::1");
	CHECK_STR(parsed("1::", false), "1::");
	CHECK_STR(parsed("2001:DB8:0:0:1:0:0:1", false), "2001:db8::1:0:0:1");
	CHECK_STR(parsed("2001:db8:0:1:1:1:1:1", false), "2001:db8:0:1:1:1:1:1");
	CHECK_STR(parsed("1:2:3:4:5:6:7::", false), "1:2:3:4:5:6:7:0");
	CHECK_STR(parsed("::ffff:1.2.3.4", false), "1.2.3.4");
	CHECK_STR(parsed("::ffff:102:304", false), "1.2.3.4");
	CHECK_STR(parsed("64:ff9b::1.2.3.4", false), "64:ff9b::102:304");
	CHECK_STR(parsed("ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255", false),
		  "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff");
}

TEST(what_is_no_address_is_none) {
	static const char *const bad[] = {
		"",
		" ",
		"1.2.3",
		"1.2.3.4.",
		"1.2.3.4.5",
		".1.2.3.4",
		"1..3.4",
		"01.2.3.4",
		"1.2.3.256",
		"1.2.3.-4",
		"1.2.3.4 ",
		" 1.2.3.4",
		"+1.2.3.4",
		"1.2.3.0x4",
		":",
		":::",
		"1:",
		":1",
		"1:2:3:4:5:6:7",
		"::1::",
		"1:2:3:4:5:6:7:8:9",
		"1:2:3:4:5:6:7:8::",
		"::1:2:3:4:5:6:7:8",
		"12345::",
		"g::",
		"::1%lo",
		"[::1]",
		"1:2:3:4:5:6:7:1.2.3.4",
		"::1.2.3",
		"::1.2.3.4:5",
		"::01.2.3.4",
		"::.1.2.3",
		"1.2.3.4::",
		"1::2:",
		"1::2:::",
	};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		if (strcmp(parsed(bad[i], false), "none") != 0) {
			printf("# %s is %s\n", bad[i], parsed(bad[i], false));
			CHECK(false);
		}
	}
}

TEST(every_spelling_of_ipv4_is_known) {
	static const char *const loopback[] = {
		"127.0.0.1",        "127.0.0.1.", "127.1",        "127.0.1",           "2130706433",
		"0x7f000001",       "0X7F000001", "017700000001", "0177.0.0.1",        "0x7f.1",
		"0x7f.0x0.0x0.0x1", "127.0.0.01", "127.0x.1",     "0000177.00.0.0001", "127.1.",
	};
	for (size_t i = 0; i < ARRAY_LEN(loopback); i++) {
		CHECK_STR(parsed(loopback[i], true), "127.0.0.1");
	}
	CHECK_STR(parsed("0", true), "0.0.0.0");
	CHECK_STR(parsed("0x", true), "0.0.0.0");
	CHECK_STR(parsed("1.65535", true), "1.0.255.255");
	CHECK_STR(parsed("1.16777215", true), "1.255.255.255");
	CHECK_STR(parsed("4294967295", true), "255.255.255.255");
	CHECK_STR(parsed("::1", true), "::1");
}

TEST(numbers_that_do_not_fit_are_no_address) {
	static const char *const bad[] = {
		"4294967296",  "1.16777216",
		"1.2.65536",   "1.2.3.256",
		"256.1",       "1.2.3.4.5",
		"08",          "0x1g",
		"1..2",        ".1",
		".",           "..",
		"1.2.",        "99999999999999999999999999",
		"0x100000000", "040000000000",
		"127.0.0.1..", "a",
		"1.a",         "-1",
	};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		bool one_dot = strcmp(bad[i], "1.2.") == 0;
		CHECK_STR(parsed(bad[i], true), one_dot ? "1.0.0.2" : "none");
	}
}

/* The system's own reader as an oracle: what it takes, and as what. */
TEST(both_families_agree_with_inet_pton) {
	static const char alphabet[] = "::..0129af";
	unsigned seed = 7;
	size_t good = 0;
	for (size_t i = 0; i < 2000000; i++) {
		char s[24];
		size_t len = 0;
		seed = seed * 1103515245U + 12345U;
		size_t want = 1 + (seed >> 16) % (sizeof s - 2);
		while (len < want) {
			seed = seed * 1103515245U + 12345U;
			s[len++] = alphabet[(seed >> 16) % (sizeof alphabet - 1)];
		}
		s[len] = '\0';
		struct in6_addr six;
		struct ip ip;
		bool got = ip_parse(s, len, &ip);
		bool v6 = strchr(s, ':') != NULL;
		bool expected = inet_pton(v6 ? AF_INET6 : AF_INET, s, &six) == 1;
		struct ip same = v6 ? *(struct ip *)&six : ip_from4((uint8_t *)&six);
		if (got != expected || (got && !ip_same(&ip, &same))) {
			printf("# \"%s\": %d, not %d\n", s, got, expected);
			CHECK(false);
			return;
		}
		good += got;
	}
	CHECK(good > 500);
}

TEST(text_is_read_back_as_the_same_address) {
	unsigned seed = 3;
	for (size_t i = 0; i < 100000; i++) {
		struct ip ip, again;
		char text[IP_TEXT], theirs[INET6_ADDRSTRLEN];
		for (size_t k = 0; k < 16; k++) {
			seed = seed * 1103515245U + 12345U;
			ip.b[k] = seed >> 28 < 9 ? 0 : (uint8_t)(seed >> 16);
		}
		size_t len = ip_text(&ip, text);
		CHECK(ip_parse(text, len, &again) && ip_same(&ip, &again));
		/* The system writes what looks compatible with IPv4 with dots. */
		if (memcmp(ip.b, (uint8_t[12]){0}, 12) != 0 && !ip_is4(&ip)) {
			inet_ntop(AF_INET6, &ip, theirs, sizeof theirs);
			CHECK_STR(text, theirs);
		}
	}
}

static struct network network(const char *s) {
	struct network n = {0};
	if (!ip_network_parse(s, strlen(s), &n)) {
		printf("# %s is no network\n", s);
		CHECK(false);
	}
	return n;
}

static bool holds(const char *net, const char *address) {
	struct network n = network(net);
	struct ip ip = {0};
	CHECK(ip_parse(address, strlen(address), &ip));
	return ip_network_holds(&n, &ip);
}

TEST(a_network_holds_its_addresses_and_no_others) {
	CHECK(holds("10.0.0.0/8", "10.0.0.0"));
	CHECK(holds("10.0.0.0/8", "10.255.255.255"));
	CHECK(!holds("10.0.0.0/8", "9.255.255.255"));
	CHECK(!holds("10.0.0.0/8", "11.0.0.0"));
	CHECK(holds("172.16.0.0/12", "172.31.255.255"));
	CHECK(!holds("172.16.0.0/12", "172.32.0.0"));
	CHECK(holds("fd00::/9", "fd7f::1"));
	CHECK(!holds("fd00::/9", "fd80::"));
	CHECK(holds("1.2.3.4", "::ffff:1.2.3.4"));
	CHECK(!holds("1.2.3.4", "1.2.3.5"));
	CHECK(holds("::ffff:10.0.0.0/104", "10.1.2.3"));
	CHECK(holds("0.0.0.0/0", "255.1.2.3"));
}

TEST(all_of_one_family_holds_nothing_of_the_other) {
	CHECK(holds("::/0", "2001::1"));
	CHECK(!holds("::/0", "1.2.3.4"));
	CHECK(!holds("0.0.0.0/0", "::1"));
	CHECK(!holds("0.0.0.0/0", "::1.2.3.4"));
}

TEST(a_network_is_written_exactly) {
	static const char *const bad[] = {"",
					  "/",
					  "/8",
					  "10.0.0.0/",
					  "10.0.0.0/33",
					  "10.0.0.1/8",
					  "10.0.0.0/08",
					  "::/129",
					  "::1/127",
					  "fd00::1/8",
					  "10.0.0.0/8/8",
					  "10.0.0.0/+8",
					  "10.0.0.0/8 ",
					  "::ffff:0:0/90"};
	struct network n;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		if (ip_network_parse(bad[i], strlen(bad[i]), &n)) {
			printf("# %s\n", bad[i]);
			CHECK(false);
		}
	}
	CHECK_INT(network("10.0.0.0/8").bits, 104);
	CHECK_INT(network("::1").bits, 128);
}

TESTS_MAIN
