/* SPDX-License-Identifier: Apache-2.0 */
#include "net/url.h"

#include "base/auto.h"
#include "test.h"

static const char *judged_in(const char *s, struct url_reach reach) {
	static char out[400];
	char text[IP_TEXT] = "";
	struct url u;
	struct url_verdict v = url_judge(s, strlen(s), reach, &u);
	if (!v.allowed) {
		CHECK((v.why != NULL) != (v.what != NULL));
		CHECK(v.remedy != NULL);
		(void)snprintf(out, sizeof out, "%s: %s", url_rule_name(v.rule),
			       v.why != NULL ? v.why : v.what);
		return out;
	}
	if (u.host.kind == HOST_IP) {
		ip_text(&u.host.ip, text);
	}
	(void)snprintf(out, sizeof out, "%s %s%s %d", u.https ? "https" : "http", u.host.name, text,
		       u.port);
	return out;
}

static const char *judged(const char *s) {
	return judged_in(s, (struct url_reach){0});
}

/* Which rule refuses it. */
static void refused(const char *rule, const char *s) {
	const char *got = judged(s);
	if (strncmp(got, rule, strlen(rule)) != 0 || got[strlen(rule)] != ':') {
		printf("# %s: \"%s\", not by %s\n", s, got, rule);
		CHECK(false);
	}
}

TEST(a_plain_url_names_host_and_port) {
	CHECK_STR(judged("http://example.org"), "http example.org 80");
	CHECK_STR(judged("https://Example.ORG/"), "https example.org 443");
	CHECK_STR(judged("HTTPS://example.org:8443/a?b#c"), "https example.org 8443");
	CHECK_STR(judged("https://example.org./x"), "https example.org 443");
	CHECK_STR(judged("https://example.org?q=1"), "https example.org 443");
	CHECK_STR(judged("https://example.org#x"), "https example.org 443");
	CHECK_STR(judged("https://xn--bcher-kva.example/"), "https xn--bcher-kva.example 443");
	CHECK_STR(judged("http://8.8.8.8/"), "http 8.8.8.8 80");
	CHECK_STR(judged("http://[2606:4700::1111]:81/"), "http 2606:4700::1111 81");
	CHECK_STR(judged("https://example.org/a@b\\c//d:e%00"), "https example.org 443");
	CHECK_STR(judged("https://example.org/\xc3\xa9"), "https example.org 443");
}

TEST(only_http_and_https) {
	refused("scheme", "ftp://example.org/");
	refused("scheme", "file:///etc/passwd");
	refused("scheme", "gopher://127.0.0.1:6379/_x");
	refused("scheme", "data:text/plain,x");
	refused("scheme", "javascript:alert(1)");
	refused("scheme", "httpx://example.org/");
	refused("scheme", "ws://example.org/");
	refused("form", "example.org");
	refused("form", "//example.org/");
	refused("form", "://example.org/");
	refused("form", "");
}

TEST(what_readers_take_differently_is_refused) {
	refused("form", "http:example.org");
	refused("form", "http:/example.org");
	refused("form", "http:///example.org");
	refused("form", "http:\\\\example.org");
	refused("form", "http:/\\example.org");
	refused("form", "http://\\example.org");
	refused("form", "http://a.example\\@b.example/");
	refused("form", "http://a.example\\b");
	refused("form", "http://a.example#@b.example/");
	refused("form", "http://a.example?@b.example/");
	refused("form", "http://a.example?\\@b.example/");
	refused("host", "http://a.example@b.example/");
	refused("host", "http://a.example:80@b.example/");
	refused("host", "http://a@b@c.example/");
	refused("host", "http://%65xample.org/");
	refused("host", "http://example%2eorg/");
	refused("host", "http://127.0.0.1%00.example.org/");
	refused("form", " http://example.org");
	refused("form", "http://example.org ");
	refused("form", "http://exa\tmple.org/");
	refused("form", "ht\ntp://example.org/");
	refused("form", "http://example.org/a\r\nHost: b");
}

TEST(what_is_no_host_is_refused) {
	refused("form", "http://");
	refused("host", "http://?");
	refused("host", "http://:80/");
	refused("host", "http://example.org:/");
	refused("host", "http://example.org:0/");
	refused("host", "http://example.org:080/");
	refused("host", "http://example.org:65536/");
	refused("host", "http://example.org:80:80/");
	refused("host", "http://::1/");
	refused("host", "http://[::1/");
	refused("host", "http://[::1%25eth0]/");
	refused("host", "http://[fe80::1%eth0]/");
	refused("host", "http://[1.2.3.4]/");
	refused("host", "http://b\xc3\xbc"
			"cher.example/");
	refused("host", "http://a\xe3\x80\x82"
			"b.example/");
	refused("host", "http://exa|mple.org/");
	refused("host", "http://a..b/");
	refused("host", "http://a.1/");
	refused("host", "http://1.2.3.4.5/");
}

TEST(every_spelling_of_a_local_address_is_refused_as_such) {
	static const char *const loopback[] = {
		"127.0.0.1",
		"127.1",
		"2130706433",
		"0x7f.1",
		"0177.0.0.1",
		"0x7f000001",
		"127.0.0.1.",
		"017700000001",
		"[::1]",
		"[0:0:0:0:0:0:0:1]",
		"[::ffff:127.0.0.1]",
		"[::ffff:7f00:1]",
		"[::127.0.0.1]",
		"[64:ff9b::7f00:1]",
		"[2002:7f00:1::]",
		"0",
		"0.0.0.0",
		"[::]",
	};
	for (size_t i = 0; i < ARRAY_LEN(loopback); i++) {
		char s[80];
		(void)snprintf(s, sizeof s, "http://%s:8080/", loopback[i]);
		refused("address", s);
	}
	CHECK_STR(judged("http://169.254.169.254/latest/meta-data/"),
		  "address: a cloud's metadata service");
	CHECK_STR(judged("http://[fd00:ec2::254]/"), "address: a cloud's metadata service");
	CHECK_STR(judged("http://10.1.2.3/"), "address: a private network");
	CHECK_STR(judged("http://255.255.255.255/"), "address: the broadcast address");
}

TEST(odd_spellings_of_public_addresses_are_refused_too) {
	refused("host", "http://010.8.8.8/");
	refused("host", "http://134744072/");
	refused("host", "http://8.8.2056/");
	refused("host", "http://0x8.8.8.8:80/");
	refused("host", "http://8.8.8.8./");
	refused("host", "http://[::ffff:8.8.8.8]/");
}

TEST(names_of_local_networks_are_refused) {
	static const char *const local[] = {
		"localhost",     "LOCALHOST.",    "a.localhost",
		"printer.local", "x.internal",    "metadata.google.internal",
		"metadata",      "metadata.goog", "instance-data",
		"intranet",      "nas.lan"};
	for (size_t i = 0; i < ARRAY_LEN(local); i++) {
		char s[80];
		(void)snprintf(s, sizeof s, "https://%s/", local[i]);
		refused("name", s);
	}
}

TEST(private_networks_open_to_who_lists_them) {
	struct network list[3];
	CHECK(ip_network_parse("10.0.0.0/8", 10, &list[0]));
	CHECK(ip_network_parse("127.0.0.0/8", 11, &list[1]));
	CHECK(ip_network_parse("64:ff9b::/96", 12, &list[2]));
	struct url_reach reach = {list, ARRAY_LEN(list)};
	CHECK_STR(judged_in("http://10.1.2.3/", reach), "http 10.1.2.3 80");
	CHECK_STR(judged_in("http://192.168.2.3/", reach), "address: a private network");
	CHECK_STR(judged_in("http://127.0.0.1/", reach), "address: the loopback");
	CHECK_STR(judged_in("http://[64:ff9b::8.8.8.8]/", reach), "http 64:ff9b::808:808 80");
	CHECK_STR(judged_in("http://[64:ff9b::10.8.8.8]/", reach), "http 64:ff9b::a08:808 80");
	CHECK_STR(judged_in("http://[64:ff9b::192.168.8.8]/", reach), "address: a private network");
	CHECK_STR(judged_in("http://0x0a.1.2.3/", reach),
		  "host: its address is written in a form that programs read differently");
}

TEST(length_is_bounded) {
	static char s[URL_MAX + 2] = "http://example.org/";
	memset(s + 19, 'a', sizeof s - 20);
	CHECK_STR(judged(s), "form: it is longer than 16 KiB");
	s[URL_MAX] = '\0';
	CHECK_STR(judged(s), "http example.org 80");
}

TESTS_MAIN
