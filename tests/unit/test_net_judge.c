/* SPDX-License-Identifier: Apache-2.0 */
#include "net/judge.h"

#include "base/auto.h"
#include "test.h"

/* ---- a policy in a few words ---- */

static struct net_rule name_rule(enum net_rule_kind kind, const char *name, int port) {
	return (struct net_rule){.kind = kind, .name = name, .port = port, .written = name};
}

static struct network network(const char *s) {
	struct network n = {0};
	if (!ip_network_parse(s, strlen(s), &n)) {
		printf("# %s\n", s);
		CHECK(false);
	}
	return n;
}

static struct net_rule net_rule(const char *s, int port) {
	return (struct net_rule){
		.kind = NET_RULE_NETWORK, .network = network(s), .port = port, .written = s};
}

static struct ip ip_of(const char *s) {
	struct ip ip = {0};
	CHECK(ip_parse(s, strlen(s), &ip));
	return ip;
}

#define EXACT(n, p) name_rule(NET_RULE_NAME, n, p)
#define BENEATH(n, p) name_rule(NET_RULE_BENEATH, n, p)
#define ANY(p) name_rule(NET_RULE_ANY, NULL, p)

#define PLAN(plan, ...)                                                                            \
	struct net_rule plan##_allow[] = {__VA_ARGS__};                                            \
	struct net_plan plan = {.allow = plan##_allow, .nallow = ARRAY_LEN(plan##_allow)}
#define DENY(plan, ...)                                                                            \
	struct net_rule plan##_deny[] = {__VA_ARGS__};                                             \
	plan.deny = plan##_deny;                                                                   \
	plan.ndeny = ARRAY_LEN(plan##_deny)
#define REACH(plan, ...)                                                                           \
	struct network plan##_reach[] = {__VA_ARGS__};                                             \
	plan.reach = plan##_reach;                                                                 \
	plan.nreach = ARRAY_LEN(plan##_reach)

static bool named(const struct net_plan *p, const char *name, uint16_t port) {
	struct net_verdict v = judge_name(p, name, port);
	CHECK(v.allowed ? v.rule != NULL && v.why == NULL : v.why != NULL);
	return v.allowed;
}

static bool at(const struct net_plan *p, const char *s, uint16_t port) {
	struct ip ip = ip_of(s);
	struct net_verdict v = judge_ip(p, &ip, port);
	CHECK(v.allowed ? v.rule != NULL && v.why == NULL : v.why != NULL);
	return v.allowed;
}

static bool leads(const struct net_plan *p, const struct net_rule *by, const char *s,
		  uint16_t port) {
	struct ip ip = ip_of(s);
	struct net_verdict v = judge_target(p, by, &ip, port);
	CHECK(v.allowed || v.why != NULL);
	return v.allowed;
}

/* ---- names ---- */

TEST(nothing_is_allowed_without_a_rule) {
	struct net_plan p = {0};
	CHECK(!named(&p, "a.test", 443));
	CHECK(!named(&p, "a.test", 0));
	CHECK(!at(&p, "11.0.0.1", 443));
	CHECK_STR(judge_name(&p, "a.test", 443).why, "no rule of net.allow matches this name");
}

TEST(a_name_is_that_name_alone) {
	PLAN(p, EXACT("ok.test", NET_PORT_WEB));
	CHECK(named(&p, "ok.test", 443));
	CHECK(named(&p, "ok.test", 80));
	CHECK(named(&p, "ok.test", 0));
	CHECK(!named(&p, "a.ok.test", 443));
	CHECK(!named(&p, "evilok.test", 443));
	CHECK(!named(&p, "ok.test.evil.test", 443));
	CHECK(!named(&p, "ok.tes", 443));
}

TEST(a_star_is_what_lies_beneath_and_not_the_name_itself) {
	PLAN(p, BENEATH("ok.test", NET_PORT_WEB));
	CHECK(named(&p, "a.ok.test", 443));
	CHECK(named(&p, "a.b.ok.test", 443));
	CHECK(!named(&p, "ok.test", 443));
	CHECK(!named(&p, "xok.test", 443));
	CHECK(!named(&p, ".ok.test", 443));
	CHECK(!named(&p, "ok.test.evil.test", 443));
}

TEST(ports) {
	PLAN(p, EXACT("web.test", NET_PORT_WEB), EXACT("ssh.test", 22),
	     EXACT("all.test", NET_PORT_ANY));
	CHECK(!named(&p, "web.test", 22));
	CHECK(named(&p, "ssh.test", 22));
	CHECK(!named(&p, "ssh.test", 443));
	CHECK(named(&p, "ssh.test", 0));
	CHECK(named(&p, "all.test", 5432));
	CHECK_STR(judge_name(&p, "ssh.test", 443).why,
		  "net.allow has this name, but not for this port");
}

TEST(a_later_rule_may_have_the_port) {
	PLAN(p, EXACT("a.test", 22), EXACT("a.test", 8080));
	CHECK(named(&p, "a.test", 8080));
	CHECK(judge_name(&p, "a.test", 8080).rule == &p_allow[1]);
}

TEST(a_deny_wins) {
	PLAN(p, BENEATH("ok.test", NET_PORT_ANY), EXACT("bad.ok.test", NET_PORT_WEB));
	DENY(p, EXACT("bad.ok.test", NET_PORT_WEB), EXACT("half.ok.test", 80),
	     BENEATH("deep.ok.test", NET_PORT_ANY));
	CHECK(!named(&p, "bad.ok.test", 443));
	CHECK(!named(&p, "bad.ok.test", 22)); /* a deny without a port is about all */
	CHECK(!named(&p, "bad.ok.test", 0));
	CHECK(judge_name(&p, "bad.ok.test", 443).rule == &p_deny[0]);
	CHECK(!named(&p, "half.ok.test", 80));
	CHECK(named(&p, "half.ok.test", 443));
	CHECK(named(&p, "half.ok.test", 0));
	CHECK(!named(&p, "x.deep.ok.test", 9));
	CHECK(named(&p, "deep.ok.test", 9));
}

TEST(a_name_whose_every_port_is_denied_is_not_resolved) {
	PLAN(p, EXACT("a.test", 22), EXACT("w.test", NET_PORT_WEB), EXACT("x.test", NET_PORT_WEB));
	DENY(p, EXACT("a.test", 22), EXACT("w.test", 80), EXACT("w.test", 443),
	     EXACT("x.test", 443));
	CHECK(!named(&p, "a.test", 0));
	CHECK(!named(&p, "w.test", 0));
	CHECK(named(&p, "x.test", 0));
	CHECK_STR(judge_name(&p, "w.test", 0).why,
		  "net.deny denies every port that net.allow opens");
}

TEST(any_name_is_any_public_name) {
	PLAN(p, ANY(NET_PORT_WEB));
	CHECK(named(&p, "example.org", 443));
	CHECK(!named(&p, "example.org", 22));
	CHECK(!named(&p, "localhost", 443));
	CHECK(!named(&p, "db.internal", 443));
	CHECK(!named(&p, "nas", 443));
	CHECK(!named(&p, "metadata.google.internal", 0));
	CHECK(!at(&p, "11.0.0.1", 443));
	CHECK(strstr(judge_name(&p, "nas.lan", 443).why, ".lan") != NULL);
}

TEST(a_local_name_can_be_listed) {
	PLAN(p, ANY(NET_PORT_WEB), EXACT("db.internal", 5432));
	CHECK(named(&p, "db.internal", 5432));
	CHECK(!named(&p, "db.internal", 443));
}

TEST(denying_any_name_denies_local_ones_too) {
	PLAN(p, EXACT("a.test", NET_PORT_ANY), EXACT("nas", NET_PORT_ANY));
	DENY(p, ANY(NET_PORT_WEB));
	CHECK(!named(&p, "a.test", 443));
	CHECK(!named(&p, "nas", 443));
}

/* ---- addresses ---- */

TEST(an_address_needs_a_rule_with_addresses) {
	PLAN(p, net_rule("11.0.0.0/24", NET_PORT_WEB), net_rule("2606::/16", 22),
	     EXACT("a.test", NET_PORT_ANY));
	CHECK(at(&p, "11.0.0.66", 443));
	CHECK(at(&p, "11.0.0.66", 0));
	CHECK(!at(&p, "11.0.0.66", 22));
	CHECK(!at(&p, "11.0.1.66", 443));
	CHECK(at(&p, "2606::1", 22));
	CHECK(!at(&p, "2606::1", 443));
	CHECK(!at(&p, "::11.0.0.66", 443));
}

TEST(an_address_is_denied_in_every_form) {
	PLAN(p, net_rule("0.0.0.0/0", NET_PORT_ANY), net_rule("64:ff9b::/96", NET_PORT_ANY));
	DENY(p, net_rule("11.0.0.0/8", NET_PORT_WEB), net_rule("12.0.0.1", 25));
	CHECK(!at(&p, "11.1.1.1", 443));
	CHECK(!at(&p, "11.1.1.1", 22));
	CHECK(!at(&p, "64:ff9b::11.1.1.1", 443));
	CHECK(at(&p, "64:ff9b::12.1.1.1", 443));
	CHECK(!at(&p, "12.0.0.1", 25));
	CHECK(at(&p, "12.0.0.1", 26));
	CHECK(at(&p, "12.0.0.1", 0));
}

TEST(a_wide_network_does_not_speak_of_special_ranges) {
	PLAN(p, net_rule("0.0.0.0/0", NET_PORT_ANY), net_rule("::/0", NET_PORT_ANY));
	CHECK(at(&p, "8.8.8.8", 53));
	CHECK(at(&p, "2606::1", 53));
	CHECK(!at(&p, "127.0.0.1", 53));
	CHECK(!at(&p, "169.254.169.254", 80));
	CHECK(!at(&p, "10.0.0.1", 80));
	CHECK(!at(&p, "::1", 80));
	CHECK(!at(&p, "fd00:ec2::254", 80));
	CHECK(!at(&p, "64:ff9b::127.0.0.1", 80));
	CHECK(!at(&p, "2002:7f00:1::", 80));
}

TEST(a_special_range_can_be_listed_itself) {
	PLAN(p, net_rule("10.1.0.0/16", NET_PORT_ANY), net_rule("169.254.0.0/16", NET_PORT_ANY),
	     net_rule("127.0.0.1", 8080), net_rule("fd00::/8", NET_PORT_ANY),
	     net_rule("100.100.100.200", 80));
	CHECK(at(&p, "10.1.2.3", 5432));
	CHECK(!at(&p, "10.2.2.3", 5432));
	CHECK(at(&p, "169.254.1.1", 80));
	CHECK(!at(&p, "169.254.169.254", 80)); /* has to be named exactly */
	CHECK(at(&p, "127.0.0.1", 8080));
	CHECK(!at(&p, "127.0.0.1", 8081));
	CHECK(at(&p, "fd12::1", 80));
	CHECK(!at(&p, "fd00:ec2::254", 80));
	CHECK(at(&p, "100.100.100.200", 80));
}

/* ---- where names lead ---- */

TEST(a_name_leads_to_public_addresses_only) {
	static const char *const special[] = {
		"127.0.0.1",     "10.0.0.1",    "192.168.1.1", "169.254.169.254", "169.254.1.1",
		"0.0.0.0",       "100.64.0.1",  "224.0.0.1",   "255.255.255.255", "::",
		"::1",           "fe80::1",     "fd00::1",     "fd00:ec2::254",   "64:ff9b::7f00:1",
		"2002:7f00:1::", "::127.0.0.1", "2001:0:1::1", "ff02::1"};
	PLAN(p, EXACT("a.test", NET_PORT_ANY));
	for (size_t i = 0; i < ARRAY_LEN(special); i++) {
		CHECK(!leads(&p, &p_allow[0], special[i], 443));
		CHECK(!leads(&p, &p_allow[0], special[i], 0));
	}
	CHECK(leads(&p, &p_allow[0], "11.0.0.66", 443));
	CHECK(leads(&p, &p_allow[0], "2606::1", 0));
	struct ip ip = ip_of("10.0.0.1");
	CHECK_STR(judge_target(&p, &p_allow[0], &ip, 443).why,
		  "it resolves to a private network, which net.private does not list");
}

TEST(net_private_opens_private_networks_and_nothing_else) {
	PLAN(p, EXACT("a.test", NET_PORT_ANY));
	REACH(p, network("10.0.0.0/8"), network("0.0.0.0/0"), network("::/0"));
	CHECK(leads(&p, &p_allow[0], "10.1.2.3", 443));
	CHECK(leads(&p, &p_allow[0], "fd00::1", 443));
	CHECK(!leads(&p, &p_allow[0], "127.0.0.1", 443));
	CHECK(!leads(&p, &p_allow[0], "169.254.169.254", 443));
	CHECK(!leads(&p, &p_allow[0], "100.100.100.200", 443));
	CHECK(!leads(&p, &p_allow[0], "fe80::1", 443));
	CHECK(!leads(&p, &p_allow[0], "fd00:ec2::254", 443));
	CHECK(!leads(&p, &p_allow[0], "2002:a00:1::", 443));
}

TEST(a_translator_that_is_listed_leads_to_public_addresses) {
	PLAN(p, EXACT("a.test", NET_PORT_ANY));
	REACH(p, network("64:ff9b::/96"), network("192.168.0.0/16"));
	CHECK(leads(&p, &p_allow[0], "64:ff9b::8.8.8.8", 443));
	CHECK(!leads(&p, &p_allow[0], "64:ff9b::10.0.0.1", 443));
	CHECK(leads(&p, &p_allow[0], "64:ff9b::192.168.0.1", 443));
	CHECK(!leads(&p, &p_allow[0], "64:ff9b::127.0.0.1", 443));
}

TEST(a_rule_of_the_hosts_own_configuration_may_lead_to_private_networks) {
	PLAN(p, EXACT("mirror.corp", NET_PORT_WEB), EXACT("a.test", NET_PORT_WEB));
	p_allow[0].may_be_private = true;
	CHECK(leads(&p, &p_allow[0], "10.0.0.1", 443));
	CHECK(!leads(&p, &p_allow[1], "10.0.0.1", 443));
	CHECK(!leads(&p, &p_allow[0], "127.0.0.1", 443));
	CHECK(!leads(&p, &p_allow[0], "169.254.169.254", 443));
	CHECK(!leads(&p, &p_allow[0], "169.254.7.7", 443));
}

TEST(an_address_that_is_listed_may_be_led_to) {
	PLAN(p, EXACT("a.test", NET_PORT_WEB), net_rule("127.0.0.1", 8080),
	     net_rule("10.0.0.0/24", NET_PORT_WEB));
	CHECK(leads(&p, &p_allow[0], "127.0.0.1", 8080));
	CHECK(!leads(&p, &p_allow[0], "127.0.0.1", 8081));
	CHECK(leads(&p, &p_allow[0], "10.0.0.7", 443));
	CHECK(!leads(&p, &p_allow[0], "10.0.1.7", 443));
}

TEST(a_name_does_not_lead_to_a_denied_address) {
	PLAN(p, EXACT("a.test", NET_PORT_ANY));
	DENY(p, net_rule("11.0.0.0/8", NET_PORT_WEB), net_rule("12.0.0.0/8", 25),
	     EXACT("a.test", 26));
	REACH(p, network("64:ff9b::/96"));
	CHECK(!leads(&p, &p_allow[0], "11.0.0.1", 443));
	CHECK(!leads(&p, &p_allow[0], "11.0.0.1", 0));
	CHECK(!leads(&p, &p_allow[0], "64:ff9b::11.0.0.1", 443));
	CHECK(leads(&p, &p_allow[0], "12.0.0.1", 443));
	CHECK(leads(&p, &p_allow[0], "12.0.0.1", 0));
	CHECK(!leads(&p, &p_allow[0], "12.0.0.1", 25));
}

TEST(a_deny_holds_for_the_aliases_of_its_name) {
	static const struct {
		const char *chain[2];
		uint16_t port;
		bool allowed;
	} rows[] = {
		{{NULL}, 0, true},
		{{"cdn.other.test"}, 443, true},
		{{"evil.test"}, 0, false},
		{{"cdn.other.test", "evil.test"}, 80, false},
		{{"a.beneath.test"}, 0, false},
		{{"half.test"}, 0, true}, /* at some port */
		{{"half.test"}, 443, false},
		{{"half.test"}, 80, true},
	};
	PLAN(p, BENEATH("ok.test", NET_PORT_ANY));
	DENY(p, EXACT("evil.test", NET_PORT_ANY), BENEATH("beneath.test", NET_PORT_ANY),
	     EXACT("half.test", 443));
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct dns_answer a = {.nchain = 0};
		for (size_t j = 0; j < 2 && rows[i].chain[j] != NULL; j++) {
			memcpy(a.chain[a.nchain++], rows[i].chain[j], strlen(rows[i].chain[j]) + 1);
		}
		struct net_verdict v = judge_aliases(&p, &p.allow[0], &a, rows[i].port);
		CHECK_INT(v.allowed, rows[i].allowed);
		CHECK(v.allowed ? v.rule == &p.allow[0] : v.rule != NULL && v.why != NULL);
	}
}

TEST(the_denied_ports_of_aliases_are_known_later) {
	struct alias_ports but;
	struct dns_answer a = {.nchain = 1, .chain = {"half.test"}};
	PLAN(p, BENEATH("ok.test", NET_PORT_ANY));
	DENY(p, EXACT("half.test", 443), EXACT("other.test", 80), EXACT("half.test", 8080));
	CHECK(judge_alias_ports(&p, &a, &but));
	CHECK_INT(but.n, 2);
	CHECK(but.rules[0] == &p.deny[0] && but.rules[1] == &p.deny[2]);
	a.nchain = DNS_CHAIN;
	for (size_t i = 0; i < DNS_CHAIN; i++) {
		memcpy(a.chain[i], "half.test", sizeof "half.test");
	}
	CHECK(!judge_alias_ports(&p, &a, &but));
}

/* The ledger cuts longer ones. */
TEST(every_reason_fits_into_a_record) {
	for (size_t i = 0; i < ranges_count; i++) {
		CHECK(strlen(ranges[i].why) < 120);
	}
	for (size_t i = 0; i < range_names_count; i++) {
		CHECK(strlen(range_names[i].why) < 120);
	}
}

TEST(an_address_that_is_listed_itself_is_found_beside_its_network) {
	PLAN(p, net_rule("11.0.0.0/8", NET_PORT_ANY), net_rule("11.0.0.1", 80),
	     net_rule("11.0.0.0/24", NET_PORT_ANY));
	struct ip own = ip_of("11.0.0.1"), other = ip_of("11.0.0.2");
	struct net_verdict v = judge_ip(&p, &own, 80);
	CHECK(judge_is_single_address(&v) && v.rule == &p.allow[1]);
	v = judge_ip(&p, &own, 81);
	CHECK(v.allowed && !judge_is_single_address(&v) && v.rule == &p.allow[2]);
	v = judge_ip(&p, &other, 80);
	CHECK(v.allowed && !judge_is_single_address(&v));
	DENY(p, net_rule("11.0.0.1", NET_PORT_ANY));
	v = judge_ip(&p, &own, 80);
	CHECK(!v.allowed && !judge_is_single_address(&v));
}

TESTS_MAIN
