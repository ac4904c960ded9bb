/* SPDX-License-Identifier: Apache-2.0 */
/* A program that has forked: copies of its descriptors outlive it, and what it started does not. */
#include <corral.h>

#include "test.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORKS_S 60    /* as long as the worker of the test's program would stay */
#define ENDS_MS 20000 /* a second on an idle host */

static char workspace[] = "/tmp/corral-api-XXXXXX";

/* Starts a command that would run for ever with out as its output, has a worker, and dies. */
static _Noreturn void start_and_die(const char *level, int out, int worker_out) {
	const char *argv[] = {"sleep", "1000", NULL};
	struct corral_options options = CORRAL_OPTIONS_INIT;
	struct corral_process *process = NULL;
	struct corral_policy *policy = corral_policy_new();

	options.out = options.err = out;
	corral_policy_no_config(policy);
	if (corral_policy_set(policy, "workspace", workspace, NULL) != 0 ||
	    corral_policy_set(policy, "fs.home", "ephemeral", NULL) != 0 ||
	    corral_policy_set(policy, "level", level, NULL) != 0 ||
	    corral_spawn(policy, argv, &options, &process, NULL) != 0) {
		_exit(1);
	}
	pid_t worker = fork();
	if (worker == 0) {
		(void)close(out);
		(void)sleep(WORKS_S);
		_exit(0);
	}
	if (write(worker_out, &worker, sizeof worker) != (ssize_t)sizeof worker) {
		_exit(1);
	}
	(void)kill(getpid(), SIGKILL);
	_exit(1);
}

/* True when nobody has the pipe's other end any more. */
static bool ends(int in) {
	struct pollfd slot = {.fd = in, .events = POLLIN};
	char byte;

	return poll(&slot, 1, ENDS_MS) == 1 && read(in, &byte, 1) == 0;
}

static void check_level(const char *level) {
	int out[2], told[2], status = 0;
	pid_t worker = 0;

	REQUIRE(pipe(out) == 0 && pipe(told) == 0);
	pid_t program = fork();
	REQUIRE(program >= 0);
	if (program == 0) {
		start_and_die(level, out[1], told[1]);
	}
	(void)close(out[1]);
	(void)close(told[1]);
	REQUIRE(waitpid(program, &status, 0) == program);
	if (WIFEXITED(status)) {
		printf("# this host has no level %s\n", level);
	} else {
		REQUIRE(read(told[0], &worker, sizeof worker) == (ssize_t)sizeof worker);
		CHECK(ends(out[0]));
		CHECK(kill(worker, 0) == 0); /* which had copies all the time */
		(void)kill(worker, SIGKILL);
	}
	(void)close(out[0]);
	(void)close(told[0]);
}

TEST(a_run_ends_with_the_process_that_started_it_although_that_has_forked) {
	REQUIRE(mkdtemp(workspace) != NULL);
	check_level("full");
	check_level("standard");
	(void)rmdir(workspace);
}

TESTS_MAIN
