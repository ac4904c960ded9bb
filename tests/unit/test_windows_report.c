/* SPDX-License-Identifier: Apache-2.0 */
/* corral.exe: what is enforced, and the result. */
#include "test.h"

#include "windows_world.h"

#include "base/str.h"
#include "data/other_builds.h"
#include "run/bare_result.h"
#include "windows/enforcement.h"
#include "windows/report.h"

/* ---- what is enforced ---- */

static const struct facts windows = {
	.version = "Windows 10.0.19045",
	.appcontainer = true,
	.token = true,
	.integrity = true,
	.job = true,
	.job_memory = true,
	.job_processes = true,
	.job_cpu = true,
	.job_ui = true,
};
static const struct facts wine = {
	.wine = true, .version = "wine", .appcontainer_why = "no", .job = true};

static enum windows_state state_of(const struct windows_enforcement *g, const char *name) {
	for (size_t i = 0; i < g->count; i++) {
		if (streq(g->list[i].name, name)) {
			return g->list[i].state;
		}
	}
	return WINDOWS_ABSENT;
}

/* The exit of enforcement_check() for options. */
static int judge(const struct facts *facts, struct windows_enforcement *g, struct err *e,
		 const char *const *words, size_t n) {
	struct arena a;
	struct run_choices c;
	int rc = -2;

	arena_init(&a);
	if (read_options(&a, &c, e, words, n) == 0 && choices_default(&a, &c, e) == 0) {
		enforcement_make(facts, &c, g);
		rc = enforcement_check(facts, &c, g, e);
	}
	arena_done(&a);
	return rc;
}
#define JUDGE(facts, g, e, ...)                                                                    \
	judge(facts, g, e, (const char *const[]){__VA_ARGS__},                                     \
	      ARRAY_LEN(((const char *const[]){__VA_ARGS__})))

TEST(every_guarantee_has_a_state_and_a_reason) {
	const struct facts *const machines[] = {&windows, &wine};
	struct windows_enforcement g;
	struct err e;

	for (size_t m = 0; m < ARRAY_LEN(machines); m++) {
		(void)JUDGE(machines[m], &g, &e, "--json"); /* the list is filled either way */
		for (size_t i = 0; i < g.count; i++) {
			CHECK_STR(g.list[i].name, keys[KEY_REQUIRE].choices[i]);
			CHECK((g.list[i].state == WINDOWS_ENFORCED) == (g.list[i].why == NULL));
			CHECK((g.list[i].state == WINDOWS_ABSENT) == (g.list[i].by[0] == NULL));
		}
		CHECK(keys[KEY_REQUIRE].choices[g.count] == NULL);
	}
}

TEST(a_machine_with_appcontainers_is_standard) {
	struct windows_enforcement g;
	struct err e;

	CHECK_INT(JUDGE(&windows, &g, &e, "--json"), 0);
	CHECK_STR(g.level, "standard");
	CHECK_STR(g.engine, "appcontainer");
	CHECK_INT(state_of(&g, "net"), WINDOWS_WEAKER);
	CHECK_INT(state_of(&g, "fs.write"), WINDOWS_WEAKER);
	CHECK_INT(state_of(&g, "privileges"), WINDOWS_WEAKER);
	CHECK_INT(JUDGE(&windows, &g, &e, "--require", "fs.write"), -1);
	CHECK_INT(JUDGE(&windows, &g, &e, "--min-level", "full"), -1);
	CHECK_INT(JUDGE(&windows, &g, &e, "--net", "full"), 0);
	CHECK_INT(state_of(&g, "net"), WINDOWS_ABSENT);
}

/* The rows ran under wine alone: what they test is enforced there, and nothing anywhere else. */
TEST(nothing_is_enforced_where_no_row_has_shown_it) {
	struct windows_enforcement g;
	struct err e;

	CHECK_INT(JUDGE(&windows, &g, &e, "--json", "--mode", "read-only", "--memory", "1G"), 0);
	for (size_t i = 0; i < g.count; i++) {
		CHECK(g.list[i].state != WINDOWS_ENFORCED);
	}
	CHECK_INT(JUDGE(&windows, &g, &e, "--mode", "read-only", "--require", "fs.write"), -1);
	CHECK(strstr(e.what, NOT_RUN_WINDOWS) != NULL);
	CHECK_INT(JUDGE(&wine, &g, &e, "--level", "none", "--accept-no-sandbox", "--require",
			"lifetime,env"),
		  0);
}

TEST(wine_claims_nothing_about_files_and_network) {
	static const char *const absent[] = {"fs.write", "fs.read", "fs.deny",   "net",
					     "ipc",      "pid",     "privileges"};
	struct windows_enforcement g;
	struct err e;

	CHECK_INT(JUDGE(&wine, &g, &e, "--json"), -1);
	CHECK_INT(e.kind, ERR_SETUP);
	CHECK_INT(JUDGE(&wine, &g, &e, "--level", "none"), -1);
	CHECK_INT(e.kind, ERR_REFUSED);
	CHECK_INT(JUDGE(&wine, &g, &e, "--accept-no-sandbox"), -1);
	CHECK_INT(JUDGE(&wine, &g, &e, "--level", "none", "--accept-no-sandbox"), 0);
	CHECK_STR(g.level, "none");
	for (size_t i = 0; i < ARRAY_LEN(absent); i++) {
		CHECK_INT(state_of(&g, absent[i]), WINDOWS_ABSENT);
	}
	CHECK_INT(JUDGE(&wine, &g, &e, "--level", "none", "--accept-no-sandbox", "--min-level",
			"minimal"),
		  -1);
}

TEST(a_limit_that_is_not_enforced_is_refused_unless_accepted) {
	struct windows_enforcement g;
	struct err e;

	CHECK_INT(JUDGE(&wine, &g, &e, "--level", "none", "--accept-no-sandbox", "--memory", "1G"),
		  -1);
	CHECK(strstr(e.fix, "--allow-degraded limits.memory") != NULL);
	CHECK_INT(JUDGE(&wine, &g, &e, "--level", "none", "--accept-no-sandbox", "--memory", "1G",
			"--allow-degraded", "limits.memory"),
		  0);
	CHECK_INT(state_of(&g, "limits.memory"), WINDOWS_ABSENT);
	CHECK_INT(JUDGE(&windows, &g, &e, "--memory", "1G", "--cpus", "1"), 0);
	CHECK_INT(state_of(&g, "limits.memory"), WINDOWS_WEAKER);
}

/* ---- the result ---- */

TEST(the_exit_status_is_that_of_the_command_or_of_corral) {
	const struct windows_report exited = {.reason = REASON_EXITED, .exit_code = 0xC0000005};
	const struct windows_report late = {.reason = REASON_TIMED_OUT};
	const struct err usage = {.kind = ERR_USAGE}, missing = {.kind = ERR_NOT_FOUND},
			 refused = {.kind = ERR_REFUSED}, not_program = {.kind = ERR_NO_EXEC},
			 setup = {.kind = ERR_SETUP};

	CHECK_INT(report_status(&exited), 0xC0000005);
	CHECK_INT(report_status(&late), 124);
	CHECK_INT(bare_result_failure_status(&usage), 2);
	CHECK_INT(bare_result_failure_status(&missing), 127);
	CHECK_INT(bare_result_failure_status(&refused), 126);
	CHECK_INT(bare_result_failure_status(&not_program), 126);
	CHECK_INT(bare_result_failure_status(&setup), 125);
}

TEST(a_failure_has_the_same_object_and_an_error) {
	static char empty[] = "";
	const struct windows_report r = {.reason = REASON_SETUP_FAILED,
					 .started_ms = -1,
					 .cpu_ms = -1,
					 .out = empty,
					 .err = empty};
	struct err e = {0};
	struct buf out;

	(void)err_set(&e, ERR_SETUP, "acl", "cannot");
	buf_init(&out);
	REQUIRE(report_json(&r, NULL, NULL, &e, &out) == 0);
	CHECK(strstr(out.data, "\"reason\":\"setup\"") != NULL);
	CHECK(strstr(out.data, "\"guarantees\":[]") != NULL);
	CHECK(strstr(out.data, "\"error\":{\"layer\":\"acl\",\"message\":\"cannot\"") != NULL);
	buf_done(&out);
}

TESTS_MAIN
