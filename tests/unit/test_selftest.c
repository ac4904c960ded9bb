/* SPDX-License-Identifier: Apache-2.0 */
/* The verdicts of the self-test: what was seen, against what was reported. */
#include "base/auto.h"
#include "selftest/selftest.h"
#include "test.h"

static const struct check named = {.name = "x", .guarantee = GUARANTEE_IPC, .known_by = "abstract"};
static const struct check lone = {
	.name = "x", .guarantee = GUARANTEE_PRIVILEGES, .alone = "only root may"};
static const struct check unnamed = {.name = "x", .guarantee = GUARANTEE_COUNT};

#define YES                                                                                        \
	{ .happened = true, .effect = true, .detail = "done" }
#define NO                                                                                         \
	{ .happened = true, .detail = "EACCES" }
#define NEVER                                                                                      \
	{ .detail = "not started" }
#define REPORT(s, w) .check = &named, .reported = {.state = (s), .why = (w)}

static const struct {
	const char *what;
	struct finding f;
	enum verdict verdict;
	bool fails;
	const char *reason;
} rows[] = {
	{"claimed, and refused",
	 {REPORT(STATE_ENFORCED, NULL), .outside = YES, .inside = NO},
	 VERDICT_PASS,
	 false,
	 ""},
	{"claimed, and it succeeds: the report lies",
	 {REPORT(STATE_ENFORCED, NULL), .outside = YES, .inside = YES},
	 VERDICT_FAIL,
	 true,
	 "the attempt succeeded, but the report claims enforced: done"},
	{"weaker for this very reason",
	 {REPORT(STATE_WEAKER, "abstract sockets can be reached"), .outside = YES, .inside = YES},
	 VERDICT_LIMIT,
	 false,
	 "as reported: abstract sockets can be reached"},
	{"weaker for another reason: the report is silent about this one",
	 {REPORT(STATE_WEAKER, "files of the workspace"), .outside = YES, .inside = YES},
	 VERDICT_FAIL,
	 true,
	 "the attempt succeeded, but the report lists a different weakness: files of the "
	 "workspace"},
	{"weaker, and refused all the same",
	 {REPORT(STATE_WEAKER, "abstract sockets can be reached"), .outside = YES, .inside = NO},
	 VERDICT_PASS,
	 false,
	 ""},
	{"absent, and it succeeds",
	 {REPORT(STATE_ABSENT, "net.mode is full"), .outside = YES, .inside = YES},
	 VERDICT_LIMIT,
	 false,
	 "as reported: net.mode is full"},
	{"claimed, and the control fails: a skip that counts",
	 {REPORT(STATE_ENFORCED, NULL), .outside = NO, .inside = NO},
	 VERDICT_SKIP,
	 true,
	 "the control without a sandbox failed as well: EACCES"},
	{"absent, and the control fails: a skip that does not count",
	 {REPORT(STATE_ABSENT, "net.mode is full"), .outside = NO, .inside = NO},
	 VERDICT_SKIP,
	 false,
	 "the control without a sandbox failed as well: EACCES"},
	{"claimed, and the attempt did not take place",
	 {REPORT(STATE_ENFORCED, NULL), .outside = YES, .inside = NEVER},
	 VERDICT_SKIP,
	 true,
	 "the attempt was not made: not started"},
	{"a control that says done and has no effect is none",
	 {REPORT(STATE_ENFORCED, NULL), .outside = {.happened = true, .detail = "done"},
	  .inside = NO},
	 VERDICT_SKIP,
	 true,
	 "the control without a sandbox failed as well: done"},
	{"no control for this caller, and refused: a pass that says so",
	 {.check = &lone, .reported = {.state = STATE_ENFORCED}, .outside = NO, .inside = NO},
	 VERDICT_PASS,
	 false,
	 "no control: only root may"},
	{"no control for this caller, and it succeeds all the same",
	 {.check = &lone, .reported = {.state = STATE_ENFORCED}, .outside = NO, .inside = YES},
	 VERDICT_FAIL,
	 true,
	 "the attempt succeeded, but the report claims enforced: done"},
	{"no control for this caller, and the attempt did not take place",
	 {.check = &lone, .reported = {.state = STATE_ENFORCED}, .outside = NO, .inside = NEVER},
	 VERDICT_SKIP,
	 true,
	 "the attempt was not made: not started"},
	{"the control succeeds where it need not: a pass like any other",
	 {.check = &lone, .reported = {.state = STATE_ENFORCED}, .outside = YES, .inside = NO},
	 VERDICT_PASS,
	 false,
	 ""},
	{"granted, and it succeeds",
	 {REPORT(STATE_ENFORCED, NULL), .granted = true, .outside = YES, .inside = YES},
	 VERDICT_PASS,
	 false,
	 ""},
	{"granted, and refused",
	 {REPORT(STATE_ENFORCED, NULL), .granted = true, .outside = YES, .inside = NO},
	 VERDICT_FAIL,
	 true,
	 "the policy allows it, but it failed: EACCES"},
	{"no guarantee of the policy, and it does not hold",
	 {.check = &unnamed, .outside = YES, .inside = YES},
	 VERDICT_FAIL,
	 true,
	 "it does not hold: done"},
	{"no guarantee of the policy, and it could not be tried",
	 {.check = &unnamed, .outside = YES, .inside = NEVER},
	 VERDICT_SKIP,
	 true,
	 "the attempt was not made: not started"},
};

TEST(a_verdict_compares_what_was_seen_with_what_was_reported) {
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct finding f = rows[i].f;
		selftest_finding_judge(&f);
		if (f.verdict != rows[i].verdict || selftest_finding_fails(&f) != rows[i].fails) {
			printf("# %s: %s\n", rows[i].what, selftest_verdict_name(f.verdict));
		}
		CHECK_INT(f.verdict, rows[i].verdict);
		CHECK_INT(selftest_finding_fails(&f), rows[i].fails);
		CHECK_STR(f.reason, rows[i].reason);
	}
}

TEST(every_check_has_a_name_of_its_own_and_something_to_do) {
	for (size_t i = 0; i < checks_count; i++) {
		CHECK(checks[i].name != NULL && checks[i].tried != NULL);
		CHECK((checks[i].own == NULL) == (checks[i].effect != NULL));
		CHECK(checks[i].own != NULL || checks[i].act[0] != NULL);
		for (size_t k = 0; k < i; k++) {
			CHECK(strcmp(checks[i].name, checks[k].name) != 0);
		}
	}
	/* It removes the bait. */
	CHECK_STR(checks[checks_count - 1].name, "nothing-left");
}

/* Lines as /proc/self/status has them; a set that is missing counts as one that is not empty. */
TEST(a_capability_in_any_set_that_has_to_be_empty_is_seen) {
#define SETS(inh, prm, eff, bnd, amb)                                                              \
	"Name:\tx\nCapInh:\t" inh "\nCapPrm:\t" prm "\nCapEff:\t" eff "\nCapBnd:\t" bnd            \
	"\nCapAmb:\t" amb "\nNoNewPrivs:\t1\n"
	static const struct {
		const char *text;
		bool bounded, unbounded;
	} cases[] = {
		{SETS("0", "0", "0", "0", "0"), false, false},
		{SETS("0", "0", "0", "1ff", "0"), true, false},
		{SETS("1", "0", "0", "0", "0"), true, true},
		{SETS("0", "1", "0", "0", "0"), true, true},
		{SETS("0", "0", "0000000000002000", "0", "0"), true, true},
		{SETS("0", "0", "0", "0", "1"), true, true},
		{"Name:\tx\n", true, true},
		{"", true, true},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct bait b = {.bounded = true};
		CHECK_INT(effect_capabilities(&b, NULL, cases[i].text), cases[i].bounded);
		b.bounded = false;
		CHECK_INT(effect_capabilities(&b, NULL, cases[i].text), cases[i].unbounded);
	}
	CHECK(!effect_new_privs(NULL, NULL, cases[0].text));
	CHECK(effect_new_privs(NULL, NULL, "CapAmb:\t0\nNoNewPrivs:\t0\n"));
	CHECK(effect_new_privs(NULL, NULL, ""));
}

TESTS_MAIN
