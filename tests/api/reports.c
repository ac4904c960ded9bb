/* SPDX-License-Identifier: Apache-2.0 */
/* The reports of libcorral: what the host has, and whether that is true. */
#include <corral.h>

#include "test.h"

#include <errno.h>
#include <unistd.h>

static struct corral_policy *plain_policy(void) {
	struct corral_policy *policy = corral_policy_new();
	if (policy != NULL) {
		corral_policy_no_config(policy);
	}
	return policy;
}

TEST(a_status_is_text_or_one_line_of_json) {
	struct corral_error err = {0};
	struct corral_policy *policy = plain_policy();
	char *text = NULL, *json = NULL;
	int starts = -1;

	REQUIRE(policy != NULL);
	REQUIRE(corral_status(policy, CORRAL_TEXT, &text, NULL, &err) == 0);
	REQUIRE(corral_status(policy, CORRAL_JSON, &json, &starts, &err) == 0);
	corral_policy_free(policy);
	CHECK(strncmp(text, "level ", 6) == 0 && strstr(text, "\nmechanisms\n") != NULL);
	CHECK(starts == 0 || starts == 1);
	CHECK(strstr(json, starts ? "{\"version\":1,\"starts\":true,"
				  : "{\"version\":1,\"starts\":false,") == json);
	CHECK(strchr(json, '\n') == NULL);
	free(text);
	free(json);
}

TEST(a_status_agrees_with_the_probe) {
	struct corral_probe probe = {.size = sizeof probe};
	struct corral_error err = {0};
	struct corral_policy *policy = plain_policy();
	char *json = NULL, wanted[64];

	REQUIRE(policy != NULL);
	REQUIRE(corral_probe(&probe, &err) == 0);
	REQUIRE(corral_status(policy, CORRAL_JSON, &json, NULL, &err) == 0);
	corral_policy_free(policy);
	(void)snprintf(wanted, sizeof wanted, "\"abi\":%d,", probe.landlock_abi);
	CHECK(strstr(json, wanted) != NULL);
	if (probe.user_namespaces) {
		(void)snprintf(wanted, sizeof wanted, "\"level\":\"%s\"", probe.level);
		CHECK(strstr(json, wanted) != NULL);
	}
	free(json);
}

TEST(a_status_leaves_the_policy_as_it_was) {
	struct corral_error err = {0};
	struct corral_policy *policy = plain_policy();
	char *before = NULL, *after = NULL, *text = NULL;

	REQUIRE(policy != NULL);
	REQUIRE(corral_policy_set(policy, "limits.timeout", "7s", &err) == 0);
	REQUIRE(corral_policy_show(policy, CORRAL_JSON, &before, &err) == 0);
	REQUIRE(corral_status(policy, CORRAL_TEXT, &text, NULL, &err) == 0);
	REQUIRE(corral_policy_show(policy, CORRAL_JSON, &after, &err) == 0);
	CHECK_STR(after, before);
	corral_policy_free(policy);
	free(before);
	free(after);
	free(text);
}

TEST(reports_name_a_missing_policy_and_a_wrong_one) {
	struct corral_error err = {0};
	struct corral_policy *policy = plain_policy();
	char *text = NULL;

	REQUIRE(policy != NULL);
	CHECK_INT(corral_status(NULL, CORRAL_TEXT, &text, NULL, &err), -1);
	CHECK_INT(err.kind, CORRAL_E_USAGE);
	CHECK_INT(corral_selftest(NULL, "/bin/true", CORRAL_TEXT, &text, NULL, &err), -1);
	CHECK_INT(err.kind, CORRAL_E_USAGE);
	CHECK_INT(corral_selftest(policy, NULL, CORRAL_TEXT, &text, NULL, &err), -1);
	CHECK_INT(err.kind, CORRAL_E_USAGE);
	CHECK_INT(corral_selftest(policy, "corral", CORRAL_TEXT, &text, NULL, &err), -1);
	CHECK_INT(err.kind, CORRAL_E_USAGE);
	CHECK_INT(corral_selftest(policy, "/nowhere/corral", CORRAL_TEXT, &text, NULL, &err), -1);
	CHECK_INT(err.sys_errno, ENOENT);
	REQUIRE(corral_policy_set(policy, "limits.timeout", "soon", &err) == 0);
	CHECK_INT(corral_status(policy, CORRAL_TEXT, &text, NULL, &err), -1);
	CHECK_INT(err.kind, CORRAL_E_USAGE);
	CHECK(strstr(err.message, "soon") != NULL);
	CHECK(text == NULL);
	corral_policy_free(policy);
}

TEST(a_probe_that_does_nothing_proves_nothing) {
	struct corral_error err = {0};
	struct corral_policy *policy = plain_policy();
	char *text = NULL;
	int failed = 0;

	REQUIRE(policy != NULL);
	int rc = corral_selftest(policy, "/bin/true", CORRAL_JSON, &text, &failed, &err);
	corral_policy_free(policy);
	if (rc != 0 && err.kind == CORRAL_E_SETUP) {
		SKIP("no run can be made here: %.200s", err.message);
	}
	REQUIRE(rc == 0);
	CHECK(failed > 10); /* every claim that could not be tried */
	CHECK(strstr(text, "\"ok\":false") != NULL);
	CHECK(strstr(text, "\"fail\":0") != NULL); /* skipped, and not disproved */
	free(text);
}

TEST(a_gate_that_did_its_work_did_not_fail) {
	static const char *const argv[] = {"true", NULL};
	struct corral_error err = {0};
	struct corral_policy *policy = plain_policy();
	struct corral_result *result = NULL;

	REQUIRE(policy != NULL);
	REQUIRE(corral_policy_set(policy, "net.mode", "filtered", &err) == 0);
	REQUIRE(corral_run(policy, argv, NULL, &result, &err) == 0);
	corral_policy_free(policy);
	CHECK_INT(corral_result_network_recorded(result), 1);
	CHECK(corral_result_network_failed(result) == NULL);
	corral_result_free(result);
}

TESTS_MAIN
