/* SPDX-License-Identifier: Apache-2.0 */
/* Measures sessions: many commands at once in one, and many idle ones.  Prints a JSON object.
 *
 *     warm LEVEL --at-once N            N commands at once, in one session
 *     warm LEVEL --idle N               opens N sessions, which then wait
 *
 * Fails:    with a message and status 1. */
#include <corral.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double now_us(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static _Noreturn void fail(const char *what, const struct corral_error *err) {
	fprintf(stderr, "warm: %s: %s\n", what, err == NULL ? strerror(errno) : err->message);
	exit(1);
}

static struct corral_session *open_session(const char *level) {
	struct corral_policy *policy = corral_policy_new(); /* lives as long as the session */
	struct corral_session *s = NULL;
	struct corral_error err = {0};

	corral_policy_no_config(policy);
	if (corral_policy_set(policy, "level", level, &err) != 0 ||
	    corral_policy_set(policy, "fs.home", "ephemeral", &err) != 0 ||
	    corral_policy_set(policy, "audit.enabled", getenv("AUDIT") == NULL ? "false" : "true",
			      &err) != 0 ||
	    corral_session_open(policy, NULL, &s, &err) != 0) {
		fail("open", &err);
	}
	return s;
}

static void check(struct corral_result *r) {
	if (corral_result_status(r) != 0) {
		fprintf(stderr, "warm: the command ended with %d (%s)\n", corral_result_status(r),
			corral_result_reason(r));
		exit(1);
	}
	corral_result_free(r);
}

static void run_handle(struct corral_session *s, const char *const *argv) {
	struct corral_error err = {0};
	struct corral_exec *x = NULL;
	struct corral_result *r = NULL;

	if (corral_session_exec(s, argv, NULL, &x, &err) != 0 ||
	    corral_exec_wait(x, &r, &err) != 0) {
		fail("exec", &err);
	}
	check(r);
}

static void at_once(const char *level, long n) {
	const char *argv[] = {"/bin/sleep", "0.2", NULL};
	struct corral_session *s = open_session(level);
	struct corral_exec **list = calloc((size_t)n, sizeof *list);
	struct corral_error err = {0};
	double start = now_us();

	for (long i = 0; i < n; i++) {
		if (corral_session_exec(s, argv, NULL, &list[i], &err) != 0) {
			fail("exec", &err);
		}
	}
	for (long i = 0; i < n; i++) {
		struct corral_result *r = NULL;
		if (corral_exec_wait(list[i], &r, &err) != 0) {
			fail("wait", &err);
		}
		check(r);
	}
	printf("{\"commands\": %ld, \"ms\": %.0f}\n", n, (now_us() - start) / 1000);
	corral_session_close(s);
	free(list);
}

/* Keeps them until the end of stdin, so that another process can look at their memory. */
static void idle(const char *level, long n) {
	struct corral_session **list = calloc((size_t)n, sizeof *list);
	double start = now_us();

	for (long i = 0; i < n; i++) {
		const char *argv[] = {"/bin/true", NULL};
		list[i] = open_session(level);
		run_handle(list[i], argv);
	}
	double took = now_us() - start;
	printf("{\"sessions\": %ld, \"open_ms\": %.3f}\n", n, took / 1000 / (double)n);
	fflush(stdout);
	(void)getchar();
	for (long i = 0; i < n; i++) {
		corral_session_close(list[i]);
	}
	free(list);
}

int main(int argc, char **argv) {
	if (argc == 4 && strcmp(argv[2], "--at-once") == 0) {
		at_once(argv[1], strtol(argv[3], NULL, 10));
	} else if (argc == 4 && strcmp(argv[2], "--idle") == 0) {
		idle(argv[1], strtol(argv[3], NULL, 10));
	} else {
		fprintf(stderr, "usage: warm LEVEL --at-once N | --idle N\n");
		return 2;
	}
	return 0;
}
