/* SPDX-License-Identifier: Apache-2.0 */
/* Ends a run: kills its first process, reaps it, and frees what spawn_start() created.
 *
 * Should:   return when no process of the run is alive, with its resource usage.
 * Must not: wait for ever: a process in uninterruptible sleep is left behind after a bound, when
 *           no other process of the run is alive.
 * Fails:    open: an object that cannot be removed is removed by the next run (E7). */
#include "linux/spawn.h"

#include "backend/timings.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/parent_pid.h"
#include "base/str.h"
#include "linux/cgroup.h"
#include "linux/follow.h"
#include "linux/kernel_api.h"
#include "linux/run_state.h"
#include "linux/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Longer than the wardens need to kill everything and to wait for a slow device. */
#define WARDEN_MS 3000
/* A killed pid 1 may be in uninterruptible sleep until a file operation returns.  After this
 * time it is left there: no other process of the run is alive. */
#define FIRST_MS 1500
#define STEP_MS 50
/* The same for the processes below a warden that was killed. */
#define OTHERS_MS 1000

static int64_t milliseconds(struct timeval t) {
	return (int64_t)t.tv_sec * 1000 + t.tv_usec / 1000;
}

void spawn_leave(struct child *c, struct usage *ret) {
	ret->run_state = run_state_read(c->run_state);
	if (ret->run_state.counted) {
		ret->cpu_ms = ret->run_state.cpu_us / 1000;
		ret->max_rss_kb = ret->run_state.max_rss_kb;
	}
	spawn_free_records(c);
	drop_fd(&c->pidfd);
	drop_fd(&c->ask);
	drop_fd(&c->channel); /* end-of-file ends a pid 1 that has not exited yet */
	gate_process_leave(&c->gate);
	scratch_remove(c->run_dir);
	timings_stamp(c->timings, STEP_FINISH);
}

/* poll(2) on one descriptor, continued after EINTR; false: timeout. */
static bool wait_event(int fd, short events, int ms) {
	struct pollfd slot = {.fd = fd, .events = events};
	int64_t until = clock_ms() + ms;

	for (int64_t left = ms; left >= 0; left = until - clock_ms()) {
		int n = poll(&slot, 1, (int)left);
		if (n >= 0 || errno != EINTR) {
			return n > 0;
		}
	}
	return false;
}

/* Reaps the first process; true when it exited by itself.  One that was adopted is reaped by its
 * parent, the keeper, and waitid() fails. */
static bool reap_first(const struct child *c, struct usage *u) {
	struct rusage r = {0};
	siginfo_t info = {.si_code = 0};

	/* The raw call: libc's waitid() has no rusage parameter. */
	while (syscall(SYS_waitid, WAIT_PIDFD, c->pidfd, &info, WEXITED | __WALL, &r) != 0 &&
	       errno == EINTR) {
	}
	u->cpu_ms = milliseconds(r.ru_utime) + milliseconds(r.ru_stime);
	u->max_rss_kb = r.ru_maxrss;
	return info.si_code == CLD_EXITED;
}

static void kill_first(const struct child *c) {
	(void)syscall(SYS_pidfd_send_signal, c->pidfd, SIGKILL, NULL, 0); /* it may be gone */
}

/* The wardens and the guard poll the other end of the channel for POLLRDHUP, and end the run
 * when this end is shut down. */
static void end_wardens(const struct child *c, struct usage *u) {
	(void)shutdown(c->channel, SHUT_WR); /* fails only when all of them are gone */
	if (!wait_event(c->pidfd, POLLIN, WARDEN_MS)) {
		kill_first(c); /* the inner warden polls its pidfd, and ends the run */
	}
	if (!reap_first(c, u)) {
		(void)wait_event(c->channel, 0, OTHERS_MS); /* POLLHUP: the last holder exited */
	}
}

/* While pid 1 dies, the kernel reaps its children and reuses their pids.  So the kill goes
 * to a pidfd, and only after the process with this pid was seen to be a child of pid 1,
 * which we have not reaped, and the pidfd was seen to be alive after that. */
static void kill_child(const struct child *c, pid_t pid) {
	auto_fd pidfd = (int)syscall(SYS_pidfd_open, pid, 0U);

	if (pidfd >= 0 && parent_pid(pid) == c->pid &&
	    syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0U) == 0) {
		(void)syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0U); /* or it ended */
	}
}

/* For a killed pid 1 in uninterruptible sleep: orphans become its children. */
static void kill_children(const struct child *c) {
	char path[64], text[4096];

	(void)snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)c->pid, (int)c->pid);
	auto_fd list = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = list < 0 ? -1 : read(list, text, sizeof text - 1);
	if (n <= 0) {
		return;
	}
	text[n] = '\0';
	char *at = text, *end = text;
	for (long pid; (pid = strtol(at, &end, 10)) > 0 && *end == ' '; at = end) {
		kill_child(c, (pid_t)pid);
	}
}

/* The kernel kills the pid namespace with pid 1, but only when pid 1 exits, which a file
 * operation in uninterruptible sleep delays. */
static void end_first(const struct child *c, struct usage *u) {
	if (c->inner) { /* at the end of its channel pid 1 kills all others, and removes them */
		(void)shutdown(c->channel, SHUT_WR); /* fails only when pid 1 is gone */
		(void)wait_event(c->pidfd, POLLIN, FIRST_MS);
	}
	int64_t until = clock_ms() + FIRST_MS;
	kill_first(c);
	while (!wait_event(c->pidfd, POLLIN, STEP_MS) && clock_ms() < until) {
		kill_children(c);
	}
	if (wait_event(c->pidfd, POLLIN, 0)) {
		(void)reap_first(c, u); /* its status is SIGKILL */
	}
}

void spawn_finish(struct child *c, struct usage *ret) {
	struct usage usage = {.processes_peak = -1};

	/* First: the last holder of a mount namespace pays for tearing it down. */
	follow_free(take_ptr(c->follow));
	if (c->pidfd >= 0) {
		(c->wardens ? end_wardens : end_first)(c, &usage);
		drop_fd(&c->pidfd);
	}
	samplers_end(&c->samplers); /* before the run state, which they write */
	usage.run_state = run_state_read(c->run_state);
	if (c->adopted && usage.run_state.counted) {
		usage.cpu_ms = usage.run_state.cpu_us / 1000;
		usage.max_rss_kb = usage.run_state.max_rss_kb;
	} else if (!usage.run_state.ended || c->adopted) {
		/* No process waited for the command, so the rusage lacks its time and memory. */
		usage.cpu_ms = usage.max_rss_kb = -1;
	}
	spawn_free_records(c);
	if (c->cgroup != NULL) {
		cgroup_usage(c->cgroup, &usage);
		cgroup_free(c->cgroup);
	}
	scope_end(&c->scope); /* after its counters were read */
	drop_fd(&c->ask);
	drop_fd(&c->channel);
	if (!usage.run_state.finished) {
		gate_process_kill(&c->gate); /* a killed run has no data to deliver */
	}
	gate_process_end(&c->gate); /* after every process that can send data */
	scratch_remove(c->run_dir); /* E7 */
	timings_stamp(c->timings, STEP_FINISH);
	*c = (struct child){.pidfd = -1,
			    .channel = -1,
			    .memory = -1,
			    .scope = SCOPE_NONE,
			    .gate = GATE_PROCESS_NONE,
			    .samplers = SAMPLERS_NONE};
	if (ret != NULL) {
		*ret = usage;
	}
}
