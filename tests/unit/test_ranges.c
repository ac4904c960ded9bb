/* SPDX-License-Identifier: Apache-2.0 */
#include "data/ranges.h"

#include "base/auto.h"
#include "test.h"

static struct ip ip_of(const char *s) {
	struct ip ip = {0};
	if (!ip_parse(s, strlen(s), &ip)) {
		printf("# %s\n", s);
		CHECK(false);
	}
	return ip;
}

static const char *row(const char *s) {
	struct ip ip = ip_of(s);
	const struct range *r = range_of(&ip);
	return r == NULL ? "public" : r->text;
}

TEST(every_row_is_what_its_text_says) {
	for (size_t i = 0; i < ranges_count; i++) {
		struct network n;
		const struct range *r = &ranges[i];
		if (!ip_network_parse(r->text, strlen(r->text), &n) || n.bits != r->network.bits ||
		    !ip_same(&n.ip, &r->network.ip)) {
			printf("# %s\n", r->text);
			CHECK(false);
		}
	}
}

TEST(rows_are_unique) {
	for (size_t i = 0; i < ranges_count; i++) {
		for (size_t k = 0; k < i; k++) {
			CHECK(strcmp(ranges[i].text, ranges[k].text) != 0);
		}
	}
	for (size_t i = 1; i < range_names_count; i++) {
		CHECK(strcmp(range_names[i - 1].name, range_names[i].name) < 0);
	}
}

/* The first and last address of each range, and what lies before and behind it. */
TEST(ranges_hold_to_their_edges) {
	static const struct {
		const char *text, *first, *last, *before, *behind;
	} edges[] = {
		{"0.0.0.0/8", "0.0.0.0", "0.255.255.255", NULL, "1.0.0.0"},
		{"10.0.0.0/8", "10.0.0.0", "10.255.255.255", "9.255.255.255", "11.0.0.0"},
		{"100.64.0.0/10", "100.64.0.0", "100.127.255.255", "100.63.255.255", "100.128.0.0"},
		{"127.0.0.0/8", "127.0.0.0", "127.255.255.255", "126.255.255.255", "128.0.0.0"},
		{"168.63.129.16/32", "168.63.129.16", "168.63.129.16", "168.63.129.15",
		 "168.63.129.17"},
		{"169.254.0.0/16", "169.254.0.0", "169.254.255.255", "169.253.255.255",
		 "169.255.0.0"},
		{"172.16.0.0/12", "172.16.0.0", "172.31.255.255", "172.15.255.255", "172.32.0.0"},
		{"192.0.0.0/24", "192.0.0.0", "192.0.0.255", "191.255.255.255", "192.0.1.0"},
		{"192.0.2.0/24", "192.0.2.0", "192.0.2.255", "192.0.1.255", "192.0.3.0"},
		{"192.88.99.0/24", "192.88.99.0", "192.88.99.255", "192.88.98.255", "192.88.100.0"},
		{"192.168.0.0/16", "192.168.0.0", "192.168.255.255", "192.167.255.255",
		 "192.169.0.0"},
		{"198.18.0.0/15", "198.18.0.0", "198.19.255.255", "198.17.255.255", "198.20.0.0"},
		{"198.51.100.0/24", "198.51.100.0", "198.51.100.255", "198.51.99.255",
		 "198.51.101.0"},
		{"203.0.113.0/24", "203.0.113.0", "203.0.113.255", "203.0.112.255", "203.0.114.0"},
		{"224.0.0.0/4", "224.0.0.0", "239.255.255.255", "223.255.255.255", NULL},
		{"240.0.0.0/4", "240.0.0.0", "255.255.255.254", NULL, NULL},
		{"255.255.255.255/32", "255.255.255.255", "255.255.255.255", NULL, NULL},
		{"::/3", "0:0:0:1::", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", NULL, "2000::"},
		{"::/128", "::", "::", NULL, NULL},
		{"::1/128", "::1", "::1", NULL, NULL},
		{"64:ff9b::/96", "64:ff9b::100:0", "64:ff9b::dfff:ffff", NULL, NULL},
		{"64:ff9b:1::/48", "64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff", NULL, NULL},
		{"100::/64", "100::", "100::ffff:ffff:ffff:ffff", NULL, NULL},
		{"2001::/23", "2001:1::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", NULL,
		 "2001:200::"},
		{"2001:db8::/32", "2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
		 "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db9::"},
		{"3fff::/20", "3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff",
		 "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff:1000::"},
		{"4000::/2", "4000::", "7fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
		 "3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", NULL},
		{"8000::/1", "8000::", "fbff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", NULL, NULL},
		{"fc00::/7", "fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", NULL, NULL},
		{"fe80::/10", "fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", NULL, NULL},
		{"fec0::/10", "fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", NULL, NULL},
		{"ff00::/8", "ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", NULL, NULL},
	};
	for (size_t i = 0; i < ARRAY_LEN(edges); i++) {
		CHECK_STR(row(edges[i].first), edges[i].text);
		CHECK_STR(row(edges[i].last), edges[i].text);
		CHECK_STR(edges[i].before == NULL ? "public" : row(edges[i].before), "public");
		CHECK_STR(edges[i].behind == NULL ? "public" : row(edges[i].behind), "public");
	}
}

TEST(metadata_services_are_rows_of_their_own) {
	static const char *const all[] = {"169.254.169.254",  "169.254.170.2",    "169.254.170.23",
					  "100.100.100.200",  "192.0.0.192",      "169.254.0.23",
					  "169.254.42.42",    "168.63.129.16",    "fd00:ec2::254",
					  "fd00:ec2::23",     "fd20:ce::254",     "fd00:42::42",
					  "fd00:a9fe:a9fe::", "fd00:a9fe:a9fe::1"};
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		struct ip ip = ip_of(all[i]);
		const struct range *r = range_of(&ip);
		CHECK(r != NULL && r->kind == RANGE_METADATA);
	}
}

TEST(an_address_inside_an_address_is_found) {
	CHECK_STR(row("::ffff:127.0.0.1"), "127.0.0.0/8");
	CHECK_STR(row("::ffff:8.8.8.8"), "public");
	CHECK_STR(row("::127.0.0.1"), "127.0.0.0/8");
	CHECK_STR(row("::8.8.8.8"), "::/96");
	CHECK_STR(row("64:ff9b::127.0.0.1"), "127.0.0.0/8");
	CHECK_STR(row("64:ff9b::10.0.0.1"), "10.0.0.0/8");
	CHECK_STR(row("64:ff9b::169.254.169.254"), "169.254.169.254/32");
	CHECK_STR(row("2002:7f00:1::"), "127.0.0.0/8");
	CHECK_STR(row("2002:a9fe:a9fe::1"), "169.254.169.254/32");
	CHECK_STR(row("2002:808:808::1"), "2002::/16");
	CHECK_STR(row("2001:0:808:808::80ff:fffe"), "127.0.0.0/8");
	CHECK_STR(row("2001:0:808:808::f7f7:f7f7"), "2001::/32");
}

/* A private address may be opened up; these forms of it may not. */
TEST(a_tunnel_does_not_become_private_by_what_it_carries) {
	CHECK_STR(row("2002:a00:1::"), "2002::/16");
	CHECK_STR(row("::10.0.0.1"), "::/96");
	CHECK_STR(row("2001:0:808:808::f5ff:fffe"), "2001::/32");
}

TEST(public_addresses_are_public) {
	static const char *const all[] = {"1.1.1.1",         "8.8.8.8",      "11.0.0.66",
					  "100.128.0.1",     "172.32.0.1",   "223.255.255.255",
					  "2606:4700::1111", "2a00:1450::1", "2003::1"};
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		CHECK_STR(row(all[i]), "public");
	}
}

TEST(names_of_the_local_network_are_known) {
	static const char *const local[] = {
		"localhost",
		"a.localhost",
		"local",
		"printer.local",
		"metadata.google.internal",
		"metadata.aws.internal",
		"internal",
		"metadata",
		"instance-data",
		"metadata.goog",
		"x.metadata.goog",
		"router",
		"nas.lan",
		"x.home.arpa",
		"kubernetes.default.svc",
		"a.svc.cluster.local",
		"localhost.localdomain",
	};
	static const char *const open[] = {"example.com",
					   "local.example",
					   "notlocal.example",
					   "mylocal.de",
					   "internal.example.org",
					   "metadata.example",
					   "a.b",
					   "homes.arpa"};
	for (size_t i = 0; i < ARRAY_LEN(local); i++) {
		CHECK(range_of_name(local[i]) != NULL);
	}
	for (size_t i = 0; i < ARRAY_LEN(open); i++) {
		CHECK(range_of_name(open[i]) == NULL);
	}
}

TESTS_MAIN
