/* SPDX-License-Identifier: Apache-2.0 */
/* Attempts to use more than was granted; every one is bounded by its argument,
 * so that the control outside does no harm. */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)

/* Keeps what was taken for the seconds that an argument says: who measures has time to see it. */
static void keep(int argc, char **argv, int at) {
	if (argc > at) {
		(void)sleep((unsigned)probe_number(argv[at]));
	}
}

static int fork_many(int argc, char **argv) {
	long want = probe_number(argv[1]), made = 0;
	/* Children wait for the end of this pipe, so that none outlives the count. */
	int hold[2];
	if (pipe2(hold, O_CLOEXEC) != 0) {
		return probe_result(-1);
	}
	for (; made < want; made++) {
		pid_t pid = fork();
		if (pid < 0) {
			break;
		}
		if (pid == 0) {
			char byte;
			close(hold[1]);
			_exit(read(hold[0], &byte, 1) == 0 ? 0 : 1);
		}
	}
	keep(argc, argv, 2);
	printf("made=%ld\n", made);
	close(hold[1]);
	while (wait(NULL) > 0) {
	}
	return made == want ? 0 : 1;
}

#define BOMB_MAX 600 /* processes of the user's: enough to keep a killer busy */

/* Forks for ever, each process in a session of its own: most live on, every fourth goes. */
static void bomb(volatile long *count, time_t until) {
	while (time(NULL) < until) {
		pid_t pid = fork();
		++*count;
		if (pid == 0) {
			setsid();
		}
		if (pid > 0 && pid % 4 == 0) {
			break;
		}
	}
	_exit(0);
}

static int outrun(int argc, char **argv) {
	(void)argc;
	time_t until = time(NULL) + probe_number(argv[3]);
	int file = open(argv[1], O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	long want = probe_number(argv[2]);
	if (file < 0 || ftruncate(file, (off_t)(want * (long)sizeof(long))) != 0) {
		return probe_result(-1);
	}
	volatile long *counts = mmap(NULL, (size_t)want * sizeof(long), PROT_READ | PROT_WRITE,
				     MAP_SHARED, file, 0);
	struct rlimit most = {0, 0};
	if (getrlimit(RLIMIT_NPROC, &most) != 0) {
		return probe_result(-1);
	}
	if (most.rlim_max > BOMB_MAX) {
		most.rlim_max = BOMB_MAX;
	}
	most.rlim_cur = most.rlim_max;
	if (setrlimit(RLIMIT_NPROC, &most) != 0) {
		return probe_result(-1);
	}
	for (long i = 0; counts != MAP_FAILED && i < want; i++) {
		if (fork() == 0) {
			bomb(&counts[i], until);
		}
	}
	while (time(NULL) < until) {
		sleep(1);
	}
	return 0;
}

static void *thread_idle(void *unused) {
	pause();
	return unused;
}

static int thread_many(int argc, char **argv) {
	long want = probe_number(argv[1]), made = 0;
	pthread_attr_t small;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	for (; made < want; made++) {
		pthread_t thread;
		if (pthread_create(&thread, &small, thread_idle, NULL) != 0) {
			break;
		}
	}
	keep(argc, argv, 2);
	printf("made=%ld\n", made);
	_exit(made == want ? 0 : 1);
}

static int touch_memory(int argc, char **argv) {
	long want = probe_number(argv[1]);
	for (long done = 0; done < want; done++) {
		void *block =
			mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (block == MAP_FAILED) {
			return probe_result(-1);
		}
		memset(block, 1, MIB);
	}
	keep(argc, argv, 2);
	printf("made=%ld\n", want);
	return 0;
}

static long fill_open(int fd, long want) {
	static char block[1 << 20];
	long done = 0;
	memset(block, 'x', sizeof(block));
	signal(SIGXFSZ, SIG_IGN);
	while (fd >= 0 && done < want && write(fd, block, MIB) == (ssize_t)MIB) {
		done++;
	}
	return done;
}

/* The name is kept, so that the harness can look at its size. */
static int fill_file(int argc, char **argv) {
	long want = probe_number(argv[2]);
	int fd = open(argv[1], O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	long done = fill_open(fd, want);
	keep(argc, argv, 3);
	printf("made=%ld\n", done);
	return done == want ? 0 : 1;
}

/* A file without a name: in memory, or removed. */
static int fill_nameless(int argc, char **argv) {
	long want = probe_number(argv[2]);
	int fd = strcmp(argv[1], "memory") == 0
			 ? (int)syscall(SYS_memfd_create, "probe", 1U)
			 : open(argv[1], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (strcmp(argv[1], "memory") != 0 && unlink(argv[1]) != 0) {
		return probe_result(-1);
	}
	long done = fill_open(fd, want);
	keep(argc, argv, 3);
	printf("made=%ld\n", done);
	return done == want ? 0 : 1;
}

static int spin(int argc, char **argv) {
	(void)argc;
	struct timespec used;
	long want = probe_number(argv[1]);
	do {
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	} while (used.tv_sec * 1000 + used.tv_nsec / 1000000 < want);
	printf("made=%ld\n", want);
	return 0;
}

static int open_many(int argc, char **argv) {
	(void)argc;
	long want = probe_number(argv[1]), made = 0;
	while (made < want && open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0) {
		made++;
	}
	printf("made=%ld\n", made);
	return made == want ? 0 : 1;
}

struct limit_name {
	const char *name;
	int resource;
};

static const struct limit_name limit_names[] = {
	{"core", RLIMIT_CORE},   {"cpu", RLIMIT_CPU},       {"fsize", RLIMIT_FSIZE},
	{"nproc", RLIMIT_NPROC}, {"nofile", RLIMIT_NOFILE},
};

static int raise_limit(int argc, char **argv) {
	(void)argc;
	for (size_t i = 0; i < PROBE_COUNT(limit_names); i++) {
		struct rlimit limit;
		if (strcmp(limit_names[i].name, argv[1]) != 0) {
			continue;
		}
		if (getrlimit(limit_names[i].resource, &limit) != 0) {
			return probe_result(-1);
		}
		/* Setting an unlimited limit to itself would prove nothing. */
		if (limit.rlim_max == RLIM_INFINITY) {
			printf("unlimited\n");
			return 0;
		}
		limit.rlim_max++;
		return probe_result(setrlimit(limit_names[i].resource, &limit));
	}
	return 2;
}

/* clang-format off */
static const struct probe rows[] = {
	{"fork-many", 1, fork_many, "COUNT [SECONDS]"},
	{"outrun", 3, outrun, "FILE COUNT SECONDS"},
	{"thread-many", 1, thread_many, "COUNT [SECONDS]"},
	{"touch-memory", 1, touch_memory, "MEBIBYTES [SECONDS]"},
	{"fill", 2, fill_file, "PATH MEBIBYTES [SECONDS]"},
	{"fill-nameless", 2, fill_nameless, "memory|PATH MEBIBYTES [SECONDS]"},
	{"spin", 1, spin, "MILLISECONDS"},
	{"open-many", 1, open_many, "COUNT"},
	{"raise-limit", 1, raise_limit, "NAME"},
};
/* clang-format on */

const struct probe_table probe_load = {rows, PROBE_COUNT(rows)};
