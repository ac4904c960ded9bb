/* SPDX-License-Identifier: Apache-2.0 */
/* What the library says before it runs anything. */
#include <corral.h>

#include "test.h"

#include <unistd.h>

static const char *const argv_true[] = {"true", NULL};

static enum corral_error_kind kind_of_run(const struct corral_policy *policy,
					  const char *const *argv,
					  const struct corral_options *options) {
	struct corral_error err = {0};
	struct corral_result *result = NULL;

	if (corral_run(policy, argv, options, &result, &err) == 0) {
		corral_result_free(result);
		return CORRAL_E_NONE;
	}
	return err.kind;
}

TEST(an_unknown_key_is_refused_at_once) {
	struct corral_policy *policy = corral_policy_new();
	struct corral_error err = {0};

	CHECK_INT(corral_policy_set(policy, "limits.tiemout", "1s", &err), -1);
	CHECK_INT(err.kind, CORRAL_E_USAGE);
	CHECK(strstr(err.message, "limits.tiemout") != NULL);
	CHECK(err.remedy[0] != '\0');
	CHECK_INT(corral_policy_set(policy, "limits.tiemout", "1s", NULL), -1);
	corral_policy_free(policy);
}

TEST(a_bad_value_stops_the_run_as_usage) {
	struct corral_policy *policy = corral_policy_new();
	struct corral_error err = {0};

	CHECK_INT(corral_policy_set(policy, "limits.timeout", "soon", &err), 0);
	CHECK_INT(kind_of_run(policy, argv_true, NULL), CORRAL_E_USAGE);
	corral_policy_free(policy);
}

TEST(a_second_policy_file_is_refused) {
	struct corral_policy *policy = corral_policy_new();

	CHECK_INT(corral_policy_file(policy, "one.toml", NULL), 0);
	CHECK_INT(corral_policy_file(policy, "two.toml", NULL), -1);
	corral_policy_free(policy);
}

TEST(a_closed_descriptor_is_refused) {
	struct corral_policy *policy = corral_policy_new();
	struct corral_options options = CORRAL_OPTIONS_INIT;

	options.out = 1023;
	CHECK_INT(kind_of_run(policy, argv_true, &options), CORRAL_E_USAGE);
	options.out = CORRAL_CAPTURE;
	options.in = CORRAL_CAPTURE;
	CHECK_INT(kind_of_run(policy, argv_true, &options), CORRAL_E_USAGE);
	corral_policy_free(policy);
}

TEST(a_terminal_that_is_none_is_refused) {
	struct corral_policy *policy = corral_policy_new();
	struct corral_options options = CORRAL_OPTIONS_INIT;

	options.terminal = 1;
	CHECK_INT(kind_of_run(policy, argv_true, &options), CORRAL_E_USAGE);
	corral_policy_free(policy);
}

TEST(no_command_is_refused) {
	struct corral_policy *policy = corral_policy_new();
	const char *const none[] = {NULL};

	CHECK_INT(kind_of_run(policy, NULL, NULL), CORRAL_E_USAGE);
	CHECK_INT(kind_of_run(policy, none, NULL), CORRAL_E_USAGE);
	CHECK_INT(kind_of_run(NULL, argv_true, NULL), CORRAL_E_USAGE);
	corral_policy_free(policy);
}

TEST(spawn_cannot_capture) {
	struct corral_policy *policy = corral_policy_new();
	struct corral_options options = CORRAL_OPTIONS_INIT;
	struct corral_process *process = NULL;
	struct corral_error err = {0};

	CHECK_INT(corral_spawn(policy, argv_true, &options, &process, &err), -1);
	CHECK_INT(err.kind, CORRAL_E_USAGE);
	CHECK(process == NULL);
	corral_policy_free(policy);
}

/* A second read of a stream finds nothing, and nothing must not become a policy
 * without the rules that stood in the stream. */
TEST(a_policy_from_a_stream_keeps_its_rules_for_every_use) {
	static const char text[] = "[limits]\nprocesses = 77\n";
	struct corral_error err = {0};
	struct corral_policy *policy = corral_policy_new();
	char name[16], dir[] = "/tmp/corral-api-XXXXXX";
	int ends[2];

	REQUIRE(policy != NULL && mkdtemp(dir) != NULL && pipe(ends) == 0);
	REQUIRE(write(ends[1], text, sizeof text - 1) == (ssize_t)sizeof text - 1);
	close(ends[1]);
	(void)snprintf(name, sizeof name, "fd:%d", ends[0]);
	corral_policy_no_config(policy);
	CHECK_INT(corral_policy_set(policy, "workspace", dir, &err), 0);
	CHECK_INT(corral_policy_file(policy, name, &err), 0);
	for (int use = 0; use < 2; use++) {
		char *shown = NULL;
		CHECK_INT(corral_policy_show(policy, CORRAL_JSON, &shown, &err), 0);
		CHECK(shown != NULL && strstr(shown, "77") != NULL);
		free(shown);
	}
	CHECK_INT(corral_policy_set(policy, "limits.processes", "78", &err), -1);
	CHECK_INT(err.kind, CORRAL_E_USAGE);
	corral_policy_free(policy);
	close(ends[0]);
	CHECK_INT(rmdir(dir), 0);
}

TEST(a_failure_becomes_the_same_object_with_its_error) {
	struct corral_error failure = {.kind = CORRAL_E_REFUSED,
				       .sys_errno = 13,
				       .layer = "plan",
				       .message = "no \"quotes\"",
				       .remedy = "do this"};
	char *text = NULL;

	REQUIRE(corral_error_json(&failure, &text) == 0);
	CHECK(strstr(text, "\"reason\":\"refused\",\"exit_code\":null") != NULL);
	CHECK(strstr(text, "\"error\":{\"layer\":\"plan\",\"message\":\"no \\\"quotes\\\"\","
			   "\"errno\":\"EACCES\",\"remedy\":\"do this\"}") != NULL);
	free(text);
}

TESTS_MAIN
