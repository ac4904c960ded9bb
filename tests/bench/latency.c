/* SPDX-License-Identifier: Apache-2.0 */
/* Added latency of sandboxes over a bare spawn, in one interleaved run.
 *
 *     latency ROUNDS NAME COMMAND... -- NAME COMMAND... -- ...
 *
 * The first command is the bare spawn.  Each round runs every command once, so
 * that whatever else the machine does hits all of them alike.  Prints a table
 * of medians; "ratio" is the added time against that of the last command. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

#define CONTENDERS_MAX 16

struct contender {
	const char *name;
	char **argv;
	double *us;
};

static double now_us(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static double run_once(const struct contender *c) {
	posix_spawn_file_actions_t quiet;
	pid_t pid;
	int status;

	posix_spawn_file_actions_init(&quiet);
	posix_spawn_file_actions_addopen(&quiet, 0, "/dev/null", O_RDONLY, 0);
	double start = now_us();
	int error = posix_spawnp(&pid, c->argv[0], &quiet, NULL, c->argv, environ);
	posix_spawn_file_actions_destroy(&quiet);
	if (error != 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ||
	    WEXITSTATUS(status) != 0) {
		fprintf(stderr, "latency: %s failed (%s)\n", c->name,
			error != 0 ? strerror(error) : "exit status");
		exit(1);
	}
	return now_us() - start;
}

static int by_value(const void *a, const void *b) {
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static size_t parse(int argc, char **argv, struct contender *list) {
	size_t n = 0;
	for (int i = 2; i < argc && n < CONTENDERS_MAX; i++) {
		list[n].name = argv[i++];
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

int main(int argc, char **argv) {
	struct contender list[CONTENDERS_MAX] = {0};
	long rounds = argc > 3 ? strtol(argv[1], NULL, 10) : 0;
	size_t n = parse(argc, argv, list);

	if (rounds < 3 || n < 2) {
		fprintf(stderr, "usage: latency ROUNDS NAME COMMAND... -- NAME COMMAND...\n");
		return 2;
	}
	for (size_t i = 0; i < n; i++) {
		list[i].us = calloc((size_t)rounds, sizeof *list[i].us);
		(void)run_once(&list[i]); /* warms caches and proves that it works */
	}
	for (long r = 0; r < rounds; r++) {
		for (size_t i = 0; i < n; i++) {
			list[i].us[r] = run_once(&list[i]);
		}
	}
	double bare = 0, reference = 1;
	for (size_t i = 0; i < n; i++) {
		qsort(list[i].us, (size_t)rounds, sizeof *list[i].us, by_value);
	}
	bare = list[0].us[rounds / 2];
	reference = list[n - 1].us[rounds / 2] - bare;
	printf("%-28s %10s %10s %10s %8s\n", "command", "median us", "p95 us", "added us", "ratio");
	for (size_t i = 0; i < n; i++) {
		double median = list[i].us[rounds / 2];
		printf("%-28s %10.0f %10.0f %10.0f %8.2f\n", list[i].name, median,
		       list[i].us[rounds * 95 / 100], median - bare,
		       i == 0 ? 0.0 : (median - bare) / reference);
		free(list[i].us);
	}
	return 0;
}
