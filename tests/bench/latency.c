/* SPDX-License-Identifier: Apache-2.0 */
/* Times the runs of several commands in turn, so that load of the machine hits all of them alike.
 * Each round has another order, because the kernel tears down the namespaces of one command while
 * the next one runs.
 *
 *     latency ROUNDS SECONDS NAME COMMAND... -- NAME COMMAND... -- ...
 *
 * Prints one JSON object a line for each command: its name, and the microseconds of each round, or
 * the reason why it failed.  Stdout and stderr of a command are one pipe, as a tool of an agent has
 * it.  The command "@library" is /bin/true through corral_run() in this process; "@session" is
 * corral_session_run() and "@exec" corral_session_exec(), in a session that is open.  A command
 * whose NAME begins with "~" is slow: it has its turn in every eighth round only.  No round begins
 * after SECONDS.
 *
 * Should:   leave a command out that fails in its first run, with the first line of its output.
 * Fails:    with status 1 when a command fails later: half a measurement is none. */
#include <corral.h>

#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

#define CONTENDERS_MAX 48
#define SLOW_TURNS 8

struct contender {
	const char *name;
	char **argv;
	double *us;
	long n;
	bool slow, failed;
	char reason[200];
};

static int output[2]; /* the pipe */
static struct corral_policy *policy;
static struct corral_session *session;

static double now_us(void) {
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* Reads the pipe, which does not block, and keeps the first line. */
static void drain(char *line, size_t cap) {
	static char text[65536];
	ssize_t n = read(output[0], text, sizeof text - 1);

	if (line != NULL && line[0] == '\0' && n > 0) {
		text[n] = '\0';
		text[strcspn(text, "\n")] = '\0';
		snprintf(line, cap, "%.199s", text);
	}
	while (n > 0) {
		n = read(output[0], text, sizeof text);
	}
}

static const char *const command[] = {"/bin/true", NULL};

static struct corral_policy *own_policy(void) {
	if (policy == NULL) {
		policy = corral_policy_new();
		corral_policy_no_config(policy);
	}
	return policy;
}

static bool succeeded(struct contender *c, int rc, struct corral_result *result,
		      const struct corral_error *err) {
	if (rc != 0) {
		snprintf(c->reason, sizeof c->reason, "%.40s: %.150s", err->layer, err->message);
		return false;
	}
	int status = corral_result_status(result);
	corral_result_free(result);
	return status == 0;
}

static bool run_library(struct contender *c) {
	struct corral_options how = CORRAL_OPTIONS_INIT;
	struct corral_result *result = NULL;
	struct corral_error err;

	how.out = how.err = output[1];
	int rc = corral_run(own_policy(), command, &how, &result, &err);
	return succeeded(c, rc, result, &err);
}

static int open_session(struct corral_error *err) {
	return session == NULL ? corral_session_open(own_policy(), NULL, &session, err) : 0;
}

static bool run_session(struct contender *c) {
	struct corral_result *result = NULL;
	struct corral_error err;
	int rc = open_session(&err);

	rc = rc == 0 ? corral_session_run(session, command, NULL, &result, &err) : rc;
	return succeeded(c, rc, result, &err);
}

static bool run_exec(struct contender *c) {
	struct corral_exec_options how = CORRAL_EXEC_OPTIONS_INIT;
	struct corral_result *result = NULL;
	struct corral_exec *exec = NULL;
	struct corral_error err;
	int rc = open_session(&err);

	how.in = CORRAL_NULL;
	how.out = how.err = output[1];
	rc = rc == 0 ? corral_session_exec(session, command, &how, &exec, &err) : rc;
	rc = rc == 0 ? corral_exec_wait(exec, &result, &err) : rc;
	return succeeded(c, rc, result, &err);
}

static bool run_program(struct contender *c) {
	posix_spawn_file_actions_t streams;
	int status = 0;
	pid_t pid;

	posix_spawn_file_actions_init(&streams);
	posix_spawn_file_actions_addopen(&streams, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&streams, output[1], 1);
	posix_spawn_file_actions_adddup2(&streams, output[1], 2);
	int error = posix_spawnp(&pid, c->argv[0], &streams, NULL, c->argv, environ);
	posix_spawn_file_actions_destroy(&streams);
	if (error != 0) {
		snprintf(c->reason, sizeof c->reason, "%s", strerror(error));
		return false;
	}
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Microseconds of one run, or -1. */
static double run_once(struct contender *c) {
	double start = now_us();
	bool done = (strcmp(c->argv[0], "@library") == 0   ? run_library
		     : strcmp(c->argv[0], "@session") == 0 ? run_session
		     : strcmp(c->argv[0], "@exec") == 0    ? run_exec
							   : run_program)(c);
	double spent = now_us() - start;

	drain(done ? NULL : c->reason, sizeof c->reason);
	return done ? spent : -1;
}

static size_t parse(int argc, char **argv, struct contender *list) {
	size_t n = 0;

	for (int i = 3; i < argc && n < CONTENDERS_MAX; i++) {
		list[n].slow = argv[i][0] == '~';
		list[n].name = argv[i++] + list[n].slow;
		list[n++].argv = argv + i;
		while (i < argc && strcmp(argv[i], "--") != 0) {
			i++;
		}
		if (i < argc) {
			argv[i] = NULL;
		}
	}
	return n;
}

/* The first run warms the caches and shows whether the command works. */
static void warm(struct contender *c, long rounds) {
	c->us = calloc((size_t)rounds, sizeof *c->us);
	c->failed = c->us == NULL || run_once(c) < 0;
	for (char *p = c->reason; *p != '\0'; p++) {
		if (*p < ' ' || *p > '~' || *p == '"' || *p == '\\') {
			*p = ' ';
		}
	}
}

/* The same orders in every measurement. */
static void shuffle(size_t *turns, size_t n) {
	static unsigned long long state = 1;

	for (size_t i = n; i > 1; i--) {
		state = state * 6364136223846793005ULL + 1442695040888963407ULL;
		size_t other = (size_t)(state >> 33) % i, kept = turns[i - 1];
		turns[i - 1] = turns[other];
		turns[other] = kept;
	}
}

static void print(const struct contender *c) {
	if (c->failed) {
		printf("{\"name\": \"%s\", \"failed\": \"%s\"}\n", c->name,
		       c->reason[0] == '\0' ? "exit status" : c->reason);
		return;
	}
	printf("{\"name\": \"%s\", \"us\": [", c->name);
	for (long i = 0; i < c->n; i++) {
		printf("%s%.0f", i == 0 ? "" : ", ", c->us[i]);
	}
	printf("]}\n");
}

int main(int argc, char **argv) {
	static struct contender list[CONTENDERS_MAX];
	long rounds = argc > 4 ? strtol(argv[1], NULL, 10) : 0;
	size_t n = parse(argc, argv, list);

	if (rounds < 3 || n < 1 || pipe2(output, O_CLOEXEC) != 0 ||
	    fcntl(output[0], F_SETFL, O_NONBLOCK) != 0) {
		fprintf(stderr,
			"usage: latency ROUNDS SECONDS NAME COMMAND... -- NAME COMMAND...\n");
		return 2;
	}
	size_t turns[CONTENDERS_MAX];
	for (size_t i = 0; i < n; i++) {
		turns[i] = i;
		warm(&list[i], rounds);
	}
	double until = now_us() + strtod(argv[2], NULL) * 1e6;
	for (long r = 0; r < rounds && (r < 3 || now_us() < until); r++) {
		shuffle(turns, n);
		for (size_t i = 0; i < n; i++) {
			struct contender *c = &list[turns[i]];
			if (c->failed || (c->slow && r % SLOW_TURNS != 0)) {
				continue;
			}
			c->us[c->n] = run_once(c);
			if (c->us[c->n++] < 0) {
				fprintf(stderr, "latency: %s failed: %s\n", c->name, c->reason);
				return 1;
			}
		}
	}
	for (size_t i = 0; i < n; i++) {
		print(&list[i]);
		free(list[i].us);
	}
	corral_session_close(session);
	corral_policy_free(policy);
	return 0;
}
