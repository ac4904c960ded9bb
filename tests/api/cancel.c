/* SPDX-License-Identifier: Apache-2.0 */
/* A run that its caller watches and ends: cancel_fd and output of corral_options. */
#include <corral.h>

#include "test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

static char workspace[] = "/tmp/corral-api-XXXXXX";

/* The output so far; at the word "ready" the run is cancelled. */
struct watcher {
	char text[2][256];
	int cancel;
};

static void take(void *arg, int stream, const char *bytes, size_t len) {
	struct watcher *w = arg;
	uint64_t one = 1;

	REQUIRE(stream == 1 || stream == 2);
	(void)strncat(w->text[stream - 1], bytes, len);
	if (strstr(w->text[0], "ready") != NULL && w->cancel > 0) {
		CHECK(write(w->cancel, &one, sizeof one) == (ssize_t)sizeof one);
	}
}

static struct corral_policy *policy_for(const char *level) {
	struct corral_policy *policy = corral_policy_new();

	corral_policy_no_config(policy);
	CHECK(corral_policy_set(policy, "workspace", workspace, NULL) == 0);
	CHECK(corral_policy_set(policy, "fs.home", "ephemeral", NULL) == 0);
	CHECK(corral_policy_set(policy, "level", level, NULL) == 0);
	CHECK(corral_policy_set(policy, "limits.grace", "100ms", NULL) == 0);
	return policy;
}

static struct corral_result *run(const struct corral_policy *policy, const char *script,
				 struct watcher *w) {
	const char *argv[] = {"/bin/sh", "-c", script, NULL};
	struct corral_options options = CORRAL_OPTIONS_INIT;
	struct corral_result *result = NULL;
	struct corral_error err;

	options.cancel_fd = w->cancel;
	options.output = take;
	options.output_arg = w;
	if (corral_run(policy, argv, &options, &result, &err) != 0) {
		(void)printf("# %s\n", err.message);
	}
	return result;
}

/* The command ignores SIGTERM and has a child in another session. */
#define STUBBORN "trap '' TERM; setsid sleep 1000 & echo ready; echo err >&2; sleep 1000"

static void check_level(const char *level) {
	struct corral_policy *policy = policy_for(level);
	struct watcher w = {.cancel = eventfd(0, EFD_CLOEXEC)}, quiet = {.cancel = 0};

	struct corral_result *result = run(policy, STUBBORN, &w);
	REQUIRE(result != NULL);
	CHECK_STR(corral_result_reason(result), "cancelled");
	CHECK_STR(corral_result_stdout(result, NULL, NULL), "ready\n");
	CHECK_STR(w.text[0], "ready\n");
	corral_result_free(result);
	/* The descriptor is readable before the command begins. */
	result = run(policy, "echo never; sleep 1000", &w);
	REQUIRE(result != NULL);
	CHECK_STR(corral_result_reason(result), "cancelled");
	corral_result_free(result);
	result = run(policy, "echo one; echo two >&2", &quiet);
	REQUIRE(result != NULL);
	CHECK_STR(corral_result_reason(result), "exit");
	CHECK_STR(quiet.text[0], "one\n");
	CHECK_STR(quiet.text[1], "two\n");
	corral_result_free(result);
	(void)close(w.cancel);
	corral_policy_free(policy);
}

TEST(a_run_is_cancelled_by_a_descriptor_and_its_output_is_seen_as_it_comes) {
	REQUIRE(mkdtemp(workspace) != NULL);
	check_level("full");
	check_level("standard");
	(void)rmdir(workspace);
}

TEST(corral_spawn_refuses_both) {
	const char *argv[] = {"true", NULL};
	struct corral_options options = CORRAL_OPTIONS_INIT;
	struct corral_policy *policy = corral_policy_new();
	struct corral_process *process = NULL;
	struct corral_error err;

	options.out = options.err = CORRAL_NULL;
	options.output = take;
	CHECK(corral_spawn(policy, argv, &options, &process, &err) == -1);
	CHECK(err.kind == CORRAL_E_USAGE);
	options.output = NULL;
	options.cancel_fd = 1;
	CHECK(corral_spawn(policy, argv, &options, &process, &err) == -1);
	options.cancel_fd = 9999;
	options.out = options.err = CORRAL_CAPTURE;
	struct corral_result *result = NULL;
	CHECK(corral_run(policy, argv, &options, &result, &err) == -1);
	CHECK_STR(err.message, "cancel_fd: 9999 is not an open file descriptor");
	corral_policy_free(policy);
}

TESTS_MAIN
