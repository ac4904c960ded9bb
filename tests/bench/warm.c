/* SPDX-License-Identifier: Apache-2.0 */
/* Commands of a session against a bare spawn, in one interleaved run; and what idle sessions cost.
 *
 *     warm LEVEL ROUNDS [PROGRAM]       latency
 *     warm LEVEL --at-once N            N commands at once, in one session
 *     warm LEVEL --idle N               memory of N idle sessions
 *
 * Latency: each round spawns the program, runs it in the session by a handle (descriptors), and
 * with captured output.  Prints medians; "added" is over the bare spawn. */
#include <corral.h>

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

#define PIDS 131072

enum { BARE, HANDLE, CAPTURED, KINDS };

static const char *const names[KINDS] = {"bare spawn", "session, descriptors", "session, captured"};

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

static void spawn_bare(const char *const *argv) {
	pid_t pid;
	int status;

	int error = posix_spawn(&pid, argv[0], NULL, NULL, (char *const *)(uintptr_t)argv, environ);
	if (error != 0 || waitpid(pid, &status, 0) != pid || status != 0) {
		fail("posix_spawn", NULL);
	}
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

static void run_captured(struct corral_session *s, const char *const *argv) {
	struct corral_error err = {0};
	struct corral_result *r = NULL;

	if (corral_session_run(s, argv, NULL, &r, &err) != 0) {
		fail("run", &err);
	}
	check(r);
}

static double once(int kind, struct corral_session *s, const char *const *argv) {
	double start = now_us();

	if (kind == BARE) {
		spawn_bare(argv);
	} else if (kind == HANDLE) {
		run_handle(s, argv);
	} else {
		run_captured(s, argv);
	}
	return now_us() - start;
}

static int by_value(const void *a, const void *b) {
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void latency(const char *level, long rounds, const char *program) {
	const char *argv[] = {program, NULL};
	struct corral_session *s = open_session(level);
	double *us[KINDS];

	for (int k = 0; k < KINDS; k++) {
		us[k] = calloc((size_t)rounds, sizeof *us[k]);
		(void)once(k, s, argv);
	}
	for (long i = 0; i < rounds; i++) {
		for (int k = 0; k < KINDS; k++) {
			us[k][i] = once(k, s, argv);
		}
	}
	printf("%-24s %10s %10s %10s %10s\n", level, "median us", "min us", "p10 us", "added us");
	for (int k = 0; k < KINDS; k++) {
		qsort(us[k], (size_t)rounds, sizeof *us[k], by_value);
		printf("%-24s %10.0f %10.0f %10.0f %10.0f\n", names[k], us[k][rounds / 2], us[k][0],
		       us[k][rounds / 10], us[k][rounds / 2] - us[BARE][rounds / 2]);
	}
	corral_session_close(s);
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
	printf("%s: %ld commands of 200 ms at once: %.0f ms\n", level, n,
	       (now_us() - start) / 1000);
	corral_session_close(s);
	free(list);
}

/* A field of /proc/meminfo in kB. */
static long meminfo(const char *name) {
	char line[256];
	long value = -1;
	FILE *f = fopen("/proc/meminfo", "r");

	while (f != NULL && fgets(line, sizeof line, f) != NULL) {
		if (strncmp(line, name, strlen(name)) == 0) {
			value = strtol(line + strlen(name), NULL, 10);
		}
	}
	if (f != NULL) {
		fclose(f);
	}
	return value;
}

static bool is_ours(long pid) {
	char path[64], name[64] = "";

	(void)snprintf(path, sizeof path, "/proc/%ld/comm", pid);
	FILE *f = fopen(path, "r");
	bool ours = f != NULL && fgets(name, sizeof name, f) != NULL &&
		    strncmp(name, program_invocation_short_name,
			    strlen(program_invocation_short_name)) == 0;
	if (f != NULL) {
		fclose(f);
	}
	return ours;
}

/* PSS of all processes with the name of this one, which are its copies; for root. */
static long pss_of_all(void) {
	char line[512], path[64];
	long sum = 0;

	for (long pid = 1; pid < PIDS; pid++) {
		if (!is_ours(pid)) {
			continue;
		}
		(void)snprintf(path, sizeof path, "/proc/%ld/smaps_rollup", pid);
		FILE *f = fopen(path, "r");
		while (f != NULL && fgets(line, sizeof line, f) != NULL) {
			if (strncmp(line, "Pss:", 4) == 0) {
				sum += strtol(line + 4, NULL, 10);
			}
		}
		if (f != NULL) {
			fclose(f);
		}
	}
	return sum;
}

static void idle(const char *level, long n) {
	struct corral_session **list = calloc((size_t)n, sizeof *list);
	long before = meminfo("MemAvailable:"), pss = pss_of_all();
	double start = now_us();

	for (long i = 0; i < n; i++) {
		const char *argv[] = {"/bin/true", NULL};
		list[i] = open_session(level);
		run_handle(list[i], argv);
	}
	double took = now_us() - start;
	(void)sleep(1);
	printf("%s: %ld idle sessions: %.2f ms to open each, %ld kB each of MemAvailable", level, n,
	       took / 1000 / (double)n, (before - meminfo("MemAvailable:")) / n);
	if (geteuid() == 0) {
		printf(", %ld kB each of PSS", (pss_of_all() - pss) / n);
	}
	printf("\n");
	for (long i = 0; i < n; i++) {
		corral_session_close(list[i]);
	}
	free(list);
}

int main(int argc, char **argv) {
	long n = argc > 2 ? strtol(argv[2], NULL, 10) : 0;

	if (argc == 4 && strcmp(argv[2], "--at-once") == 0) {
		at_once(argv[1], strtol(argv[3], NULL, 10));
	} else if (argc == 4 && strcmp(argv[2], "--idle") == 0) {
		idle(argv[1], strtol(argv[3], NULL, 10));
	} else if (n >= 3) {
		latency(argv[1], n, argc > 3 ? argv[3] : "/bin/true");
	} else {
		fprintf(stderr, "usage: warm LEVEL ROUNDS [PROGRAM] | --at-once N | --idle N\n");
		return 2;
	}
	return 0;
}
