/* SPDX-License-Identifier: Apache-2.0 */
/* Starts many sandboxes at once, or one after the other from several drivers.
 *
 *     crowd rate DRIVERS SECONDS COMMAND...   runs a second, and the microseconds of each
 *     crowd once COUNT COMMAND...             COUNT runs that are alive at the same time
 *     crowd hold                              the command of those: one byte out, then waits
 *     crowd fork COUNT                        COUNT processes that are alive at the same time
 *     crowd use COMMAND...                    processor seconds and peak memory in kB of one run
 *
 * "once" prints "running SECONDS", waits for a line on stdin, and prints "ended SECONDS".
 *
 * Should:   count a run only if it succeeded.
 * Fails:    with a message and status 1. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

#define RUNS_MAX 100000 /* of one driver */

static void die(const char *what) {
	fprintf(stderr, "crowd: %s: %s\n", what, strerror(errno));
	exit(1);
}

static double now(void) {
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static pid_t start(char **argv, int in, int out) {
	posix_spawn_file_actions_t streams;
	pid_t pid;

	posix_spawn_file_actions_init(&streams);
	posix_spawn_file_actions_adddup2(&streams, in, 0);
	posix_spawn_file_actions_adddup2(&streams, out, 1);
	errno = posix_spawnp(&pid, argv[0], &streams, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&streams);
	if (errno != 0) {
		die(argv[0]);
	}
	return pid;
}

static void end_of(pid_t pid) {
	int status = 0;

	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
		errno = 0;
		die("a run failed");
	}
}

/* ---- drivers ---- */

struct driver {
	pthread_t thread;
	char **argv;
	double until;
	float *us;
	size_t n;
};

static void *drive(void *arg) {
	struct driver *d = arg;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	while (now() < d->until && d->n < RUNS_MAX) {
		double began = now();
		end_of(start(d->argv, null, null));
		d->us[d->n++] = (float)((now() - began) * 1e6);
	}
	close(null);
	return NULL;
}

static void rate(size_t drivers, double seconds, char **argv) {
	struct driver *list = calloc(drivers, sizeof *list);
	double began = now();

	for (size_t i = 0; i < drivers; i++) {
		list[i] = (struct driver){.argv = argv,
					  .until = began + seconds,
					  .us = calloc(RUNS_MAX, sizeof(float))};
		if (pthread_create(&list[i].thread, NULL, drive, &list[i]) != 0) {
			die("thread");
		}
	}
	for (size_t i = 0; i < drivers; i++) {
		pthread_join(list[i].thread, NULL);
	}
	printf("{\"seconds\": %.3f, \"us\": [", now() - began);
	for (size_t i = 0, first = 1; i < drivers; i++) {
		for (size_t k = 0; k < list[i].n; k++, first = 0) {
			printf("%s%.0f", first ? "" : ", ", (double)list[i].us[k]);
		}
		free(list[i].us);
	}
	printf("]}\n");
	free(list);
}

/* ---- all at once ---- */

static void once(size_t count, char **argv) {
	pid_t *pids = calloc(count, sizeof *pids);
	int hold[2], up[2];
	char bytes[256];
	double began = now();

	if (pids == NULL || pipe2(hold, O_CLOEXEC) != 0 || pipe2(up, O_CLOEXEC) != 0) {
		die("pipe");
	}
	for (size_t i = 0; i < count; i++) {
		pids[i] = start(argv, hold[0], up[1]);
	}
	close(up[1]);
	for (size_t have = 0; have < count;) {
		ssize_t n = read(up[0], bytes, sizeof bytes);
		if (n <= 0) {
			die("not every run has begun");
		}
		have += (size_t)n;
	}
	printf("running %.3f\n", now() - began);
	fflush(stdout);
	(void)getchar();
	began = now();
	close(hold[1]);
	for (size_t i = 0; i < count; i++) {
		end_of(pids[i]);
	}
	printf("ended %.3f\n", now() - began);
	free(pids);
}

static void hold(void) {
	char byte = '.';

	if (write(1, &byte, 1) != 1) {
		die("write");
	}
	while (read(0, &byte, 1) > 0) {
	}
}

static void fork_many(size_t count) {
	for (size_t i = 0; i < count; i++) {
		pid_t pid = fork();
		if (pid < 0) {
			die("fork");
		}
		if (pid == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL); /* also outside a sandbox */
			pause();
			_exit(0);
		}
	}
}

/* From a small process: the peak of a process begins with that of the one that forked it. */
static void use(char **argv) {
	struct rusage used = {0};
	int status = 0, null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (wait4(start(argv, null, null), &status, 0, &used) < 0 || status != 0) {
		die("the command failed");
	}
	printf("%.3f %ld\n",
	       (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
		       (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6,
	       used.ru_maxrss);
}

int main(int argc, char **argv) {
	if (argc >= 5 && strcmp(argv[1], "rate") == 0) {
		rate(strtoul(argv[2], NULL, 10), strtod(argv[3], NULL), argv + 4);
	} else if (argc >= 4 && strcmp(argv[1], "once") == 0) {
		once(strtoul(argv[2], NULL, 10), argv + 3);
	} else if (argc == 2 && strcmp(argv[1], "hold") == 0) {
		hold();
	} else if (argc >= 3 && strcmp(argv[1], "use") == 0) {
		use(argv + 2);
	} else if (argc == 3 && strcmp(argv[1], "fork") == 0) {
		fork_many(strtoul(argv[2], NULL, 10));
	} else {
		fprintf(stderr, "usage: crowd rate|once|hold|fork|use ...\n");
		return 2;
	}
	return 0;
}
