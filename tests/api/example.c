/* SPDX-License-Identifier: Apache-2.0 */
/* What a program needs of libcorral, with nothing but the public header: run a
 * command, start one with pipes, and understand a failure. */
#include <corral.h>

#include "test.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

/* A policy on a workspace of its own; the standing files of this host stay out. */
static struct corral_policy *policy_in(const char *workspace) {
	struct corral_error err = {0};
	struct corral_policy *policy = corral_policy_new();

	if (policy == NULL) {
		return NULL;
	}
	corral_policy_no_config(policy);
	if (corral_policy_set(policy, "workspace", workspace, &err) != 0 ||
	    corral_policy_set(policy, "fs.home", "ephemeral", &err) != 0) {
		printf("# %s: %s\n", err.layer, err.message);
		corral_policy_free(policy);
		return NULL;
	}
	return policy;
}

static char workspace[] = "/tmp/corral-api-XXXXXX";

static void show(const struct corral_error *err) {
	printf("# %s: %s (%d)\n# remedy: %s\n", err->layer, err->message, err->sys_errno,
	       err->remedy);
}

TEST(a_command_is_run_and_its_output_captured) {
	const char *argv[] = {"sh", "-c", "echo out; echo err >&2; exit 7", NULL};
	struct corral_error err = {0};
	struct corral_result *result = NULL;
	size_t len = 0;
	uint64_t dropped = 1;

	REQUIRE(mkdtemp(workspace) != NULL);
	struct corral_policy *policy = policy_in(workspace);
	REQUIRE(policy != NULL);
	int rc = corral_run(policy, argv, NULL, &result, &err);
	corral_policy_free(policy);
	if (rc != 0) {
		show(&err);
	}
	REQUIRE(rc == 0);
	CHECK_STR(corral_result_reason(result), "exit");
	CHECK_INT(corral_result_exit_code(result), 7);
	CHECK_INT(corral_result_status(result), 7);
	CHECK_INT(corral_result_signal(result), 0);
	CHECK_STR(corral_result_stdout(result, &len, &dropped), "out\n");
	CHECK_INT(len, 4);
	CHECK_INT(dropped, 0);
	CHECK_STR(corral_result_stderr(result, NULL, NULL), "err\n");
	CHECK_STR(corral_result_ending(result), "");
	corral_result_free(result);
}

TEST(a_result_becomes_one_line_of_json) {
	const char *argv[] = {"printf", "a\\001b", NULL};
	struct corral_error err = {0};
	struct corral_result *result = NULL;
	struct corral_policy *policy = policy_in(workspace);
	char *text = NULL;

	REQUIRE(policy != NULL);
	int rc = corral_run(policy, argv, NULL, &result, &err);
	corral_policy_free(policy);
	REQUIRE(rc == 0);
	REQUIRE(corral_result_json(result, &text, &err) == 0);
	CHECK(strstr(text, "{\"version\":1,\"reason\":\"exit\",\"exit_code\":0,\"signal\":null,") ==
	      text);
	CHECK(strstr(text, "\"stdout\":\"a\\u0001b\"") != NULL);
	CHECK(strstr(text, "\"denials_recorded\":true") != NULL);
	CHECK(strstr(text, "\"name\":\"fs.write\",\"state\":\"enforced\"") != NULL);
	CHECK(strchr(text, '\n') == NULL);
	free(text);
	corral_result_free(result);
}

TEST(a_started_command_reads_and_writes_through_pipes) {
	const char *argv[] = {"cat", NULL};
	struct corral_error err = {0};
	struct corral_options options = CORRAL_OPTIONS_INIT;
	struct corral_process *process = NULL;
	struct corral_result *result = NULL;
	struct corral_policy *policy = policy_in(workspace);
	int in[2], out[2];
	char got[16] = "";

	REQUIRE(policy != NULL && pipe(in) == 0 && pipe(out) == 0);
	options.in = in[0];
	options.out = out[1];
	options.err = CORRAL_NULL;
	int rc = corral_spawn(policy, argv, &options, &process, &err);
	corral_policy_free(policy);
	close(in[0]);
	close(out[1]);
	if (rc != 0) {
		show(&err);
	}
	REQUIRE(rc == 0);
	CHECK(corral_process_fd(process) >= 0);
	CHECK_INT(write(in[1], "hello", 5), 5);
	CHECK_INT(read(out[0], got, sizeof got - 1), 5);
	CHECK_STR(got, "hello");
	close(in[1]);
	struct pollfd ended = {.fd = corral_process_fd(process), .events = POLLIN};
	CHECK_INT(poll(&ended, 1, 60000), 1);
	REQUIRE(corral_wait(process, &result, &err) == 0);
	CHECK_INT(corral_result_exit_code(result), 0);
	CHECK(corral_result_stdout(result, NULL, NULL) == NULL);
	corral_result_free(result);
	close(out[0]);
}

static bool has_step(const struct corral_result *result, const char *name) {
	const char *step;
	int64_t us;

	for (size_t i = 0; corral_result_timing(result, i, &step, &us) == 0; i++) {
		if (strcmp(step, name) == 0) {
			return us >= 0;
		}
	}
	return false;
}

TEST(a_timed_run_lists_its_steps_after_those_of_the_caller) {
	const char *argv[] = {"true", NULL}, *step = NULL;
	const struct corral_timing own[] = {{"thinking", 42}};
	struct corral_options options = CORRAL_OPTIONS_INIT;
	struct corral_error err = {0};
	struct corral_process *process = NULL;
	struct corral_result *result = NULL;
	struct corral_policy *policy = policy_in(workspace);
	int64_t us = 0;

	REQUIRE(policy != NULL);
	options.out = options.err = CORRAL_NULL;
	REQUIRE(corral_run(policy, argv, &options, &result, &err) == 0);
	CHECK_INT(corral_result_timing(result, 0, &step, &us), 1);
	CHECK_INT(corral_result_timing(NULL, 0, &step, &us), -1);
	corral_result_free(result);
	options.timings = 1;
	options.earlier = own;
	options.nearlier = 1;
	for (int i = 0; i < 2; i++) {
		int rc = i == 0 ? corral_run(policy, argv, &options, &result, &err)
				: corral_spawn(policy, argv, &options, &process, &err);
		REQUIRE(rc == 0 && (i == 0 || corral_wait(process, &result, &err) == 0));
		REQUIRE(corral_result_timing(result, 0, &step, &us) == 0);
		CHECK_STR(step, "thinking");
		CHECK_INT(us, 42);
		CHECK(has_step(result, "plan") && has_step(result, "clone") &&
		      has_step(result, "execve") && has_step(result, "report") &&
		      has_step(result, "finish") && has_step(result, "result"));
		corral_result_free(result);
	}
	options.earlier = NULL;
	CHECK_INT(corral_run(policy, argv, &options, &result, &err), -1);
	CHECK_INT(err.kind, CORRAL_E_USAGE);
	corral_policy_free(policy);
}

TEST(a_started_command_can_be_signalled) {
	const char *argv[] = {"sleep", "600", NULL};
	struct corral_error err = {0};
	struct corral_process *process = NULL;
	struct corral_result *result = NULL;
	struct corral_policy *policy = policy_in(workspace);

	REQUIRE(policy != NULL);
	int rc = corral_spawn(policy, argv, NULL, &process, &err);
	corral_policy_free(policy);
	REQUIRE(rc == 0);
	CHECK_INT(corral_process_signal(process, SIGUSR1), 0);
	REQUIRE(corral_wait(process, &result, &err) == 0);
	CHECK_STR(corral_result_reason(result), "signal");
	CHECK_INT(corral_result_status(result), 128 + SIGUSR1);
	corral_result_free(result);
}

/* Who holds the other end of the pipe is a process of the run. */
static void free_ends_everything(const char *level) {
	const char *argv[] = {"sh", "-c",
			      "trap '' TERM HUP; setsid sleep 300 & (setsid sleep 300 &); echo up; "
			      "while :; do sleep 1; done",
			      NULL};
	struct corral_error err = {0};
	struct corral_options options = CORRAL_OPTIONS_INIT;
	struct corral_process *process = NULL;
	struct corral_policy *policy = policy_in(workspace);
	char got[16] = "";
	int out[2];

	REQUIRE(policy != NULL && pipe2(out, O_CLOEXEC) == 0);
	REQUIRE(corral_policy_set(policy, "level", level, &err) == 0);
	options.in = options.err = CORRAL_NULL;
	options.out = out[1];
	int rc = corral_spawn(policy, argv, &options, &process, &err);
	corral_policy_free(policy);
	close(out[1]);
	REQUIRE(rc == 0);
	CHECK_INT(read(out[0], got, sizeof got), 3);
	corral_process_free(process);
	struct pollfd end = {.fd = out[0], .events = POLLIN};
	CHECK_INT(poll(&end, 1, 60000), 1);
	CHECK_INT(read(out[0], got, sizeof got), 0);
	close(out[0]);
}

TEST(freeing_a_process_ends_everything_that_it_started) {
	free_ends_everything("full");
	free_ends_everything("standard");
}

TEST(a_command_that_ends_at_once_has_its_own_status) {
	const char *argv[] = {"sh", "-c", "exit 5", NULL};

	for (int i = 0; i < 20; i++) {
		struct corral_error err = {0};
		struct corral_process *process = NULL;
		struct corral_result *result = NULL;
		struct corral_policy *policy = policy_in(workspace);

		REQUIRE(policy != NULL);
		int rc = corral_spawn(policy, argv, NULL, &process, &err);
		corral_policy_free(policy);
		REQUIRE(rc == 0);
		usleep(i % 2 == 0 ? 0 : 20000);
		REQUIRE(corral_wait(process, &result, &err) == 0);
		CHECK_STR(corral_result_reason(result), "exit");
		CHECK_INT(corral_result_exit_code(result), 5);
		corral_result_free(result);
	}
}

TEST(a_time_out_says_what_ended_the_run) {
	const char *argv[] = {"sleep", "600", NULL};
	struct corral_error err = {0};
	struct corral_result *result = NULL;
	struct corral_policy *policy = policy_in(workspace);

	REQUIRE(policy != NULL);
	REQUIRE(corral_policy_set(policy, "limits.timeout", "300ms", &err) == 0);
	int rc = corral_run(policy, argv, NULL, &result, &err);
	corral_policy_free(policy);
	REQUIRE(rc == 0);
	CHECK_STR(corral_result_reason(result), "timeout");
	CHECK_INT(corral_result_status(result), 124);
	CHECK_STR(corral_result_ending(result), "the time-out of 300 ms (--timeout)");
	corral_result_free(result);
}

TEST(a_command_that_does_not_exist_is_an_error_and_no_result) {
	const char *argv[] = {"corral-no-such-command", NULL};
	struct corral_error err = {0};
	struct corral_result *result = NULL;
	struct corral_policy *policy = policy_in(workspace);

	REQUIRE(policy != NULL);
	CHECK_INT(corral_run(policy, argv, NULL, &result, &err), -1);
	CHECK_INT(err.kind, CORRAL_E_NOT_FOUND);
	CHECK(err.message[0] != '\0');
	CHECK(result == NULL);
	corral_policy_free(policy);
	CHECK_INT(rmdir(workspace), 0);
}

TESTS_MAIN
