/* SPDX-License-Identifier: Apache-2.0 */
/* Attempts that name another process by its number, its group or its user, and
 * that do not read its memory: how it is scheduled, what it may use, what it is
 * told. */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOWEST_NICE 15

static const struct {
	const char *name;
	int priority, io;
} scopes[] = {
	{"process", PRIO_PROCESS, 1}, /* IOPRIO_WHO_* count from 1, PRIO_* from 0 */
	{"group", PRIO_PGRP, 2},
	{"user", PRIO_USER, 3},
};

static size_t scope_of(const char *name) {
	size_t i = 0;
	while (i < PROBE_COUNT(scopes) - 1 && strcmp(scopes[i].name, name) != 0) {
		i++;
	}
	return i;
}

static int set_nice(int argc, char **argv) {
	(void)argc;
	int which = scopes[scope_of(argv[1])].priority;
	return probe_result(setpriority(which, (id_t)probe_number(argv[2]), LOWEST_NICE));
}

/* The idle class: reads and writes only when nobody else does. */
static int set_io_priority(int argc, char **argv) {
	(void)argc;
	const int idle = 3 << 13;
	return probe_result(
		syscall(SYS_ioprio_set, scopes[scope_of(argv[1])].io, probe_number(argv[2]), idle));
}

static int set_scheduler(int argc, char **argv) {
	(void)argc;
	const struct sched_param none = {0};
	return probe_result(sched_setscheduler((pid_t)probe_number(argv[1]), SCHED_BATCH, &none));
}

static int set_affinity(int argc, char **argv) {
	(void)argc;
	cpu_set_t first;
	CPU_ZERO(&first);
	CPU_SET(0, &first);
	return probe_result(sched_setaffinity((pid_t)probe_number(argv[1]), sizeof(first), &first));
}

static int set_limit(int argc, char **argv) {
	(void)argc;
	const struct rlimit few = {16, 16};
	return probe_result(prlimit((pid_t)probe_number(argv[1]), RLIMIT_NOFILE, &few, NULL));
}

static int robust_list(int argc, char **argv) {
	(void)argc;
	void *head = NULL;
	size_t len = 0;
	return probe_result(syscall(SYS_get_robust_list, (int)probe_number(argv[1]), &head, &len));
}

static int session_of(int argc, char **argv) {
	(void)argc;
	return probe_result(getsid((pid_t)probe_number(argv[1])));
}

static int vm_write(int argc, char **argv) {
	(void)argc;
	static char there[8];
	char here[8] = "written";
	struct iovec from = {here, sizeof(here)}, to = {there, sizeof(there)};
	return probe_result(process_vm_writev((pid_t)probe_number(argv[1]), &from, 1, &to, 1, 0));
}

/* One way each of saying "die" to a process. */
static int kill_by(int argc, char **argv) {
	(void)argc;
	pid_t pid = (pid_t)probe_number(argv[2]);
	const char *way = argv[1];
	union sigval value = {0};
	siginfo_t info = {.si_signo = SIGKILL, .si_code = SI_QUEUE};
	if (strcmp(way, "tkill") == 0) {
		return probe_result(syscall(SYS_tkill, pid, SIGKILL));
	}
	if (strcmp(way, "tgkill") == 0) {
		return probe_result(syscall(SYS_tgkill, pid, pid, SIGKILL));
	}
	if (strcmp(way, "queue") == 0) {
		return probe_result(sigqueue(pid, SIGKILL, value));
	}
	if (strcmp(way, "queue-thread") == 0) {
		return probe_result(syscall(SYS_rt_tgsigqueueinfo, pid, pid, SIGKILL, &info));
	}
	return probe_result(kill(-pid, SIGKILL)); /* "group": the victim leads its own */
}

/* Has the kernel send a signal for us: readiness of a pipe, told to `pid`. */
static int signal_owner(int argc, char **argv) {
	(void)argc;
	int ends[2];
	struct f_owner_ex owner = {F_OWNER_PID, (pid_t)probe_number(argv[1])};
	if (pipe(ends) != 0 || fcntl(ends[0], F_SETSIG, SIGKILL) != 0 ||
	    fcntl(ends[0], F_SETOWN_EX, &owner) != 0 ||
	    fcntl(ends[0], F_SETFL, O_ASYNC | O_NONBLOCK) != 0) {
		return probe_result(-1);
	}
	return probe_result(write(ends[1], "x", 1));
}

#define PIDFD_GET_USER_NAMESPACE_ 0xff09

static int pidfd_namespace(int argc, char **argv) {
	(void)argc;
	int pidfd = (int)syscall(SYS_pidfd_open, probe_number(argv[1]), 0);
	return probe_result(pidfd < 0 ? -1 : ioctl(pidfd, PIDFD_GET_USER_NAMESPACE_, 0));
}

/* Becomes the reaper of its children's orphans, and leaves one behind. */
static int subreaper_daemon(int argc, char **argv) {
	(void)argc;
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
	pid_t pid = fork();
	if (pid != 0) {
		return probe_result(pid);
	}
	setsid();
	for (int fd = 0; fd < 3; fd++) {
		close(fd);
	}
	for (unsigned left = (unsigned)probe_number(argv[2]); left > 0;) {
		left = sleep(left);
	}
	return 0;
}

/* Orphans that end at once: who reaps them? */
static bool orphan_one(void) {
	int status = 1;
	pid_t middle = fork();
	if (middle == 0) {
		_exit(fork() < 0 ? 1 : 0);
	}
	return middle > 0 && waitpid(middle, &status, 0) == middle && status == 0;
}

/* On a loaded machine those before it are collected late: one that fails is tried again. */
static int orphan_many(int argc, char **argv) {
	enum { TRIES = 100, PAUSE_US = 50000 };
	(void)argc;
	long want = probe_number(argv[1]), made = 0;
	for (int tries = 0; made < want && tries < TRIES; tries++) {
		if (orphan_one()) {
			made++;
			tries = -1;
		} else {
			usleep(PAUSE_US);
		}
	}
	printf("made=%ld\n", made);
	return made == want ? 0 : 1;
}

/* clang-format off */
static const struct probe rows[] = {
	{"set-nice", 2, set_nice, "process|group|user ID"},
	{"set-io-priority", 2, set_io_priority, "process|group|user ID"},
	{"set-scheduler", 1, set_scheduler, "PID"},
	{"set-affinity", 1, set_affinity, "PID"},
	{"set-limit", 1, set_limit, "PID"},
	{"robust-list", 1, robust_list, "PID"},
	{"session-of", 1, session_of, "PID"},
	{"vm-write", 1, vm_write, "PID"},
	{"kill-by", 2, kill_by, "tkill|tgkill|queue|queue-thread|group PID"},
	{"signal-owner", 1, signal_owner, "PID"},
	{"pidfd-namespace", 1, pidfd_namespace, "PID"},
	{"subreaper-daemon", 2, subreaper_daemon, "MARKER SECONDS"},
	{"orphan-many", 1, orphan_many, "COUNT"},
};
/* clang-format on */

const struct probe_table probe_others = {rows, PROBE_COUNT(rows)};
