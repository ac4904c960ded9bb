/* SPDX-License-Identifier: Apache-2.0 */
/* The gate's log of decisions: each one once, complete or not at all. */
#include "test.h"

#include "gate/ledger.h"
#include "ledger_read.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static struct ledger *new_ledger(void) {
	struct ledger *l = NULL;
	struct err e = {0};
	return ledger_new(&l, &e) == 0 ? l : NULL;
}

static struct ledger_entry decision(enum net_outcome outcome, const char *name, uint16_t port) {
	struct ledger_entry d = {.op = NET_OP_CONNECT, .outcome = outcome, .port = port};
	(void)snprintf(d.name, sizeof d.name, "%s", name);
	return d;
}

TEST(equal_decisions_are_one_entry_with_a_count) {
	struct ledger *l = new_ledger();
	REQUIRE(l != NULL);
	struct ledger_entry d = decision(NET_ALLOWED, "one.test", 443);
	struct shared_counters *first = ledger_add(l, &d);
	REQUIRE(first != NULL);
	CHECK(ledger_add(l, &d) == first && ledger_add(l, &d) == first);
	CHECK_INT(first->count, 3);
	CHECK_INT(ledger_entries(l), 1);
	struct ledger_entry got;
	REQUIRE(ledger_entry_at(l, 0, &got));
	CHECK_STR(got.name, "one.test");
	CHECK_INT(got.count, 3);
	first->sums[LEDGER_SENT] += 7;
	first->sums[LEDGER_RECEIVED] += 9;
	CHECK(ledger_add(l, &d) == first);
	REQUIRE(ledger_entry_at(l, 0, &got));
	CHECK_INT(got.count, 4);
	CHECK_INT(got.sent, 7);
	CHECK_INT(got.received, 9);
	ledger_free(l);
}

/* Each row differs in one thing from the first. */
TEST(decisions_that_differ_in_anything_are_apart) {
	struct ledger *l = new_ledger();
	REQUIRE(l != NULL);
	struct ledger_entry base = decision(NET_DENIED, "one.test", 443), d;
	(void)ledger_add(l, &base);
	d = base;
	d.op = NET_OP_RESOLVE;
	CHECK(ledger_add(l, &d) != NULL);
	d = base;
	d.outcome = NET_FAILED;
	CHECK(ledger_add(l, &d) != NULL);
	d = base;
	d.name[0] = 'O';
	CHECK(ledger_add(l, &d) != NULL);
	d = base;
	d.port = 80;
	CHECK(ledger_add(l, &d) != NULL);
	d = base;
	d.has_ip = true;
	CHECK(ledger_add(l, &d) != NULL);
	d.ip.b[15] = 1;
	CHECK(ledger_add(l, &d) != NULL);
	d = base;
	d.rule[0] = 'r';
	CHECK(ledger_add(l, &d) != NULL);
	d = base;
	d.why[0] = 'w';
	CHECK(ledger_add(l, &d) != NULL);
	CHECK_INT(ledger_entries(l), 9);
	for (size_t i = 0; i < 9; i++) {
		REQUIRE(ledger_entry_at(l, i, &d));
		CHECK_INT(d.count, 1);
	}
	ledger_free(l);
}

TEST(an_address_that_is_not_there_does_not_count) {
	struct ledger *l = new_ledger();
	REQUIRE(l != NULL);
	struct ledger_entry d = decision(NET_ALLOWED, "one.test", 443);
	(void)ledger_add(l, &d);
	d.ip.b[3] = 9; /* left over from something else */
	(void)ledger_add(l, &d);
	CHECK_INT(ledger_entries(l), 1);
	ledger_free(l);
}

static size_t fill(struct ledger *l, enum net_outcome outcome, const char *word, int times) {
	char name[64];
	size_t kept = 0;
	for (int i = 0; i < times; i++) {
		(void)snprintf(name, sizeof name, "%s%d.test", word, i);
		struct ledger_entry d = decision(outcome, name, 443);
		kept += ledger_add(l, &d) != NULL;
	}
	return kept;
}

/* How many of the entries are for one decision each. */
static size_t listed(const struct ledger *l, enum net_outcome outcome, enum net_op op) {
	struct ledger_entry e;
	size_t at = 0, n = 0;
	while (ledger_next(l, &at, &e)) {
		n += e.outcome == outcome && e.op == op && e.name[0] != '\0';
	}
	return n;
}

TEST(a_flood_of_names_that_are_looked_up_hides_neither_refusals_nor_connections) {
	struct ledger *l = new_ledger();
	REQUIRE(l != NULL);
	char name[64];
	for (int i = 0; i < 5000; i++) {
		(void)snprintf(name, sizeof name, "secret%d.a.test", i);
		struct ledger_entry d = decision(NET_ALLOWED, name, 0);
		d.op = NET_OP_RESOLVE;
		CHECK(ledger_add(l, &d) != NULL);
	}
	CHECK_INT(listed(l, NET_ALLOWED, NET_OP_RESOLVE), 64 + 96);
	CHECK_INT(l->log.lost, 5000 - 160);
	CHECK_INT(fill(l, NET_DENIED, "b", 100), 100);
	CHECK_INT(fill(l, NET_ALLOWED, "c", 100), 100);
	CHECK_INT(listed(l, NET_DENIED, NET_OP_CONNECT), 100);
	CHECK_INT(listed(l, NET_ALLOWED, NET_OP_CONNECT), 100);
	/* What is not listed is counted by its rule. */
	struct ledger_entry e;
	uint64_t more = 0;
	for (size_t at = 0; ledger_next(l, &at, &e);) {
		more += e.name[0] == '\0' ? e.count : 0;
	}
	CHECK_INT(more, 5000 - 160);
	ledger_free(l);
}

TEST(a_flood_of_one_kind_leaves_room_for_the_other) {
	for (int turn = 0; turn < 2; turn++) {
		struct ledger *l = new_ledger();
		REQUIRE(l != NULL);
		enum net_outcome first = turn == 0 ? NET_DENIED : NET_ALLOWED;
		enum net_outcome second = turn == 0 ? NET_ALLOWED : NET_FAILED;
		size_t own = turn == 0 ? 192 : 128;
		CHECK_INT(fill(l, first, "a", 5000), 5000);
		CHECK_INT(fill(l, second, "b", 5000), 5000);
		CHECK_INT(listed(l, first, NET_OP_CONNECT), own + 96);
		CHECK_INT(listed(l, second, NET_OP_CONNECT), 320 - own);
		CHECK_INT(l->log.lost, 10000 - 416);
		struct ledger_entry known =
			decision(turn == 0 ? NET_DENIED : NET_ALLOWED, "a3.test", 443);
		struct shared_counters *e = ledger_add(l, &known); /* what is there is counted on */
		REQUIRE(e != NULL);
		CHECK_INT(e->count, 2);
		ledger_free(l);
	}
}

TEST(texts_without_an_end_are_cut_and_still_equal) {
	struct ledger *l = new_ledger();
	REQUIRE(l != NULL);
	struct ledger_entry d = decision(NET_DENIED, "", 1);
	memset(d.name, 'n', sizeof d.name);
	memset(d.rule, 'r', sizeof d.rule);
	memset(d.why, 'w', sizeof d.why);
	struct shared_counters *e = ledger_add(l, &d);
	REQUIRE(e != NULL);
	struct ledger_entry got;
	REQUIRE(ledger_entry_at(l, 0, &got));
	CHECK_INT(strlen(got.name), HOSTNAME_MAX);
	CHECK_INT(strlen(got.rule), LEDGER_TEXT - 1);
	CHECK(ledger_add(l, &d) == e);
	ledger_free(l);
}

TEST(without_a_ledger_nothing_is_written) {
	struct ledger_entry d = decision(NET_ALLOWED, "one.test", 443);
	CHECK(ledger_add(NULL, &d) == NULL);
	ledger_free(NULL);
}

/* `used` is moved last: the parent reads only complete entries. */
TEST(a_writer_that_is_killed_leaves_whole_entries) {
	for (int round = 0; round < 20; round++) {
		struct ledger *l = new_ledger();
		REQUIRE(l != NULL);
		pid_t writer = fork();
		if (writer == 0) {
			for (int i = 0;; i++) {
				char name[64];
				(void)snprintf(name, sizeof name, "%040d", i);
				struct ledger_entry d = decision(NET_ALLOWED, name, 443);
				(void)snprintf(d.why, sizeof d.why, "%d", i);
				(void)ledger_add(l, &d);
			}
		}
		(void)usleep((useconds_t)round * 50);
		(void)kill(writer, SIGKILL);
		(void)waitpid(writer, NULL, 0);
		CHECK(ledger_entries(l) <= LEDGER_ENTRIES);
		struct ledger_entry e;
		for (size_t at = 0; ledger_next(l, &at, &e);) {
			if (e.name[0] == '\0') {
				continue; /* one for many */
			}
			CHECK_INT(strlen(e.name), 40);
			CHECK_INT(atoll(e.name), atoll(e.why));
			CHECK_INT(e.count, 1);
		}
		ledger_free(l);
	}
}

TESTS_MAIN
