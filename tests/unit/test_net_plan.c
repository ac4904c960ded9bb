/* SPDX-License-Identifier: Apache-2.0 */
/* The network of a plan: rules, their order, what the command sees of them, and which sockets
 * are passed. */
#include "net_world.h"

#include "data/environment.h"
#include "data/sockets.h"
#include "data/syscalls.h"

/* ---- the mode ---- */

TEST(every_mode_but_full_has_a_network_of_its_own_and_names_need_the_gate) {
	for (enum net mode = NET_NONE; mode <= NET_FULL; mode++) {
		bool names = mode == NET_FILTERED || mode == NET_RESTRICTED;
		struct world w;
		net_world(&w, mode);
		CHECK_INT(build(&w), 0);
		CHECK(w.plan.own_net == (mode != NET_FULL));
		CHECK(w.plan.net.gate == names);
		CHECK(net_has_names(&w.plan.net) == names);
		CHECK_INT(w.plan.net.mode, mode);
		CHECK(((w.plan.traits & TRAIT_GATE) != 0) == names);
		CHECK(!names || (w.plan.broker && (w.plan.traits & TRAIT_BROKER) != 0));
		CHECK_INT(w.plan.guarantees[GUARANTEE_NET_NAMES].state,
			  names ? STATE_ENFORCED : STATE_ABSENT);
		CHECK_INT(w.plan.guarantees[GUARANTEE_NET].state,
			  mode == NET_FULL ? STATE_ABSENT : STATE_ENFORCED);
		const char *tries = env_of(&w, "PIP_RETRIES");
		CHECK((tries == NULL) == (mode == NET_FULL));
		CHECK(tries == NULL || streq(tries, names ? "2" : "0"));
		CHECK((env_of(&w, "npm_config_fetch_retry_mintimeout") != NULL) == names);
		CHECK(env_of(&w, "RES_OPTIONS") == NULL);
		world_done(&w);
	}
}

TEST(what_cannot_be_held_to_is_refused_and_never_run_with_less) {
	struct world w;
	net_world(&w, NET_FILTERED);
	w.h.notify = false;
	w.h.notify_why = "this kernel has no seccomp notification";
	CHECK_INT(build(&w), -1);
	CHECK_INT(w.e.kind, ERR_SETUP);
	CHECK(strstr(w.e.what, "no seccomp notification") != NULL);
	CHECK(strstr(w.e.what, "net.mode filtered (--test)") != NULL && w.e.fix[0] != '\0');
	w.h.notify = true;
	w.h.notify_why = NULL;
	w.h.sockets = false;
	CHECK_INT(build(&w), -1);
	CHECK(strstr(w.e.what, "pidfd_getfd") != NULL);
	w.h.sockets = true;
	set_num(&w, KEY_NESTED, 1);
	CHECK_INT(build(&w), 0); /* the broker knows what a nested sandbox forbids */
	CHECK((w.plan.traits & (TRAIT_DOMAINS | TRAIT_GATE)) == (TRAIT_DOMAINS | TRAIT_GATE));
	world_done(&w);
}

TEST(locals_need_the_gate_too_and_no_names) {
	struct world w;
	net_world(&w, NET_NONE);
	add_item(&w, KEY_NET_PUBLISH, "3001:13001");
	add_item(&w, KEY_NET_PUBLISH, "3000");
	add_item(&w, KEY_NET_HOST_PORTS, "6379");
	add_item(&w, KEY_NET_HOST_PORTS, "5432");
	CHECK_INT(build(&w), 0);
	CHECK(w.plan.net.gate && !net_has_names(&w.plan.net));
	REQUIRE(w.plan.net.npublish == 2 && w.plan.net.nhost_ports == 2);
	CHECK_INT(w.plan.net.publish[0].inside, 3000);
	CHECK_INT(w.plan.net.publish[0].outside, 3000);
	CHECK_INT(w.plan.net.publish[1].outside, 13001);
	CHECK_INT(w.plan.net.host_ports[0], 5432);
	CHECK(strstr(w.plan.net.resolver, "options timeout:0") != NULL);
	w.h.notify = false;
	CHECK_INT(build(&w), -1);
	CHECK(strstr(w.e.what, "net.publish (--rule)") != NULL);
	world_done(&w);
}

TEST(a_port_is_not_the_hosts_and_a_proxys_at_once) {
	struct world w;
	net_world(&w, NET_RESTRICTED);
	set_num(&w, KEY_NET_PROXY, 1);
	add_item(&w, KEY_NET_HOST_PORTS, "3128");
	CHECK_INT(build(&w), -1);
	CHECK_INT(w.e.kind, ERR_USAGE);
	CHECK(strstr(w.e.what, "3128") != NULL);
	world_done(&w);
}

TEST(what_a_later_mode_sets_aside_is_said) {
	struct world w;
	net_world(&w, NET_FULL);
	add_item(&w, KEY_NET_ALLOW, "a.example");
	add_item(&w, KEY_NET_DENY, "b.example");
	add_item(&w, KEY_NET_PUBLISH, "3000");
	CHECK_INT(build(&w), 0);
	CHECK(!w.plan.net.gate && w.plan.net.npublish == 0 && w.plan.net.nallow == 0);
	CHECK(has_note(&w, "net.allow (--rule) has no effect: net.mode is full (--test)"));
	CHECK(has_note(&w, "net.publish"));
	CHECK(has_warning(&w, "net.deny (--rule) has no effect"));
	world_done(&w);
}

TEST(at_level_none_nothing_is_promised_about_names) {
	struct world w;
	net_world(&w, NET_FILTERED);
	set_num(&w, KEY_LEVEL, LEVEL_NONE);
	set_num(&w, KEY_MIN_LEVEL, LEVEL_NONE);
	set_num(&w, KEY_ACCEPT_NO_SANDBOX, 1);
	w.h.notify = w.h.sockets = false;
	CHECK_INT(build(&w), 0);
	CHECK(!w.plan.net.gate);
	CHECK_INT(w.plan.guarantees[GUARANTEE_NET].state, STATE_ABSENT);
	CHECK_INT(w.plan.guarantees[GUARANTEE_NET_NAMES].state, STATE_ABSENT);
	world_done(&w);
}

/* ---- rules ---- */

TEST(rules_are_compiled_and_their_order_does_not_matter) {
	static const char *const written[] = {"b.example",     "*.a.example:22", "10.0.0.0/8:*",
					      "a.example:443", "[fd00::1]:80",   "a.example:443"};
	size_t n = ARRAY_LEN(written);
	for (size_t turn = 0; turn < n; turn++) {
		struct world w;
		net_world(&w, NET_RESTRICTED);
		for (size_t i = 0; i < n; i++) {
			add_item(&w, KEY_NET_ALLOW, written[(i + turn) % n]);
		}
		add_item(&w, KEY_NET_DENY, "x.example");
		add_item(&w, KEY_NET_DENY, "y.example:443");
		CHECK_INT(build(&w), 0);
		const struct net_plan *net = &w.plan.net;
		REQUIRE(net->nallow == 6 && net->ndeny == 2);
		CHECK_STR(net->allow[0].name, "a.example");
		CHECK_INT(net->allow[0].port, 443);
		CHECK_STR(net->allow[1].name, "b.example");
		CHECK_INT(net->allow[1].port, NET_PORT_WEB);
		CHECK_INT(net->allow[2].kind, NET_RULE_BENEATH);
		CHECK_STR(net->allow[2].name, "a.example");
		CHECK_INT(net->allow[2].port, 22);
		CHECK_INT(net->allow[3].kind, NET_RULE_ANY);
		CHECK_INT(net->allow[3].port, NET_PORT_WEB);
		CHECK_INT(net->allow[4].kind, NET_RULE_NETWORK);
		CHECK_INT(net->allow[4].network.bits, 96 + 8);
		CHECK_INT(net->allow[4].port, NET_PORT_ANY);
		CHECK_INT(net->allow[5].network.bits, 128);
		for (size_t i = 0; i < net->nallow; i++) {
			CHECK(!net->allow[i].may_be_private);
		}
		/* Who denies a host means all of it. */
		CHECK_INT(net->deny[0].port, NET_PORT_ANY);
		CHECK_INT(net->deny[1].port, 443);
		world_done(&w);
	}
}

TEST(private_networks_are_sorted) {
	struct world w;
	net_world(&w, NET_RESTRICTED);
	add_item(&w, KEY_NET_PRIVATE, "fd00::/8");
	add_item(&w, KEY_NET_PRIVATE, "192.168.0.0/16");
	add_item(&w, KEY_NET_PRIVATE, "10.0.0.0/8");
	CHECK_INT(build(&w), 0);
	REQUIRE(w.plan.net.nreach == 3);
	CHECK_INT(w.plan.net.reach[0].bits, 96 + 8);
	CHECK_INT(w.plan.net.reach[2].bits, 8);
	world_done(&w);
}

TEST(a_filtered_network_without_a_rule_is_noted) {
	struct world w;
	net_world(&w, NET_FILTERED);
	CHECK_INT(build(&w), 0);
	CHECK(has_note(&w, "no host is allowed"));
	world_done(&w);
}

/* ---- what the command sees ---- */

#define STUB "/run/systemd/resolve/stub-resolv.conf"

TEST(the_resolver_stands_where_the_hosts_link_leads) {
	for (enum view view = VIEW_SYSTEM; view <= VIEW_HOST; view++) {
		struct world w;
		net_world(&w, NET_FILTERED);
		set_num(&w, KEY_FS_VIEW, view);
		put_text(&w, STUB,
			 "# x\nnameserver 9.9.9.9\nsearch a.example b.example \n"
			 "domain c.example\noptions edns0 ndots:3 trust-ad\n");
		CHECK_INT(build(&w), 0);
		check_shape(&w);
		const struct mount *m = mount_at(&w, STUB);
		REQUIRE(m != NULL && m->text != NULL);
		CHECK(m->kind == MOUNT_FILE || m->kind == MOUNT_TEXT);
		CHECK_STR(m->text, "nameserver 127.0.0.53\nsearch c.example\noptions ndots:3\n");
		CHECK(strstr(w.plan.net.resolv_conf, "9.9.9.9") != NULL);
		/* And when the host makes something else of the link, over that. */
		const struct mount *s = w.plan.standby;
		REQUIRE(s != NULL);
		CHECK(s->kind == MOUNT_TEXT && s->steady && s->text == m->text);
		CHECK_STR(s->target, "/etc/resolv.conf");
		CHECK_STR(s->follow, "/etc/resolv.conf");
		world_done(&w);
	}
}

TEST(the_resolver_covers_a_file_of_the_host) {
	struct world w;
	net_world(&w, NET_RESTRICTED);
	drop(&w, "/etc/resolv.conf");
	node(&w, "/etc/resolv.conf", 'f', "nameserver 10.0.0.1\n");
	CHECK_INT(build(&w), 0);
	check_shape(&w);
	const struct mount *m = mount_at(&w, "/etc/resolv.conf");
	REQUIRE(m != NULL);
	CHECK_INT(m->kind, MOUNT_TEXT);
	CHECK_STR(m->text, "nameserver 127.0.0.53\n");
	CHECK(m->steady && w.plan.standby == NULL);
	CHECK_STR(m->follow, "/etc/resolv.conf");
	CHECK_STR(w.plan.net.resolv_conf, "nameserver 10.0.0.1\n");
	/* The minimal view has an /etc of its own. */
	set_num(&w, KEY_FS_VIEW, VIEW_MINIMAL);
	CHECK_INT(build(&w), 0);
	CHECK(kind_is(&w, "/etc/resolv.conf", MOUNT_FILE));
	world_done(&w);
}

TEST(without_names_a_resolver_that_fails_at_once_and_no_helper) {
	for (enum view view = VIEW_MINIMAL; view <= VIEW_HOST; view++) {
		for (int link = 0; link < 2; link++) {
			struct world w;
			net_world(&w, NET_NONE);
			set_num(&w, KEY_FS_VIEW, view);
			if (!link) {
				drop(&w, "/etc/resolv.conf");
				node(&w, "/etc/resolv.conf", 'f', "nameserver 10.0.0.1\n");
			}
			CHECK_INT(build(&w), 0);
			check_shape(&w);
			bool far = link && view != VIEW_MINIMAL;
			const struct mount *m = mount_at(&w, far ? STUB : "/etc/resolv.conf");
			REQUIRE(m != NULL && m->text != NULL);
			CHECK(strstr(m->text, "options timeout:0") != NULL);
			CHECK(m->follow == NULL && w.plan.standby == NULL);
			set_num(&w, KEY_NET_MODE, NET_FULL);
			CHECK_INT(build(&w), 0);
			CHECK(w.plan.net.resolver == NULL);
			world_done(&w);
		}
	}
}

TEST(without_names_and_without_the_hosts_file_etc_stays_the_hosts) {
	struct world w;
	net_world(&w, NET_NONE);
	drop(&w, "/etc/resolv.conf");
	CHECK_INT(build(&w), 0);
	CHECK(kind_is(&w, "/etc", MOUNT_BIND));
	CHECK(mount_at(&w, "/etc/resolv.conf") == NULL);
	CHECK(!has_note(&w, "name server"));
	world_done(&w);
}

TEST(without_a_file_on_the_host_etc_is_a_directory_of_our_own) {
	struct world w;
	net_world(&w, NET_FILTERED);
	drop(&w, "/etc/resolv.conf");
	drop(&w, "/etc/shadow");
	node(&w, "/etc/shadow", 'f', NULL); /* to root it is open */
	CHECK_INT(build(&w), 0);
	CHECK(kind_is(&w, "/etc", MOUNT_DIR));
	CHECK(kind_is(&w, "/etc/resolv.conf", MOUNT_FILE));
	CHECK(kind_is(&w, "/etc/passwd", MOUNT_BIND));
	CHECK(mount_at(&w, "/etc/shadow") == NULL);
	node(&w, "/etc/closed", 'f', NULL);
	w.fs.nodes[w.fs.n - 1].mode = 0600;
	w.h.privileged = true;
	CHECK_INT(build(&w), 0);
	CHECK(mount_at(&w, "/etc/closed") == NULL);
	CHECK(kind_is(&w, "/etc/passwd", MOUNT_BIND));
	CHECK(has_note(&w, "only names of /etc/hosts"));
	world_done(&w);
}

TEST(a_link_that_leads_nowhere_gets_its_file_inside) {
	struct world w;
	net_world(&w, NET_FILTERED);
	drop(&w, STUB);
	CHECK_INT(build(&w), 0);
	check_shape(&w);
	CHECK(kind_is(&w, STUB, MOUNT_FILE));
	CHECK(kind_is(&w, "/etc", MOUNT_BIND));
	world_done(&w);
}

TEST(without_namespaces_the_c_library_asks_by_tcp) {
	struct world w;
	net_world(&w, NET_FILTERED);
	w.h.userns = false;
	CHECK_INT(build(&w), 0);
	CHECK_INT(w.plan.engine, ENGINE_LANDLOCK);
	CHECK_STR(env_of(&w, "RES_OPTIONS"), "use-vc");
	CHECK(w.plan.net.resolver == NULL);
	CHECK((w.plan.traits & TRAIT_GATE) != 0);
	const struct guarantee_report *names = &w.plan.guarantees[GUARANTEE_NET_NAMES];
	CHECK_INT(names->state, STATE_WEAKER);
	CHECK(strstr(names->why, "TCP") != NULL);
	CHECK(strstr(w.plan.guarantees[GUARANTEE_NET].why, "only allowed destinations") != NULL);
	add_item(&w, KEY_ENV_SET, "RES_OPTIONS=timeout:1");
	CHECK_INT(build(&w), 0);
	CHECK_STR(env_of(&w, "RES_OPTIONS"), "timeout:1 use-vc");
	world_done(&w);
}

TEST(proxy_variables_are_set_when_asked_for_and_may_be_replaced) {
	static const char *const names[] = {"http_proxy", "https_proxy", "all_proxy",
					    "no_proxy",   "HTTP_PROXY",  "HTTPS_PROXY",
					    "ALL_PROXY",  "NO_PROXY",    "NODE_USE_ENV_PROXY"};
	struct world w;
	net_world(&w, NET_RESTRICTED);
	CHECK_INT(build(&w), 0);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		CHECK(env_of(&w, names[i]) == NULL);
	}
	set_num(&w, KEY_NET_PROXY, 1);
	add_item(&w, KEY_ENV_SET, "no_proxy=b.example");
	CHECK_INT(build(&w), 0);
	CHECK(w.plan.net.proxy);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		CHECK(env_of(&w, names[i]) != NULL);
	}
	CHECK_STR(env_of(&w, "https_proxy"), "http://127.0.0.1:3128");
	CHECK_STR(env_of(&w, "ALL_PROXY"), "socks5h://127.0.0.1:1080");
	CHECK_STR(env_of(&w, "no_proxy"), "b.example");
	CHECK(env_of(&w, "JAVA_TOOL_OPTIONS") == NULL);
	CHECK_INT(NET_PROXY_HTTP, 3128);
	CHECK_INT(NET_PROXY_SOCKS, 1080);
	world_done(&w);
}

/* ---- sockets ---- */

TEST(rows_of_sockets_match_what_they_are_for) {
	for (size_t i = 0; i < socket_rows_count; i++) {
		CHECK(socket_rows[i].what[0] != '\0' && socket_rows[i].meaning[0] != '\0');
		CHECK(i == 0 || strcmp(socket_rows[i - 1].pattern, socket_rows[i].pattern) < 0);
	}
	static const char *const known[] = {
		"/run/docker.sock",
		"/run/user/1000/bus",
		"/run/dbus/system_bus_socket",
		"/tmp/.X11-unix/X0",
		"/run/user/1/wayland-0",
		"/run/user/1/pulse/native",
		"/tmp/ssh-abc/agent.12",
		"/run/user/1/gnupg/S.gpg-agent",
		"/run/snapd.socket",
		"/run/podman/podman.sock",
		"/run/containerd/containerd.sock",
		"/run/systemd/private",
		"/run/libvirt/libvirt-sock",
		"/run/user/1000/keyring/ssh",
		"/run/user/1/systemd/private",
	};
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		CHECK(socket_row_for(known[i]) != NULL);
	}
	CHECK(socket_row_for("/run/mine/x.sock") == NULL);
	CHECK(socket_row_for("/home/ann/run/docker.sock") == NULL);
}

TEST(a_socket_is_mounted_read_only_and_warned_about) {
	struct world w;
	net_world(&w, NET_NONE);
	node(&w, "/var/run", 'l', "/run");
	node(&w, "/run/mine/x.sock", 's', NULL);
	add_item(&w, KEY_NET_SOCKETS, "/var/run/docker.sock");
	add_item(&w, KEY_NET_SOCKETS, "/run/mine/x.sock:/run/y.sock");
	CHECK_INT(build(&w), 0);
	check_shape(&w);
	const struct mount *m = mount_at(&w, "/run/docker.sock");
	REQUIRE(m != NULL);
	CHECK_INT(m->kind, MOUNT_BIND);
	CHECK(m->is_file && !m->writable && m->reach == REACH_NONE && m->follow == NULL);
	m = mount_at(&w, "/run/y.sock");
	REQUIRE(m != NULL);
	CHECK_STR(m->source, "/run/mine/x.sock");
	CHECK(mount_at(&w, "/run/mine/x.sock") == NULL);
	CHECK_INT(w.plan.net.nsockets, 2);
	CHECK(!w.plan.net.gate);
	CHECK(has_warning(&w, "/run/docker.sock (--rule) is Docker's socket: it gives root on this "
			      "host"));
	CHECK_INT(w.plan.nwarnings, 1);
	CHECK(plan_passes_socket(&w.plan, "/run/docker.sock"));
	CHECK(plan_passes_socket(&w.plan, "/run/y.sock"));
	CHECK(!plan_passes_socket(&w.plan, "/run/mine/x.sock"));
	world_done(&w);
}

TEST(only_what_is_a_socket_and_the_users_is_passed) {
	static const struct {
		const char *path, *why;
	} rows[] = {
		{"/run/none.sock", "no such socket"},
		{"/etc/passwd", "not a socket"},
		{"/home/ann/.local/state/corral/s", "Corral itself"},
		{"/home/ann/work/app/link", "symlink in a writable tree"},
		{"/run/docker.sock:/proc/x", "the sandbox has its own"},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world w;
		net_world(&w, NET_NONE);
		node(&w, "/home/ann/.local/state/corral/s", 's', NULL);
		node(&w, "/home/ann/work/app/link", 'l', "/run/docker.sock");
		add_item(&w, KEY_NET_SOCKETS, rows[i].path);
		CHECK_INT(build(&w), -1);
		CHECK_INT(w.e.kind, ERR_USAGE);
		CHECK(strstr(w.e.what, rows[i].why) != NULL && w.e.fix[0] != '\0');
		world_done(&w);
	}
}

TEST(without_namespaces_the_broker_lets_sockets_pass_at_their_own_place) {
	struct world w;
	net_world(&w, NET_NONE);
	w.h.userns = false;
	add_item(&w, KEY_NET_SOCKETS, "/run/docker.sock");
	CHECK_INT(build(&w), 0);
	CHECK(mount_at(&w, "/run/docker.sock") == NULL);
	CHECK(plan_passes_socket(&w.plan, "/run/docker.sock"));
	CHECK(!plan_passes_socket(&w.plan, "/run/other.sock"));
	add_item(&w, KEY_NET_SOCKETS, "/run/docker.sock:/run/x");
	CHECK_INT(build(&w), -1);
	CHECK(strstr(w.e.what, "mount namespace") != NULL);
	world_done(&w);
}

TEST(without_namespaces_a_pattern_denies_a_socket_that_is_named) {
	static const struct {
		const char *rule;
		bool pattern, passes;
	} rows[] = {
		{"/run/*.sock", true, false},
		{"/run/**", true, false},
		{"/run/*.other", true, true},
		{"/run", false, true}, /* the socket's own name is the more specific */
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world w;
		net_world(&w, NET_NONE);
		w.h.userns = false;
		add_item(&w, KEY_NET_SOCKETS, "/run/docker.sock");
		if (rows[i].pattern) {
			add_pattern(&w, KEY_FS_DENY, rows[i].rule);
		} else {
			add_item(&w, KEY_FS_DENY, rows[i].rule);
		}
		REQUIRE(build(&w) == 0);
		CHECK_INT(plan_passes_socket(&w.plan, "/run/docker.sock"), rows[i].passes);
		world_done(&w);
	}
}

TEST(a_socket_that_a_pattern_of_the_floor_denies_is_refused_at_every_level) {
	for (int userns = 0; userns < 2; userns++) {
		struct world w;
		net_world(&w, NET_NONE);
		w.h.userns = userns != 0;
		add_item(&w, KEY_NET_SOCKETS, "/run/docker.sock");
		add_pattern(&w, KEY_FS_DENY, "/run/*.sock")->origin.kind = ORIGIN_FLOOR;
		CHECK_INT(build(&w), -1);
		CHECK_INT(w.e.kind, ERR_REFUSED);
		CHECK(strstr(w.e.what, "floor") != NULL);
		world_done(&w);
	}
}

/* ---- what is said ---- */

TEST(explain_shows_mode_rules_and_locals) {
	struct world w;
	net_world(&w, NET_RESTRICTED);
	add_item(&w, KEY_NET_ALLOW, "[fd00::1]:22");
	add_item(&w, KEY_NET_DENY, "bad.example");
	add_item(&w, KEY_NET_PRIVATE, "10.0.0.0/8");
	add_item(&w, KEY_NET_PUBLISH, "3000:4000");
	add_item(&w, KEY_NET_HOST_PORTS, "5432");
	set_num(&w, KEY_NET_PROXY, 1);
	CHECK_INT(build(&w), 0);
	static const char *const lines[] = {
		"network    restricted (public hosts at ports 80 and 443)\n",
		"  allow    *   # every public name: net.mode is restricted, --test\n",
		"  allow    [fd00::1]:22   # --rule\n",
		"  deny     bad.example:*   # --rule\n",
		"  private  10.0.0.0/8   # allowed names may resolve to it\n",
		"  publish  3000   # at 127.0.0.1:4000 of this host\n",
		"  host     5432   # of this host's loopback\n",
		"  proxy    127.0.0.1:3128, 127.0.0.1:1080   # HTTP, SOCKS5\n",
	};
	char *text = explained(&w, false);
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		CHECK(strstr(text, lines[i]) != NULL);
	}
	free(text);
	text = explained(&w, true);
	CHECK(strstr(text, "\"network\":\"restricted\"") != NULL);
	CHECK(strstr(text, "\"host\":\"[fd00::1]:22\"") != NULL);
	CHECK(strstr(text, "\"publish\":[{\"inside\":3000,\"outside\":4000}]") != NULL);
	free(text);
	world_done(&w);
}

TESTS_MAIN
