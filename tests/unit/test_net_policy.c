/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of net.*: the grammar of hosts, networks, ports and sockets; the mode that a
 * rule implies; wishes that a mode cannot grant; floor and layers. */
#include "policy_world.h"

#include "policy/host_rule.h"
#include "policy/endpoint.h"

/* ---- the grammar of hosts ---- */

static const struct {
	const char *written, *kept;
} good_hosts[] = {
	{"a.example", "a.example"},
	{"A.Example.", "a.example"},
	{"host", "host"},
	{"_srv.a.example", "_srv.a.example"},
	{"xn--bcher-kva.example:443", "xn--bcher-kva.example:443"},
	{"a.example:1", "a.example:1"},
	{"a.example:65535", "a.example:65535"},
	{"a.example:*", "a.example:*"},
	{"*.a.example", "*.a.example"},
	{"*.A.example.:22", "*.a.example:22"},
	{"10.1.2.3", "10.1.2.3"},
	{"10.1.2.3:5432", "10.1.2.3:5432"},
	{"10.1.2.3/32", "10.1.2.3"},
	{"10.0.0.0/8", "10.0.0.0/8"},
	{"10.0.0.0/8:*", "10.0.0.0/8:*"},
	{"0.0.0.0/0", "0.0.0.0/0"},
	{"FD00::1", "fd00::1"},
	{"fd00:0:0::1", "fd00::1"},
	{"[fd00::1]", "fd00::1"},
	{"[fd00::1]:443", "[fd00::1]:443"},
	{"fd00::/8", "fd00::/8"},
	{"[fd00::/8]:22", "[fd00::/8]:22"},
	{"::ffff:10.1.2.3", "10.1.2.3"},
};

TEST(a_rule_about_a_host_is_kept_in_one_form_that_reads_back) {
	WORLD(w);
	for (size_t i = 0; i < ARRAY_LEN(good_hosts); i++) {
		struct host_rule rule, again;
		struct host_fault f;
		char text[HOST_RULE_TEXT], second[HOST_RULE_TEXT];
		CHECK_OK(&w, try(&w, "net.allow", good_hosts[i].written));
		REQUIRE(w.p.values[KEY_NET_ALLOW].count == 1);
		CHECK_STR(w.p.values[KEY_NET_ALLOW].items[0].str, good_hosts[i].kept);
		REQUIRE(host_rule_read(good_hosts[i].written, &rule, &f));
		host_rule_text(&rule, text);
		CHECK_STR(text, good_hosts[i].kept);
		REQUIRE(host_rule_read(text, &again, &f));
		host_rule_text(&again, second);
		CHECK_STR(second, text);
		CHECK_INT(again.port, rule.port);
	}
}

static const struct {
	const char *written, *why, *fix;
} bad_hosts[] = {
	{"", "empty", ""},
	{"https://a.example/x", "URL", "write a.example"},
	{"https://a.example:8443/x?y", "URL", "write a.example:8443"},
	{"a.example/x", "path", "write a.example"},
	{"*", "every name", "--net restricted"},
	{"*.example", "top-level", "*.NAME.example"},
	{"a.*.example", "first label", "*.NAME"},
	{"*a.example", "first label", "*.NAME"},
	{"*.*.example", "first label", "*.NAME"},
	{"*.10.0.0.1", "beneath", ""},
	{"b\xc3\xbc"
	 "cher.example",
	 "ASCII", "xn--"},
	{"0177.0.0.1", "ambiguous", "write 127.0.0.1"},
	{"0x7f.1", "ambiguous", "write 127.0.0.1"},
	{"2130706433", "ambiguous", "write 127.0.0.1"},
	{"10.1.2.3.", "ambiguous", "write 10.1.2.3"},
	{"012.0.0.0/8", "ambiguous", "write 10.0.0.0"},
	{"10.1.2.3/8", "host bits", "write 10.0.0.0/8 for the network, 10.1.2.3"},
	{"fd00::1/8", "host bits", "write fd00::/8"},
	{"10.0.0.0/33", "length", "0 to 32"},
	{"10.0.0.0/08", "length", "0 to 32"},
	{"10.0.0.0/", "length", "0 to 32"},
	{"fd00::/129", "length", "0 to 32"},
	{"a.example:0", "port", ":*"},
	{"a.example:080", "port", ":*"},
	{"a.example:65536", "port", ":*"},
	{"a.example:4294967376", "port", ":*"},
	{"a.example:", "port", ":*"},
	{"a.example:+80", "port", ":*"},
	{"[fd00::1]443", "after ]", ""},
	{"[fd00::1", "bracket", ""},
	{"[a.example]:80", "brackets", ""},
	{"fe80::1%eth0", "zone", ""},
	{"a b.example", "characters", ""},
	{"a..example", "label", ""},
	{"-a.example", "label", ""},
	{"a.example.5", "number", ""},
	{"localhost:3000", "loopback", "--host-port 3000"},
	{"app.localhost", "loopback", "--host-port PORT"},
	{"127.9.9.9", "loopback", "--host-port"},
	{"[::1]:80", "loopback", "--host-port 80"},
	{"127.0.0.0/8", "loopback", "--host-port"},
	{"0.0.0.0:80", "loopback", "--host-port 80"},
	{"::", "loopback", "--host-port"},
	{"@nosuch", "unknown set", "@registries"},
};

TEST(what_is_no_rule_about_a_host_is_refused_with_what_to_write) {
	WORLD(w);
	for (size_t i = 0; i < ARRAY_LEN(bad_hosts); i++) {
		CHECK_FAILS(&w, try(&w, "net.allow", bad_hosts[i].written), ERR_USAGE, "net.allow",
			    "--try", bad_hosts[i].why, bad_hosts[i].fix);
	}
}

TEST(a_login_in_an_address_is_not_shown) {
	static const char *const texts[] = {"https://ann:hunter2@a.example/x",
					    "ann:hunter2@a.example", "ssh://hunter2@a.example",
					    "a@hunter2@a.example"};
	WORLD(w);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		CHECK_FAILS(&w, try(&w, "net.allow", texts[i]), ERR_USAGE, "write a.example");
		CHECK(strstr(w.e.what, "hunter2") == NULL && strstr(w.e.fix, "hunter2") == NULL);
	}
}

TEST(a_deny_may_be_wider_than_an_allow_and_has_no_sets) {
	WORLD(w);
	CHECK_OK(&w, try(&w, "net.deny", "*.example"));
	CHECK_OK(&w, try(&w, "net.deny", "127.0.0.1"));
	CHECK_FAILS(&w, try(&w, "net.deny", "@remotes"), ERR_USAGE, "net.deny", "net.allow");
	CHECK_FAILS(&w, try(&w, "net.deny", "a.*.example"), ERR_USAGE, "first label");
}

TEST(only_private_networks_are_opened_as_such) {
	WORLD(w);
	static const char *const good[] = {"10.0.0.0/8", "192.168.7.0/24", "fd00::/8", "10.1.2.3"};
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		w.in.nsettings = 0;
		set(&w, "net.mode", "restricted", "--net");
		set(&w, "net.private", good[i], "--allow-private");
		CHECK_OK(&w, resolve(&w));
		CHECK_STR(w.p.values[KEY_NET_PRIVATE].items[0].str, good[i]);
	}
	CHECK_FAILS(&w, try(&w, "net.private", "169.254.0.0/16"), ERR_USAGE, "link-local",
		    "--allow-host");
	CHECK_FAILS(&w, try(&w, "net.private", "127.0.0.0/8"), ERR_USAGE, "loopback");
	CHECK_FAILS(&w, try(&w, "net.private", "0.0.0.0/0"), ERR_USAGE, "this host");
	CHECK_FAILS(&w, try(&w, "net.private", "8.8.8.0/24"), ERR_USAGE, "remove it");
	CHECK_FAILS(&w, try(&w, "net.private", "a.example"), ERR_USAGE, "name", "10.0.0.0/8");
	CHECK_FAILS(&w, try(&w, "net.private", "10.0.0.0/8:80"), ERR_USAGE, "port");
	CHECK_FAILS(&w, try(&w, "net.private", "10.0.0.1/8"), ERR_USAGE, "10.0.0.0/8");
}

/* ---- ports and sockets ---- */

TEST(ports_are_numbers_or_pairs_of_them) {
	uint16_t inside = 0, outside = 0;
	WORLD(w);
	CHECK(endpoint_port_pair("3000", &inside, &outside) && inside == 3000 && outside == 3000);
	CHECK(endpoint_port_pair("1:65535", &inside, &outside) && inside == 1 && outside == 65535);
	static const char *const bad[] = {"",      "0",           "65536", "080",  "+80",
					  "80 ",   "80:",         ":80",   "80:0", "80:x",
					  "1:2:3", "99999999999", "-1",    "0x50"};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		CHECK(!endpoint_port_pair(bad[i], &inside, &outside));
		CHECK_FAILS(&w, try(&w, "net.publish", bad[i]), ERR_USAGE, "net.publish",
			    "PORT:HOSTPORT");
		CHECK_FAILS(&w, try(&w, "net.host_ports", bad[i]), ERR_USAGE, "net.host_ports");
	}
	CHECK_FAILS(&w, try(&w, "net.host_ports", "80:81"), ERR_USAGE, "write PORT");
	CHECK_OK(&w, try(&w, "net.publish", "80:80"));
	CHECK_STR(w.p.values[KEY_NET_PUBLISH].items[0].str, "80");
	write_file(w.user,
		   "net.publish = [3000, \"3001:13001\"]\nnet.host_ports = [5432, \"6379\"]\n");
	CHECK_OK(&w, resolve(&w));
	CHECK_STR(w.p.values[KEY_NET_PUBLISH].items[0].str, "3000");
	CHECK_STR(w.p.values[KEY_NET_PUBLISH].items[1].str, "3001:13001");
	CHECK_STR(w.p.values[KEY_NET_HOST_PORTS].items[0].str, "5432");
	write_file(w.user, "net.host_ports = [0]\n");
	CHECK_FAILS(&w, resolve(&w), ERR_USAGE, "user.toml:1", "\"0\"");
	write_file(w.user, "net.allow = [3]\n");
	CHECK_FAILS(&w, resolve(&w), ERR_USAGE, "list of strings");
}

TEST(one_port_leads_to_one_place) {
	WORLD(w);
	set(&w, "net.publish", "3000", "--publish");
	set(&w, "net.publish", "3001:3000", "--publish");
	CHECK_FAILS(&w, resolve(&w), ERR_USAGE, "3000", "3001:3000", "contradicts");
	w.in.nsettings = 0;
	set(&w, "net.publish", "3000:4000", "--publish");
	set(&w, "net.host_ports", "3000", "--host-port");
	CHECK_FAILS(&w, resolve(&w), ERR_USAGE, "--publish", "--host-port");
	w.in.nsettings = 0;
	set(&w, "net.publish", "3000:4000", "--publish");
	set(&w, "net.host_ports", "4000", "--host-port");
	CHECK_OK(&w, resolve(&w));
}

TEST(a_socket_is_a_path_and_perhaps_another_place) {
	WORLD(w);
	CHECK_OK(&w, try(&w, "net.sockets", "/run/a.sock"));
	CHECK_STR(w.p.values[KEY_NET_SOCKETS].items[0].str, "/run/a.sock");
	CHECK_OK(&w, try(&w, "net.sockets", "/run/../run/a.sock:/run//b.sock"));
	CHECK_STR(w.p.values[KEY_NET_SOCKETS].items[0].str, "/run/a.sock:/run/b.sock");
	CHECK_OK(&w, try(&w, "net.sockets", "/run/a.sock:/run/a.sock"));
	CHECK_STR(w.p.values[KEY_NET_SOCKETS].items[0].str, "/run/a.sock");
	CHECK_OK(&w, try(&w, "net.sockets", "/run/a:0"));
	CHECK_STR(w.p.values[KEY_NET_SOCKETS].items[0].str, "/run/a:0");
	CHECK_OK(&w, try(&w, "net.sockets", "s.sock"));
	CHECK_STR(w.p.values[KEY_NET_SOCKETS].items[0].str, arena_printf(&w.a, "%s/s.sock", w.ws));
	CHECK_FAILS(&w, try(&w, "net.sockets", ""), ERR_USAGE, "empty");
	CHECK_FAILS(&w, try(&w, "net.sockets", "/a:/b:/c"), ERR_USAGE, "separates PATH from DEST");
	CHECK(endpoint_socket_split("/a:b") == NULL);
	CHECK_STR(endpoint_socket_split("/a:b:/c"), ":/c");
}

/* ---- the mode ---- */

static enum net mode_of(const struct world *w) {
	return (enum net)policy_num(&w->p, KEY_NET_MODE);
}

TEST(an_allowed_host_means_a_filtered_network_where_nobody_chose_one) {
	char from[SHOWN_MAX];
	WORLD(w);
	CHECK_OK(&w, try(&w, "net.allow", "a.example"));
	CHECK_INT(mode_of(&w), NET_FILTERED);
	CHECK_STR(policy_origin_text(&w.p.values[KEY_NET_MODE].origin, from, sizeof from), "--try");
	CHECK_OK(&w, try(&w, "net.publish", "3000"));
	CHECK_INT(mode_of(&w), NET_NONE);
	CHECK_OK(&w, try(&w, "net.host_ports", "3000"));
	CHECK_INT(mode_of(&w), NET_NONE);
	CHECK_OK(&w, try(&w, "net.deny", "a.example"));
	CHECK_INT(mode_of(&w), NET_NONE);
	CHECK_OK(&w, try(&w, "net.mode", "filtered"));
	CHECK_OK(&w, try(&w, "net.mode", "restricted"));
	CHECK_OK(&w, try(&w, "profile", "coding"));
	CHECK_INT(mode_of(&w), NET_FILTERED);
	CHECK_INT(w.p.values[KEY_NET_ALLOW].count, 2);
	CHECK_INT(w.p.values[KEY_NET_ALLOW].items[0].kind, ITEM_SET);
	write_file(w.user, "net.allow = [\"a.example\"]\n");
	CHECK_OK(&w, resolve(&w));
	CHECK_INT(mode_of(&w), NET_FILTERED);
	CHECK_STR(policy_origin_text(&w.p.values[KEY_NET_MODE].origin, from, sizeof from),
		  arena_printf(&w.a, "%s:1", w.user));
}

TEST(a_mode_that_was_chosen_is_not_widened_by_a_wish) {
	static const struct {
		const char *mode, *key, *value;
		bool good;
	} rows[] = {
		{"none", "net.allow", "a.example", false},
		{"none", "net.private", "10.0.0.0/8", false},
		{"none", "net.proxy", "true", false},
		{"none", "net.deny", "a.example", true},
		{"none", "net.publish", "3000", true},
		{"none", "net.host_ports", "3000", true},
		{"none", "net.sockets", "/run/x", true},
		{"filtered", "net.allow", "a.example", true},
		{"filtered", "net.proxy", "true", true},
		{"restricted", "net.allow", "a.example:22", true},
		{"restricted", "net.deny", "a.example", true},
		{"restricted", "net.private", "10.0.0.0/8", true},
		{"full", "net.allow", "a.example", false},
		{"full", "net.deny", "a.example", false},
		{"full", "net.private", "10.0.0.0/8", false},
		{"full", "net.proxy", "true", false},
		{"full", "net.publish", "3000", false},
		{"full", "net.host_ports", "3000", false},
		{"full", "net.sockets", "/run/x", true},
	};
	WORLD(w);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		w.in.nsettings = 0;
		set(&w, "net.mode", rows[i].mode, "--net");
		set(&w, rows[i].key, rows[i].value, "--wish");
		if (rows[i].good) {
			CHECK_OK(&w, resolve(&w));
			CHECK_STR(keys[KEY_NET_MODE].choices[mode_of(&w)], rows[i].mode);
		} else {
			CHECK_FAILS(&w, resolve(&w), ERR_USAGE, "--net", "--wish", rows[i].key,
				    rows[i].mode);
			CHECK(w.e.fix[0] != '\0');
		}
	}
	CHECK_FAILS(&w, try(&w, "net.proxy", "true"), ERR_USAGE, "built-in", "--net filtered");
	CHECK_FAILS(&w, try(&w, "net.private", "10.0.0.0/8"), ERR_USAGE, "built-in");
}

TEST(a_later_layer_says_the_mode_and_sets_earlier_wishes_aside) {
	WORLD(w);
	write_file(w.user, "net.allow = [\"a.example\"]\nnet.proxy = true\n");
	CHECK_OK(&w, resolve(&w));
	CHECK_OK(&w, try(&w, "net.mode", "none"));
	CHECK_INT(mode_of(&w), NET_NONE);
	CHECK_OK(&w, try(&w, "net.mode", "full"));
	write_file(w.user, "net.mode = \"none\"\n");
	CHECK_FAILS(&w, try(&w, "net.allow", "a.example"), ERR_USAGE, "user.toml:1", "--try",
		    "--net filtered");
	write_file(w.user, "net.mode = \"filtered\"\n");
	CHECK_OK(&w, try(&w, "net.allow", "a.example"));
	write_file(w.user, "");
	set(&w, "profile", "coding", "--profile");
	set(&w, "net.mode", "none", "--net");
	CHECK_OK(&w, resolve(&w));
	CHECK_INT(mode_of(&w), NET_NONE);
	w.in.nsettings = 0;
	set(&w, "profile", "data-analysis", "--profile");
	set(&w, "net.allow", "a.example", "--allow-host");
	CHECK_FAILS(&w, resolve(&w), ERR_USAGE, "profile data-analysis", "--allow-host");
}

TEST(the_floor_bounds_the_mode_that_a_host_implies_and_adds_its_denials) {
	WORLD(w);
	write_file(w.admin, "[floor.net]\nmode = \"none\"\n");
	CHECK_FAILS(&w, try(&w, "net.allow", "a.example"), ERR_REFUSED, "net.mode = filtered",
		    "floor", "--try");
	write_file(w.admin, "[floor.net]\nmode = \"filtered\"\ndeny = [\"bad.example\"]\n");
	CHECK_OK(&w, try(&w, "net.allow", "a.example"));
	REQUIRE(w.p.values[KEY_NET_DENY].count == 1);
	CHECK_INT(w.p.values[KEY_NET_DENY].items[0].origin.kind, ORIGIN_FLOOR);
	CHECK_FAILS(&w, try(&w, "net.mode", "restricted"), ERR_REFUSED, "floor");
	/* A denial of the floor is not set aside by anybody. */
	write_file(w.admin, "[floor.net]\ndeny = [\"bad.example\"]\n");
	CHECK_FAILS(&w, try(&w, "net.mode", "full"), ERR_USAGE, "floor", "net.deny");
	write_file(w.admin, "[floor.net]\nallow = [\"a.example\"]\n");
	CHECK_OK(&w, try(&w, "net.allow", "a.example"));
	CHECK_FAILS(&w, try(&w, "net.allow", "b.example"), ERR_REFUSED, "net.allow", "floor");
}

TEST(the_same_hosts_in_another_spelling_and_order_are_the_same_policy) {
	char first[65];
	WORLD(w);
	set(&w, "net.allow", "B.example.", "--allow-host");
	set(&w, "net.allow", "[FD00::1]:443", "--allow-host");
	set(&w, "net.allow", "b.example", "--allow-host");
	CHECK_OK(&w, resolve(&w));
	CHECK_INT(w.p.values[KEY_NET_ALLOW].count, 2);
	memcpy(first, w.p.sha256, sizeof first);
	w.in.nsettings = 0;
	set(&w, "net.allow", "[fd00:0::1]:443", "--allow-host");
	set(&w, "net.allow", "b.example", "--allow-host");
	CHECK_OK(&w, resolve(&w));
	CHECK_STR(w.p.sha256, first);
}

TEST(what_is_printed_reads_back) {
	struct buf text = {0};
	WORLD(w);
	write_file(w.user,
		   "net.mode = \"filtered\"\nnet.allow = [\"@remotes\", \"*.a.example:*\", "
		   "\"fd00::/8\"]\nnet.deny = [\"x.a.example\"]\nnet.private = [\"10.0.0.0/8\"]\n"
		   "net.proxy = true\nnet.publish = [\"3000:4000\"]\nnet.host_ports = [5432]\n"
		   "net.sockets = [\"/run/a:/run/b\"]\n");
	CHECK_OK(&w, resolve(&w));
	policy_print(&w.p, false, &text);
	char before[65];
	memcpy(before, w.p.sha256, sizeof before);
	write_file(w.user, text.data);
	CHECK_OK(&w, resolve(&w));
	CHECK_STR(w.p.sha256, before);
	buf_done(&text);
}

TESTS_MAIN
