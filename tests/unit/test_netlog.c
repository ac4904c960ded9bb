/* SPDX-License-Identifier: Apache-2.0 */
/* What the supervisor makes of the gate's ledger, whatever stands there. */
#include "test.h"

#include "base/auto.h"
#include "base/str.h"
#include "lib/internal.h"
#include "run/hint.h"
#include "run/net_watch.h"
#include "run/netlog.h"

#include <inttypes.h>

static struct ledger *new_ledger(void) {
	struct ledger *l = NULL;
	struct err e = {0};
	return ledger_new(&l, &e) == 0 ? l : NULL;
}

/* "evil.test", "11.0.0.66:443", …; rule and why may be NULL. */
struct row {
	enum net_op op;
	enum net_outcome outcome;
	const char *name;
	uint8_t four[4];
	uint16_t port;
	const char *rule, *why;
	bool unread, own;
};

static struct shared_counters *add(struct ledger *l, const struct row *row) {
	static const uint8_t none[4];
	struct ledger_entry d = {.op = row->op,
				 .outcome = row->outcome,
				 .port = row->port,
				 .unread = row->unread,
				 .own = row->own};

	(void)snprintf(d.name, sizeof d.name, "%s", row->name == NULL ? "" : row->name);
	(void)snprintf(d.rule, sizeof d.rule, "%s", row->rule == NULL ? "" : row->rule);
	(void)snprintf(d.why, sizeof d.why, "%s", row->why == NULL ? "" : row->why);
	d.has_ip = memcmp(row->four, none, 4) != 0;
	d.ip.b[10] = d.ip.b[11] = 0xff;
	memcpy(d.ip.b + 12, row->four, 4);
	return ledger_add(l, &d);
}

static const struct row allowed = {NET_OP_CONNECT, NET_ALLOWED, "good.test", {11, 0, 0, 9}, 443,
				   "*.test",       NULL};
static const struct row unlisted = {
	NET_OP_CONNECT, NET_DENIED, "evil.test", {11, 0, 0, 66}, 443, NULL, "no rule allows it"};
static const struct row bare = {NET_OP_CONNECT, NET_DENIED,         NULL, {11, 0, 0, 67}, 22,
				NULL,           "no rule allows it"};
static const struct row lookup = {NET_OP_RESOLVE, NET_DENIED,         "name.test", {0}, 0,
				  NULL,           "no rule allows it"};
static const struct row forbidden = {NET_OP_CONNECT,    NET_DENIED, "bad.test",
				     {11, 0, 0, 68},    443,        "bad.test",
				     "a rule denies it"};
static const struct row unread = {NET_OP_REQUEST, NET_DENIED, "good.test",  {11, 0, 0, 9},
				  50051,          "*.test:*", "not judged", true};
static const struct row failed = {NET_OP_CONNECT, NET_FAILED,    "good.test", {11, 0, 0, 9}, 25,
				  "good.test:25", "ECONNREFUSED"};

TEST(decisions_are_told_as_they_were_written) {
	struct ledger *l = new_ledger();
	struct netlog n;
	REQUIRE(l != NULL);
	struct shared_counters *entry = add(l, &allowed);
	REQUIRE(entry != NULL);
	entry->sums[LEDGER_SENT] = 10;
	entry->sums[LEDGER_RECEIVED] = 2000;
	(void)add(l, &allowed);
	(void)add(l, &failed);
	netlog_read(l, NULL, &n);
	ledger_free(l); /* nothing of it is pointed to */
	REQUIRE(n.count == 2);
	CHECK(n.recorded && n.more == 0);
	CHECK_STR(n.items[0].name, "good.test");
	CHECK_STR(n.items[0].address, "11.0.0.9");
	CHECK_STR(n.items[0].rule, "*.test");
	CHECK(n.items[0].why == NULL && n.items[0].remedy == NULL);
	CHECK_INT(n.items[0].count, 2);
	CHECK_INT(n.items[0].sent, 10);
	CHECK_INT(n.items[0].received, 2000);
	CHECK_STR(netlog_outcome_name(n.items[1].outcome), "failed");
	CHECK_STR(n.items[1].why, "ECONNREFUSED");
	CHECK(n.items[1].remedy == NULL);
	netlog_done(&n);
}

TEST(decisions_since_an_earlier_reading_are_what_was_added) {
	struct ledger *l = new_ledger();
	struct netlog before, n;
	REQUIRE(l != NULL);
	struct shared_counters *entry = add(l, &allowed);
	REQUIRE(entry != NULL);
	entry->sums[LEDGER_SENT] = 10;
	(void)add(l, &failed);
	netlog_read(l, NULL, &before);
	entry->sums[LEDGER_SENT] = 15;
	(void)add(l, &allowed);
	(void)add(l, &unlisted);
	netlog_read(l, NULL, &n);
	netlog_since(&n, &before);
	REQUIRE(n.count == 2); /* not the one that failed before */
	CHECK_STR(n.items[0].name, "good.test");
	CHECK_INT(n.items[0].count, 1);
	CHECK_INT(n.items[0].sent, 5);
	CHECK_STR(n.items[1].name, "evil.test");
	netlog_done(&n);
	netlog_done(&before);
	ledger_free(l);
}

TEST(a_refusal_names_the_option_that_would_allow_it) {
	struct ledger *l = new_ledger();
	struct netlog n;
	REQUIRE(l != NULL);
	const struct row published = {NET_OP_PUBLISH, NET_DENIED, NULL, {11, 0, 0, 1}, 80,
				      NULL,           "x"};
	(void)add(l, &unlisted);
	(void)add(l, &bare);
	(void)add(l, &lookup);
	(void)add(l, &forbidden);
	(void)add(l, &published);
	struct ledger_entry six = {
		.op = NET_OP_CONNECT, .outcome = NET_DENIED, .has_ip = true, .port = 443};
	six.ip.b[0] = 0x20;
	six.ip.b[1] = 0x01;
	six.ip.b[15] = 1;
	(void)ledger_add(l, &six);
	netlog_read(l, NULL, &n);
	REQUIRE(n.count == 6);
	CHECK_STR(n.items[0].remedy, "--allow-host evil.test:443");
	CHECK_STR(n.items[1].remedy, "--allow-host 11.0.0.67:22");
	CHECK_STR(n.items[2].remedy, "--allow-host name.test");
	CHECK(n.items[2].address == NULL);
	CHECK(n.items[3].remedy == NULL); /* another rule would not win */
	CHECK(n.items[4].remedy == NULL);
	CHECK_STR(n.items[5].remedy, "--allow-host [2001::1]:443");
	netlog_done(&n);
	ledger_free(l);
}

/* The resolver completes a refused name with the domains of `search`. */
TEST(a_name_of_a_search_list_is_recorded_without_an_option) {
	static const char *const names[] = {"name.test", "name.test.search.test",
					    "name.testing.test", "other.name.test"};
	struct ledger *l = new_ledger();
	struct netlog n;
	REQUIRE(l != NULL);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct row row = lookup;
		row.name = names[i];
		(void)add(l, &row);
	}
	netlog_read(l, NULL, &n);
	REQUIRE(n.count == 4);
	CHECK_STR(n.items[0].remedy, "--allow-host name.test");
	CHECK_STR(n.items[1].name, "name.test.search.test");
	CHECK(n.items[1].remedy == NULL);
	CHECK_STR(n.items[2].remedy, "--allow-host name.testing.test");
	CHECK_STR(n.items[3].remedy, "--allow-host other.name.test");
	netlog_done(&n);
	ledger_free(l);
}

TEST(an_address_that_is_not_public_is_allowed_as_its_range_can_be_or_not_at_all) {
	static const struct row rows[] = {
		{NET_OP_CONNECT, NET_DENIED, "db.test", {10, 1, 2, 3}, 5432, NULL, "it is private"},
		{NET_OP_RESOLVE, NET_DENIED, "db.test", {10, 1, 2, 3}, 0, NULL, "it is private"},
		{NET_OP_CONNECT, NET_DENIED, NULL, {169, 254, 169, 254}, 80, NULL, "credentials"},
		{NET_OP_CONNECT, NET_DENIED, NULL, {10, 1, 2, 3}, 5432, NULL, "it is private"},
		{NET_OP_RESOLVE, NET_DENIED, "own.test", {127, 0, 0, 1}, 0, NULL, "the loopback"},
		{NET_OP_RESOLVE, NET_DENIED, "near.test", {169, 254, 1, 1}, 0, NULL, "local"},
	};
	struct ledger *l = new_ledger();
	struct netlog n;
	REQUIRE(l != NULL);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		(void)add(l, &rows[i]);
	}
	netlog_read(l, NULL, &n);
	REQUIRE(n.count == 6);
	CHECK_STR(n.items[0].remedy, "--allow-private 10.1.2.3");
	CHECK_STR(n.items[1].remedy, "--allow-private 10.1.2.3");
	CHECK(n.items[2].remedy == NULL);
	CHECK_STR(n.items[3].remedy, "--allow-host 10.1.2.3:5432");
	CHECK(n.items[4].remedy == NULL);
	CHECK_STR(n.items[5].remedy, "--allow-host 169.254.1.1");
	netlog_done(&n);
	ledger_free(l);
}

TEST(what_nobody_reads_is_allowed_where_the_address_is_listed) {
	struct row metadata = unread, nowhere = unread;
	struct ledger *l = new_ledger();
	struct netlog n;
	REQUIRE(l != NULL);
	memcpy(metadata.four, (uint8_t[]){169, 254, 169, 254}, 4);
	memset(nowhere.four, 0, 4);
	(void)add(l, &unread);
	(void)add(l, &metadata);
	(void)add(l, &nowhere);
	netlog_read(l, NULL, &n);
	REQUIRE(n.count == 3);
	CHECK_STR(n.items[0].remedy, "--allow-host 11.0.0.9:50051");
	CHECK(n.items[1].remedy == NULL && n.items[2].remedy == NULL);
	netlog_done(&n);
	ledger_free(l);
}

TEST(an_address_of_this_host_is_opened_by_a_rule_of_its_own) {
	struct row by_name = forbidden, metadata = forbidden, by_network = bare;
	struct ledger *l = new_ledger();
	struct netlog n;
	REQUIRE(l != NULL);
	by_name.own = metadata.own = by_network.own = true;
	by_network.rule = "11.0.0.0/24";
	memcpy(metadata.four, (uint8_t[]){169, 254, 169, 254}, 4);
	(void)add(l, &by_name);
	(void)add(l, &metadata);
	(void)add(l, &by_network);
	(void)add(l, &forbidden);
	netlog_read(l, NULL, &n);
	REQUIRE(n.count == 4);
	CHECK_STR(n.items[0].remedy, "--allow-host 11.0.0.68:443");
	CHECK_STR(n.items[2].remedy, "--allow-host 11.0.0.67:22");
	CHECK(n.items[1].remedy == NULL && n.items[3].remedy == NULL);
	netlog_done(&n);
	ledger_free(l);
}

TEST(without_a_gate_nothing_is_recorded_and_nothing_claimed) {
	struct netlog n;
	netlog_read(NULL, NULL, &n);
	CHECK(!n.recorded && n.count == 0 && n.more == 0);
	netlog_done(&n);
}

TEST(a_name_that_is_no_name_is_not_repeated) {
	static const char *const names[] = {"-rf.test",     "a b.test", "a;id.test", "$(id).test",
					    "\x1b[2J.test", "a'.test",  "a\n.test"};
	struct netlog n;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct ledger *l = new_ledger();
		REQUIRE(l != NULL);
		struct row row = unlisted;
		row.name = names[i];
		(void)add(l, &row);
		(void)add(l, &unlisted);
		netlog_read(l, NULL, &n);
		CHECK_INT(n.count, 1);
		CHECK_INT(n.more, 1);
		netlog_done(&n);
		ledger_free(l);
	}
}

TEST(a_text_with_controls_is_made_harmless) {
	struct ledger *l = new_ledger();
	struct netlog n;
	struct row row = forbidden;
	REQUIRE(l != NULL);
	row.rule = "a\x1b[2J";
	row.why = "b\nc";
	(void)add(l, &row);
	netlog_read(l, NULL, &n);
	REQUIRE(n.count == 1);
	CHECK_STR(n.items[0].rule, "a?[2J");
	CHECK_STR(n.items[0].why, "b?c");
	netlog_done(&n);
	ledger_free(l);
}

/* Nobody but the gate has the mapping; the reader does not depend on what the gate is. */
TEST(whatever_stands_in_the_ledger_is_read_within_its_bounds) {
	unsigned seed = 3;
	for (unsigned round = 0; round < 60; round++) {
		struct ledger *l = new_ledger();
		struct netlog n;
		REQUIRE(l != NULL);
		(void)add(l, &unlisted);
		unsigned char *bytes = (unsigned char *)l;
		for (size_t i = 0; i < (round % 3 == 0 ? 64 : sizeof *l); i++) {
			seed = seed * 1103515245U + 12345U;
			bytes[i] = round % 3 == 1 && (seed >> 8) % 4 != 0
					   ? 'a'
					   : (unsigned char)(seed >> 16);
		}
		l->log.used = round % 2 == 0 ? UINT32_MAX : SHARED_LOG_BYTES;
		netlog_read(l, NULL, &n);
		CHECK(n.count <= LEDGER_ENTRIES);
		for (size_t i = 0; i < n.count; i++) {
			const struct netlog_item *item = &n.items[i];
			CHECK(netlog_op_name(item->op) != NULL &&
			      netlog_outcome_name(item->outcome) != NULL);
			CHECK(item->name == NULL || strlen(item->name) <= HOSTNAME_MAX);
			CHECK(item->rule == NULL || strlen(item->rule) < LEDGER_TEXT);
			CHECK(item->sent <= INT64_MAX && item->received <= INT64_MAX);
		}
		netlog_done(&n);
		ledger_free(l);
	}
}

/* ---- hints ---- */

static struct advice advice_for(const struct row *rows, size_t nrows, const char *words,
				const struct hint *before) {
	struct ledger *l = new_ledger();
	struct output_tail o = {0};
	const struct output_tail *const streams[] = {&o};
	struct advice got = {.hint = before};
	struct netlog n;

	if (l == NULL) {
		abort();
	}
	for (size_t i = 0; i < nrows; i++) {
		(void)add(l, &rows[i]);
	}
	hint_record(&o, words, strlen(words));
	netlog_read(l, NULL, &n);
	hint_for_network(&n, streams, 1, &got);
	netlog_done(&n);
	ledger_free(l);
	return got;
}

TEST(a_hint_names_what_was_refused_and_how_to_allow_it) {
	struct advice got = advice_for(&unlisted, 1, "exit 7\n", NULL);
	REQUIRE(got.hint != NULL);
	CHECK_STR(got.hint->rule, "net.allow");
	CHECK_STR(hint_advice_text(&got),
		  "evil.test:443: no rule allows it; allow it: --allow-host evil.test:443");
	CHECK_STR(got.path, "");
	got = advice_for(&forbidden, 1, "", NULL);
	REQUIRE(got.hint != NULL);
	CHECK_STR(got.hint->rule, "net.names");
	CHECK_STR(hint_advice_text(&got),
		  "bad.test:443: a rule denies it (rule: bad.test); no option lifts it: "
		  "change the rule; to find it: corral explain");
	got = advice_for(&unread, 1, "", NULL);
	CHECK_STR(hint_advice_text(&got),
		  "good.test:50051: not judged; use TLS with the server's name, or allow the "
		  "address, without inspection: --allow-host 11.0.0.9:50051");
	CHECK(advice_for(&allowed, 1, "", NULL).hint == NULL);
	CHECK(advice_for(&failed, 1, "", NULL).hint == NULL);
}

TEST(a_name_that_does_not_resolve_is_not_told_to_be_allowed) {
	static const struct row unknown = {
		NET_OP_RESOLVE, NET_FAILED, "nx.test", {0}, 0, "*.test", "the name does not exist"};
	static const struct hint network = {"x", HINT_OFFLINE, "net.allow", "only hosts, or so"};
	const struct row searched[] = {unknown, lookup};
	struct advice got = advice_for(&unknown, 1, "Could not resolve host: nx.test", &network);
	REQUIRE(got.hint != NULL);
	CHECK(str_starts(hint_advice_text(&got),
			 "nx.test: the name does not exist; the name is allowed"));
	got = advice_for(searched, 2, "Could not resolve host: nx.test", &network);
	CHECK(str_starts(hint_advice_text(&got), "nx.test: the name does not exist; "));
}

TEST(the_refusal_that_the_words_name_is_told) {
	const struct row rows[] = {lookup, unlisted, bare};
	struct advice got =
		advice_for(rows, 3, "curl: (6) Could not resolve host: evil.test\n", NULL);
	CHECK(str_starts(hint_advice_text(&got), "evil.test:443: "));
	got = advice_for(rows, 3, "connect EACCES 11.0.0.67:22\n", NULL);
	CHECK(str_starts(hint_advice_text(&got), "11.0.0.67:22: "));
	got = advice_for(rows, 3, "failed\n", NULL);
	CHECK(str_starts(hint_advice_text(&got), "name.test: "));
}

TEST(words_about_something_else_are_believed_unless_they_name_it) {
	static const struct hint other = {"x", HINT_ALWAYS, "fs.write", "read-only inside, or so"};
	static const struct hint network = {"x", HINT_OFFLINE, "net.mode",
					    "only listed hosts, or so"};
	struct advice got = advice_for(&unlisted, 1, "/etc/x: Read-only file system", &other);
	CHECK(got.hint == &other);
	got = advice_for(&unlisted, 1, "/etc/x: no reply from evil.test", &other);
	CHECK_STR(got.hint->rule, "net.allow");
	got = advice_for(&unlisted, 1, "Could not fetch URL", &network);
	CHECK(str_starts(hint_advice_text(&got), "evil.test:443: "));
}

TEST(what_failed_outside_is_not_put_down_to_a_rule) {
	static const struct hint network = {"x", HINT_LOOPBACK, "net.mode", "loopback is, or so"};
	static const struct hint other = {"x", HINT_ALWAYS, "fs.write", "read-only inside, or so"};
	const struct row both[] = {failed, unlisted};
	CHECK(advice_for(&failed, 1, "Connection refused", &network).hint == NULL);
	CHECK(advice_for(&failed, 1, "Read-only file system", &other).hint == &other);
	CHECK(advice_for(&allowed, 1, "Connection refused", &network).hint == &network);
	struct advice got = advice_for(both, 2, "Connection refused", &network);
	CHECK(str_starts(hint_advice_text(&got), "evil.test:443: "));
}

TEST(the_longest_hint_is_not_cut) {
	struct row row = unlisted;
	char name[HOSTNAME_MAX + 1], why[LEDGER_TEXT];
	memset(name, 'a', HOSTNAME_MAX);
	memset(why, 'w', sizeof why - 1);
	name[HOSTNAME_MAX] = why[sizeof why - 1] = '\0';
	row.name = name;
	row.why = why;
	row.port = 65535;
	struct advice got = advice_for(&row, 1, "", NULL);
	CHECK(strlen(hint_advice_text(&got)) < ADVICE_TEXT - 1);
	CHECK(strstr(hint_advice_text(&got), "aaa:65535: www") != NULL);
	CHECK_STR(hint_advice_text(&got) + strlen(hint_advice_text(&got)) - 7, "a:65535");
}

/* ---- the result ---- */

static char *json_of(const struct row *rows, size_t nrows) {
	struct ledger *l = new_ledger();
	struct corral_result r = {0};
	char *text = NULL;

	for (size_t i = 0; l != NULL && i < nrows; i++) {
		(void)add(l, &rows[i]);
	}
	netlog_read(nrows == 0 ? NULL : l, NULL, &r.outcome.network);
	(void)corral_result_json(&r, &text, NULL);
	netlog_done(&r.outcome.network);
	ledger_free(l);
	return text;
}

TEST(the_object_lists_decisions_and_denials) {
	const struct row rows[] = {allowed, unlisted, lookup};
	char *text = json_of(rows, 3);
	REQUIRE(text != NULL);
	CHECK(strstr(text, "\"network\":[{\"op\":\"connect\",\"name\":\"good.test\",\"address\":"
			   "\"11.0.0.9\","
			   "\"port\":443,\"verdict\":\"allowed\",\"rule\":\"*.test\",\"why\":null,"
			   "\"count\":1,\"sent\":0,\"received\":0},") != NULL);
	CHECK(strstr(text, "\"network_more\":0,\"network_recorded\":true") != NULL);
	CHECK(strstr(text, "\"denials\":[{\"op\":\"connect\",\"host\":\"evil.test\",\"port\":443,"
			   "\"access\":\"network\",\"errno\":\"EACCES\",\"rule\":null,"
			   "\"origin\":null,\"why\":\"no rule allows it\",\"remedy\":null,"
			   "\"allow_with\":\"--allow-host evil.test:443\",\"count\":1},"
			   "{\"op\":\"resolve\",\"host\":\"name.test\",\"port\":null,"
			   "\"access\":\"network\",\"errno\":null,") != NULL);
	free(text);
	text = json_of(NULL, 0);
	REQUIRE(text != NULL);
	CHECK(strstr(text, "\"network\":[],\"network_more\":0,\"network_recorded\":false") != NULL);
	free(text);
}

TEST(a_program_that_links_reads_the_same) {
	struct corral_result r = {0};
	struct ledger *l = new_ledger();
	struct corral_decision d = CORRAL_DECISION_INIT, unset = {.port = 7};
	REQUIRE(l != NULL);
	(void)add(l, &unlisted);
	netlog_read(l, NULL, &r.outcome.network);
	CHECK_INT(corral_result_network(&r, 0, &d), 0);
	CHECK_STR(d.op, "connect");
	CHECK_STR(d.verdict, "denied");
	CHECK_STR(d.address, "11.0.0.66");
	CHECK_STR(d.allow_with, "--allow-host evil.test:443");
	CHECK_INT(d.port, 443);
	CHECK_INT(d.count, 1);
	CHECK_INT(corral_result_network(&r, 0, &unset), -1);
	CHECK_INT(unset.port, 7);
	CHECK_INT(corral_result_network(&r, 1, &d), 1);
	CHECK_INT(corral_result_network_more(&r), 0);
	CHECK_INT(corral_result_network_recorded(&r), 1);

	struct corral_denial denial = CORRAL_DENIAL_INIT, unsized = {.port = 7};
	CHECK_INT(corral_result_denial(&r, 0, &denial), 0);
	CHECK_STR(denial.op, "connect");
	CHECK_STR(denial.access, "network");
	CHECK_STR(denial.host, "evil.test");
	CHECK_STR(denial.allow_with, "--allow-host evil.test:443");
	CHECK(denial.path == NULL && denial.port == 443);
	CHECK_INT(corral_result_denial(&r, 1, &denial), 1);
	CHECK_INT(corral_result_denial(&r, 0, &unsized), -1);
	CHECK_INT(corral_result_denial(NULL, 0, &denial), -1);
	CHECK_INT(corral_result_denials_recorded(&r), 0); /* no broker */
	CHECK_INT(corral_result_denials_more(&r), 0);
	CHECK(corral_result_network_failed(&r) == NULL);
	r.outcome.network.ended = true; /* the gate died */
	CHECK(corral_result_network_failed(&r) != NULL);
	netlog_done(&r.outcome.network);
	ledger_free(l);
}

struct told {
	size_t calls, rows;
	uint64_t decisions, more;
};

static void take(void *arg, const struct netlog *news) {
	struct told *t = arg;

	t->calls++;
	t->rows += news->count;
	t->more += news->more;
	for (size_t i = 0; i < news->count; i++) {
		t->decisions += news->items[i].count;
	}
}

TEST(decisions_are_told_as_they_come_once_and_at_a_bounded_rate) {
	struct ledger *l = new_ledger();
	struct told told = {0};
	const struct net_listener to = {take, &told};
	struct net_watch w = {.to = &to, .ledger = l, .due = -1};
	struct netlog before;
	struct row row = unlisted;
	REQUIRE(l != NULL);
	(void)add(l, &allowed);
	netlog_read(l, NULL, &before);
	net_watch_begin(&w, &before, 1000);
	struct shared_counters *entry = add(l, &unlisted);
	REQUIRE(entry != NULL);
	net_watch_look(&w, 1100, false); /* not due */
	CHECK_INT(told.calls, 0);
	net_watch_look(&w, 1200, false);
	CHECK_INT(told.rows, 1); /* not the one of before */
	entry->sums[LEDGER_SENT] = 7;
	net_watch_look(&w, 1400, false); /* bytes are no decision */
	CHECK_INT(told.calls, 1);
	for (uint16_t port = 1; port <= 100; port++) {
		row.port = port;
		(void)add(l, &row);
	}
	net_watch_look(&w, 1600, false);
	CHECK_INT(told.rows, NET_WATCH_PER_SECOND);
	CHECK_INT(told.decisions + told.more, 101);
	(void)add(l, &unlisted);
	(void)add(l, &unlisted);
	net_watch_look(&w, 1700, true); /* the end, in the same second: counted */
	CHECK_INT(told.rows, NET_WATCH_PER_SECOND);
	CHECK_INT(told.decisions + told.more, 103);
	net_watch_look(&w, 9000, false);
	CHECK_INT(told.calls, 3);
	net_watch_done(&w);
	netlog_done(&before);
	ledger_free(l);
}

TEST(nobody_is_told_without_a_listener_or_a_gate) {
	struct told told = {0};
	const struct net_listener to = {take, &told}, none = {NULL, NULL};
	struct netlog before = {0};
	struct net_watch w = {.to = &to, .due = -1};

	net_watch_begin(&w, &before, 1000);
	CHECK_INT(w.due, -1);
	w = (struct net_watch){.to = &none, .ledger = new_ledger(), .due = -1};
	REQUIRE(w.ledger != NULL);
	net_watch_begin(&w, &before, 1000);
	CHECK_INT(w.due, -1);
	ledger_free((struct ledger *)(uintptr_t)w.ledger);
}

TESTS_MAIN
