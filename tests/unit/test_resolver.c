/* SPDX-License-Identifier: Apache-2.0 */
/* The resolver's tables, and what its askers may do while it calls them.
 *
 * resolver_against_servers.py has the rest: real servers on port 53. */
#include "test.h"

#include "base/auto.h"
#include "base/str.h"
#include "gate/dns/cache.h"
#include "gate/dns/hosts.h"
#include "gate/dns/lookup_sync.h"
#include "gate/dns/resolv_conf.h"

#include <arpa/inet.h>
#include <errno.h>
#include <sys/mman.h>
#include <sys/socket.h>

static void *zeroed(size_t size) {
	void *place = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (place == MAP_FAILED) {
		abort();
	}
	return place;
}

/* ---- the hosts file ---- */

static struct hosts *hosts_of(const char *text) {
	struct hosts *h = zeroed(sizeof *h);
	hosts_read(h, text);
	return h;
}

TEST(a_hosts_file_is_read_line_by_line) {
	struct hosts *h = hosts_of("10.0.0.1 a.test b.test\r\n"
				   "\t10.0.0.2\ta.test#c.test\n"
				   "#10.0.0.3 d.test\n"
				   "\n"
				   "10.0.0.1 a.test\n"
				   "::1 E.Test. e.test\n"
				   "10.0.0.256 f.test\n"
				   "0x7f.1 f.test\n"
				   "10.0.0.4\n"
				   "10.0.0.5 f..test 10.1.1.1 -f.test g.test");
	struct dns_answer v4, v6;
	CHECK(hosts_find(h, "a.test", &v4, &v6));
	REQUIRE(v4.nips == 2 && v6.nips == 0);
	CHECK_INT(v4.ips[0].b[15], 1);
	CHECK_INT(v4.ips[1].b[15], 2);
	CHECK(hosts_find(h, "b.test", &v4, &v6) && v4.nips == 1);
	CHECK(hosts_find(h, "e.test", &v4, &v6) && v4.nips == 0 && v6.nips == 1);
	CHECK(hosts_find(h, "g.test", &v4, &v6) && v4.ips[0].b[15] == 5);
	static const char *const absent[] = {"c.test", "d.test", "f.test", "10.1.1.1", "test", ""};
	for (size_t i = 0; i < ARRAY_LEN(absent); i++) {
		CHECK(!hosts_find(h, absent[i], &v4, &v6));
	}
	(void)munmap(h, sizeof *h);
}

TEST(localhost_is_this_host_unless_the_file_says_otherwise) {
	struct hosts *h = hosts_of("10.0.0.1 b.localhost\n");
	struct dns_answer v4, v6;
	CHECK(hosts_find(h, "localhost", &v4, &v6) && v4.nips == 1 && v6.nips == 1);
	CHECK_INT(v4.ips[0].b[12], 127);
	CHECK(hosts_find(h, "a.localhost", &v4, &v6) && v6.ips[0].b[15] == 1);
	CHECK(hosts_find(h, "b.localhost", &v4, &v6) && v4.ips[0].b[12] == 10 && v6.nips == 0);
	CHECK(!hosts_find(h, "notlocalhost", &v4, &v6));
	CHECK(!hosts_find(h, "localhost.test", &v4, &v6));
	(void)munmap(h, sizeof *h);
}

TEST(the_names_of_an_address_are_listed) {
	struct hosts *h = hosts_of("10.0.0.1 a.test b.test\n10.0.0.2 c.test\n10.0.0.1 d.test\n");
	static const char *const names[] = {"a.test", "b.test", "d.test"};
	struct ip ip = ip_from4((const uint8_t[]){10, 0, 0, 1});
	size_t at = 0;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		CHECK_STR(hosts_name(h, &ip, &at), names[i]);
	}
	CHECK(hosts_name(h, &ip, &at) == NULL);
	(void)munmap(h, sizeof *h);
}

/* Files that block advertisers are that long. */
TEST(a_hosts_file_that_is_too_long_is_read_as_far_as_it_goes) {
	size_t lines = HOSTS_NAMES + 100, len = 0;
	auto_free char *text = malloc(lines * 40);
	struct dns_answer v4, v6;
	REQUIRE(text != NULL);
	for (size_t i = 0; i < lines; i++) {
		len += (size_t)snprintf(text + len, 40, "0.0.0.0 host-%zu.test\n", i);
	}
	struct hosts *h = hosts_of(text);
	CHECK_INT(h->count, HOSTS_NAMES);
	CHECK(hosts_find(h, "host-0.test", &v4, &v6) && hosts_find(h, "host-65535.test", &v4, &v6));
	CHECK(!hosts_find(h, "host-65536.test", &v4, &v6));
	(void)munmap(h, sizeof *h);

	/* Fewer names, and longer ones. */
	char name[HOSTNAME_MAX + 1];
	memset(name, 'a', sizeof name);
	for (size_t i = 50; i < HOSTNAME_MAX; i += 51) {
		name[i] = '.';
	}
	lines = HOSTS_TEXT / sizeof name + 100;
	auto_free char *longer = malloc(lines * 300);
	REQUIRE(longer != NULL);
	len = 0;
	for (size_t i = 0; i < lines; i++) {
		len += (size_t)snprintf(longer + len, 300, "::1 %05zu%.248s\n", i, name);
	}
	h = hosts_of(longer);
	CHECK(h->count < lines && h->count > lines - 200);
	(void)munmap(h, sizeof *h);
}

TEST(more_addresses_of_a_name_than_the_bound_are_left_out) {
	char text[1024];
	size_t len = 0;
	struct dns_answer v4, v6;
	for (int i = 0; i < DNS_ADDRESSES + 9; i++) {
		len += (size_t)snprintf(text + len, sizeof text - len, "10.0.0.%d a.test\n", i);
	}
	struct hosts *h = hosts_of(text);
	CHECK(hosts_find(h, "a.test", &v4, &v6));
	CHECK_INT(v4.nips, DNS_ADDRESSES);
	(void)munmap(h, sizeof *h);
}

/* ---- resolv.conf ---- */

TEST(servers_are_read_as_libc_reads_them) {
	static const struct {
		const char *conf;
		size_t count;
		const char *first;
	} rows[] = {
		{"", 1, "127.0.0.1"},
		{"nameserver 10.0.0.1\nnameserver 10.0.0.2\n", 2, "10.0.0.1"},
		{"nameserver 1.1.1.1\nnameserver 1.1.1.2\nnameserver 1.1.1.3\nnameserver 1.1.1.4\n",
		 3, "1.1.1.1"},
		{" nameserver 10.0.0.1\nnameserver\t10.0.0.2", 1, "10.0.0.2"},
		{"nameserver 127.1\n", 1, "127.0.0.1"},
		{"nameserver 10.0.0.1;x\n", 1, "10.0.0.1"},
		{"nameserver x\nnameserver 10.0.0.1%lo\nnameservers 1.1.1.1\n", 1, "127.0.0.1"},
	};
	char text[INET_ADDRSTRLEN];
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct resolv_conf s;
		resolv_conf_read(&s, rows[i].conf, 2000);
		CHECK_INT(s.count, rows[i].count);
		CHECK(s.named == !streq(rows[i].first, "127.0.0.1") ||
		      streq(rows[i].conf, "nameserver 127.1\n"));
		CHECK_STR(inet_ntop(AF_INET, &s.list[0].address.v4.sin_addr, text, sizeof text),
			  rows[i].first);
		CHECK_INT(ntohs(s.list[0].address.v4.sin_port), 53);
		CHECK_INT(s.timeout_ms, 2000);
	}
}

TEST(a_zone_is_an_interface) {
	struct resolv_conf s;
	resolv_conf_read(&s, "nameserver fe80::1%lo\nnameserver fe80::1%7\nnameserver fe80::1\n",
			 1);
	REQUIRE(s.count == 3);
	CHECK_INT(s.list[0].address.v6.sin6_scope_id, 1);
	CHECK_INT(s.list[1].address.v6.sin6_scope_id, 7);
	CHECK_INT(s.list[2].address.v6.sin6_scope_id, 0);
	resolv_conf_read(&s, "nameserver fe80::1%no-such-one\nnameserver fe80::1%\n", 1);
	CHECK_INT(s.list[0].address.any.sa_family, AF_INET);
}

TEST(options_are_read_within_libcs_bounds) {
	static const struct {
		const char *conf;
		unsigned timeout_ms, attempts;
		bool rotate, use_vc;
	} rows[] = {
		{"options timeout:1 attempts:3\n", 1000, 3, false, false},
		{"options timeout:0 attempts:0\n", 1000, 1, false, false},
		{"options timeout:99999999999999999999 attempts:6\n", 30000, 5, false, false},
		{"options timeout: attempts:x timeout:-1\n", 2000, 2, false, false},
		{"options rotate\noptions ndots:3 use-vc edns0\n", 2000, 2, true, true},
		{"options rotated use-vcs\noption rotate\n", 2000, 2, false, false},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct resolv_conf s;
		resolv_conf_read(&s, rows[i].conf, 2000);
		CHECK_INT(s.timeout_ms, rows[i].timeout_ms);
		CHECK_INT(s.attempts, rows[i].attempts);
		CHECK_INT(s.rotate, rows[i].rotate);
		CHECK_INT(s.use_vc, rows[i].use_vc);
	}
}

TEST(a_shunned_server_is_not_first_until_its_time) {
	struct resolv_conf s;
	resolv_conf_read(&s, "nameserver 10.0.0.1\nnameserver 10.0.0.2\n", 1);
	CHECK_INT(resolv_conf_first_server(&s, 100), 0);
	s.list[0].avoid_until = 200;
	CHECK_INT(resolv_conf_first_server(&s, 100), 1);
	CHECK_INT(resolv_conf_first_server(&s, 200), 0);
	s.list[1].avoid_until = 200;
	CHECK_INT(resolv_conf_first_server(&s, 100), 0);
}

/* ---- the cache ---- */

TEST(an_answer_is_kept_until_its_time_and_the_least_used_goes_first) {
	struct cache *c = zeroed(sizeof *c);
	struct resolved f = {0}, got;
	char name[32];
	for (int i = 0; i < RESOLVER_CACHE; i++) {
		(void)snprintf(name, sizeof name, "n%d.test", i);
		f.v4.nchain = (size_t)i;
		cache_put(c, name, &f, 10000);
	}
	CHECK(cache_get(c, "n0.test", 5001, &got)); /* n1 is the least used by now */
	CHECK_INT(got.v4.nchain, 0);
	CHECK_INT(got.v4.ttl, 5);
	cache_put(c, "new.test", &f, 10000);
	CHECK(!cache_get(c, "n1.test", 0, &got));
	CHECK(cache_get(c, "n0.test", 9999, &got) && got.v6.ttl == 1);
	CHECK(cache_get(c, "n2.test", 0, &got) && got.v4.nchain == 2);
	CHECK(!cache_get(c, "n0.test", 10000, &got));
	CHECK(!cache_get(c, "n0.test", 0, &got));
	f.v4.nchain = 77;
	cache_put(c, "n2.test", &f, 20000);
	CHECK(cache_get(c, "n2.test", 15000, &got) && got.v4.nchain == 77);
	cache_forget(c);
	CHECK(!cache_get(c, "n2.test", 15000, &got) && !cache_get(c, "n3.test", 0, &got));
	(void)munmap(c, sizeof *c);
}

/* ---- concurrent look-ups ---- */

static struct {
	struct loop loop;
	struct resolver *r;
} world;

struct asker {
	struct resolver_wait wait;
	int calls, code;
	struct asker *forgets, *asks;
};

static void called(struct resolver_wait *w, const struct resolved *found) {
	struct asker *a = (struct asker *)(void *)w;
	a->calls++;
	a->code = found->code;
	if (a->forgets != NULL) {
		resolver_cancel(world.r, &a->forgets->wait);
	}
	if (a->asks != NULL) {
		struct asker *other = take_ptr(a->asks);
		other->wait.found = called;
		resolver_lookup(world.r, "a.test", &other->wait);
	}
	CHECK_INT(found->code, a->code);
}

static void too_long(struct loop_alarm *a) {
	(void)a;
	world.loop.over = true;
}

/* The only server is an address that answers nothing at all. */
static void world_init(void) {
	memset(&world, 0, sizeof world);
	world.r = zeroed(resolver_size());
	if (loop_init(&world.loop) != 0) {
		abort();
	}
	resolver_init(world.r, &world.loop, "nameserver 127.99.99.99\noptions attempts:1\n",
		      "10.0.0.1 here.test\n");
}

static void world_done(void) {
	(void)munmap(world.r, resolver_size());
	(void)close(world.loop.epoll);
}

static void run_for(int64_t ms) {
	struct loop_alarm a = {.ring = too_long};
	(void)loop_alarm_set(&world.loop, &a, ms);
	world.loop.over = false;
	loop_run(&world.loop);
	loop_alarm_clear(&world.loop, &a);
}

TEST(a_known_name_is_answered_before_the_question_returns) {
	struct asker a = {.wait.found = called};
	world_init();
	resolver_lookup(world.r, "here.test", &a.wait);
	CHECK(a.calls == 1 && a.code == DNS_NOERROR && !a.wait.waiting);
	struct ip ip = ip_from4((const uint8_t[]){10, 0, 0, 1});
	size_t at = 0;
	CHECK_STR(resolver_hosts_name(world.r, &ip, &at), "here.test");
	world_done();
}

TEST(askers_may_forget_each_other_and_ask_again_while_they_are_called) {
	struct asker a = {.wait.found = called}, b = {.wait.found = called}, more = {0};
	struct asker gone = {.wait.found = called};
	world_init();
	resolver_lookup(world.r, "a.test", &a.wait);
	resolver_lookup(world.r, "a.test", &b.wait);
	resolver_lookup(world.r, "a.test", &gone.wait);
	CHECK(a.wait.waiting && b.wait.waiting && gone.wait.waiting);
	resolver_cancel(world.r, &gone.wait);
	resolver_cancel(world.r, &gone.wait);
	CHECK(!gone.wait.waiting);
	a.forgets = &b;
	b.forgets = &a;
	a.asks = b.asks = &more;
	run_for(300);
	CHECK_INT(a.calls + b.calls, 1); /* the first callback cancelled the other look-up */
	CHECK_INT(gone.calls, 0);
	CHECK_INT(more.calls, 1);
	CHECK_INT(more.code, DNS_SERVFAIL);
	CHECK_INT(world.loop.nalarms, 0);
	world_done();
}

/* ---- changes of the host's files ---- */

struct line {
	int gate, supervisor;
	struct dns_update *update;
};

static void line_begin(struct line *l) {
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
		abort();
	}
	*l = (struct line){
		.gate = pair[0], .supervisor = pair[1], .update = zeroed(sizeof *l->update)};
	resolver_set_updates(world.r, l->gate, l->update);
}

static void line_end(struct line *l) {
	drop_fd(&l->supervisor);
	CHECK(!resolver_read_update(world.r));
	(void)close(l->gate);
	(void)munmap(l->update, sizeof *l->update);
}

static bool is_asked(const struct line *l) {
	uint8_t message = 0;
	return dns_update_receive(l->supervisor, &message) == 1 && message == DNS_UPDATE_WANTED;
}

static bool answer(const struct line *l, uint8_t what) {
	return dns_update_send(l->supervisor, what) && resolver_read_update(world.r);
}

TEST(a_new_hosts_file_answers_who_waits) {
	struct asker a = {.wait.found = called}, b = {.wait.found = called}, old = a;
	struct line l;
	world_init();
	line_begin(&l);
	CHECK(!is_asked(&l) &&
	      resolver_read_update(world.r)); /* nobody asked for a name, nothing came */
	resolver_lookup(world.r, "a.test", &a.wait);
	resolver_lookup(world.r, "b.test", &b.wait);
	CHECK(is_asked(&l) && !is_asked(&l)); /* once */
	(void)snprintf(l.update->hosts, sizeof l.update->hosts, "10.0.0.9 a.test\n");
	CHECK(answer(&l, DNS_UPDATE_HOSTS));
	CHECK(a.calls == 1 && a.code == DNS_NOERROR);
	CHECK(b.calls == 0 && b.wait.waiting);
	resolver_lookup(world.r, "here.test", &old.wait);
	CHECK(old.calls == 0 && old.wait.waiting); /* it is not in the new one */
	run_for(300);
	CHECK(a.calls == 1 && b.calls == 1 && old.calls == 1);
	line_end(&l);
	world_done();
}

TEST(new_servers_are_asked_what_the_old_ones_did_not_answer) {
	struct asker a = {.wait.found = called}, again = a, late = a;
	struct line l;
	world_init();
	line_begin(&l);
	resolver_lookup(world.r, "a.test", &a.wait);
	run_for(300);
	CHECK(a.calls == 1 && a.code == DNS_SERVFAIL);
	resolver_lookup(world.r, "a.test", &again.wait);
	CHECK(again.calls == 1 && again.code == DNS_SERVFAIL); /* cached, */
	resolver_lookup(world.r, "late.test", &late.wait);
	(void)snprintf(l.update->resolv_conf, sizeof l.update->resolv_conf,
		       "nameserver 127.99.99.98\nnameserver 127.99.99.97\n");
	CHECK(answer(&l, DNS_UPDATE_RESOLV_CONF));
	CHECK(late.calls == 0 && late.wait.waiting);
	resolver_lookup(world.r, "a.test", &again.wait);
	CHECK(again.calls == 1 && again.wait.waiting); /* and dropped */
	run_for(300);
	CHECK(late.calls == 1 && again.calls == 2);
	line_end(&l);
	world_done();
}

TEST(the_host_is_looked_at_once_a_second_while_names_are_asked_for) {
	struct asker a = {.wait.found = called};
	struct line l;
	world_init();
	line_begin(&l);
	resolver_lookup(world.r, "here.test", &a.wait);
	CHECK(is_asked(&l) && answer(&l, 0));
	resolver_lookup(world.r, "here.test", &a.wait);
	run_for(RESOLVER_UPDATE_MS / 2);
	CHECK(!is_asked(&l));
	run_for(RESOLVER_UPDATE_MS);
	CHECK(is_asked(&l) && answer(&l, 0));
	run_for(2 * RESOLVER_UPDATE_MS);
	CHECK(!is_asked(&l)); /* no further look-up */
	CHECK_INT(world.loop.nalarms, 0);
	line_end(&l);
	world_done();
}

TEST(a_name_that_is_too_long_is_not_asked_for) {
	char name[400];
	struct asker a = {.wait.found = called};
	memset(name, 'a', sizeof name);
	name[sizeof name - 1] = '\0';
	world_init();
	resolver_lookup(world.r, name, &a.wait);
	CHECK(a.calls == 1 && a.code == DNS_SERVFAIL);
	world_done();
}

TEST(a_look_up_finds_this_host_and_refuses_what_is_no_name) {
	struct resolved found;
	CHECK_INT(lookup_sync("a.localhost", &found), 0);
	CHECK(found.code == DNS_NOERROR && found.v4.nips > 0);
	static const char *const bad[] = {"", "a b", "127.0.0.1", "::1", "a..b"};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		CHECK_INT(lookup_sync(bad[i], &found), -EINVAL);
	}
}

TESTS_MAIN
