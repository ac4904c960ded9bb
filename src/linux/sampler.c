/* SPDX-License-Identifier: Apache-2.0 */
/* The sampler processes: measure a run from outside, and kill it above a limit;
 * of a session only the command with the largest part, where that helps (linux/sampler_trees.h).
 *
 * Should:   measure often enough that a run cannot take much more than its limit, with at
 *           most a fifth of one processor.
 * Must not: call libc beyond system calls: it is a fork of a program that may have threads;
 *           keep a descriptor of the caller.
 * Fails:    closed: a sampler that cannot measure ends, and the supervisor ends the run. */
#include "linux/sampler.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/signal_mask.h"
#include "linux/census.h"
#include "linux/disk_growth.h"
#include "base/fd.h"
#include "linux/kernel_api.h"
#include "linux/sample_interval.h"
#include "linux/sampler_trees.h"
#include "linux/sched_slice.h"
#include "linux/signals_reset.h"
#include "linux/warm.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

#define WHERE "limits"
#define CANNOT_MEASURE 1

/* Without a pid namespace three processes of Corral are above the command.  Only pid 1 counts,
 * as with RLIMIT_NPROC and the pids controller. */
#define WARDENS 2

/* smaps_rollup blocks while a process changes its mappings.  After this time SIGALRM ends the
 * sampler, and with it the run, which has more resident memory than its limit. */
#define SHARE_TIMEOUT_S 5
/* Between two sums of PSS, while PSS is below the limit and resident memory is above. */
#define SHARE_MS 50
#define SHARE_MAX_MS 1000

/* The longest wait for a killed sampler. */
#define END_MS 1000

/* How often free space is read, and the share of time for walks of the tree. */
#define DISK_LOOK_MS 50
#define DISK_WALK_MIN_MS 1000
#define DISK_WALK_MAX_MS 30000
#define DISK_WALK_SHARE 20 /* one part in 20 */

struct sampler {
	struct sampled_run run;
	int64_t processors;
	uint64_t page;
	struct census census;
	struct sampler_trees trees;
	/* The last sum of PSS, and resident memory at that time. */
	int64_t share, share_resident, share_next;
};

static int64_t clock_us(void) {
	struct timespec t = {0};

	(void)clock_gettime(CLOCK_MONOTONIC, &t); /* fails only for an unknown clock */
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static _Noreturn void end_run(const struct sampler *s, enum overrun why, int64_t value) {
	struct run_state *run_state = s->run.run_state;

	if (!run_state->ended) {
		run_state->overrun_value = value;
		run_state->overrun = (uint32_t)why;
	}
	/* Kills the rest of the run with it.  ESRCH: it has ended. */
	(void)syscall(SYS_pidfd_send_signal, s->run.pidfd, SIGKILL, NULL, 0U);
	_exit(0);
}

/* Sleeps; exits when the run ends. */
static void sleep_ms(const struct sampler *s, int64_t ms) {
	struct pollfd end = {.fd = s->run.pidfd, .events = POLLIN};

	if (poll(&end, 1, (int)ms) > 0) {
		_exit(0);
	}
}

/* Without a command a session has no process that could use more. */
static void sleep_while_idle(const struct sampler *s) {
	while (s->run.warm != NULL && warm_wait(s->run.warm)) {
		sleep_ms(s, 0);
	}
}

/* ---- memory and processes ---- */

/* 0: no time limit for the sampler. */
static void set_alarm(time_t seconds) {
	const struct itimerval limit = {.it_value = {.tv_sec = seconds}};

	(void)setitimer(ITIMER_REAL, &limit, NULL); /* fails only for a bad time */
}

static int64_t sum_of_shares(const struct sampler *s) {
	uint64_t sum = 0;

	set_alarm(SHARE_TIMEOUT_S);
	for (size_t i = 0; i < s->census.count; i++) {
		const struct census_row *row = &s->census.rows[i];
		sum += row->ours ? census_share(&s->census, row) : 0;
	}
	set_alarm(0);
	return (int64_t)sum;
}

/* The most anonymous memory of one process: counts no page twice, and is cheap to read. */
static int64_t largest_private(const struct sampler *s, int64_t limit) {
	int64_t most = 0;

	for (size_t i = 0; i < s->census.count; i++) {
		const struct census_row *row = &s->census.rows[i];
		if (row->ours && (int64_t)(row->pages * s->page) >= limit) {
			int64_t bytes = (int64_t)(census_private(&s->census, row) * s->page);
			most = bytes > most ? bytes : most;
		}
	}
	return most;
}

/* Whether PSS has to be summed again: it may have reached the limit since. */
static bool share_due(const struct sampler *s, int64_t resident, int64_t limit) {
	return clock_ms() >= s->share_next || resident - s->share_resident >= limit - s->share;
}

/* The memory that counts against the limit.  Resident memory counts a shared page in every
 * process, so it is an upper bound; above the limit PSS decides. */
static int64_t memory_used(struct sampler *s, int64_t resident, int64_t limit) {
	if (resident < limit) {
		s->share = s->share_next = 0;
		s->share_resident = 0;
		return resident;
	}
	int64_t most = largest_private(s, limit);
	if (most >= limit) {
		return most;
	}
	if (share_due(s, resident, limit)) {
		int64_t began = clock_us();
		s->share = sum_of_shares(s);
		s->share_resident = resident;
		s->share_next = clock_ms() +
				sample_interval_between((clock_us() - began) * PACE_SHARE / 1000,
							SHARE_MS, SHARE_MAX_MS);
	}
	return s->share;
}

/* A limit is exceeded: ends one command of a session, or the run. */
static void end_part(struct sampler *s, enum overrun why, int64_t value) {
	set_alarm(SHARE_TIMEOUT_S);
	bool ends_one = sampler_trees_kill(&s->trees, &s->census, why, value);
	set_alarm(0);
	if (!ends_one) {
		end_run(s, why, value);
	}
	s->share_next = 0; /* the last sum has the memory of processes that are dying */
}

/* Of all processes that the census counts; 0: no limit. */
static uint64_t most_threads(const struct plan *plan) {
	int64_t processes = plan->sampled.processes;

	return processes == 0 ? 0
			      : (uint64_t)processes + (plan_lacks_namespaces(plan) ? WARDENS : 0);
}

/* Milliseconds until the next sample; does not return when the run has to end. */
static int64_t judge_use(struct sampler *s, const struct census_sum *sum) {
	const struct plan *plan = s->run.plan;
	int64_t memory = plan->sampled.memory, processes = plan->sampled.processes;
	int64_t next = PACE_MAX_MS;

	if (processes != 0) {
		int64_t count = (int64_t)sum->threads - (plan_lacks_namespaces(plan) ? WARDENS : 0);
		if (count > processes) {
			end_part(s, OVERRUN_PROCESSES, count);
			return PACE_MIN_MS;
		}
		next = sample_interval_processes(processes - count);
	}
	if (memory != 0) {
		int64_t used = memory_used(s, (int64_t)(sum->pages * s->page), memory);
		if (used >= memory) {
			end_part(s, OVERRUN_MEMORY, used);
			return PACE_MIN_MS;
		}
		int64_t soon = sample_interval_memory(memory - used, s->processors);
		next = soon < next ? soon : next;
	}
	sampler_trees_rest(&s->trees, &s->census);
	return next;
}

static _Noreturn void sample_use(struct sampler *s) {
	if (!census_init(&s->census, s->run.pid, s->page)) {
		_exit(CANNOT_MEASURE);
	}
	if (s->run.warm == NULL) { /* of a session all rows count: one command is to end */
		s->census.enough = most_threads(s->run.plan);
	}
	for (;;) {
		struct census_sum sum;
		int64_t began = clock_us();
		if (!census_take(&s->census, &sum)) {
			sleep_ms(s, 0); /* the run has ended */
			_exit(CANNOT_MEASURE);
		}
		int64_t next = judge_use(s, &sum);
		sleep_ms(s, sample_interval_pause(next, clock_us() - began));
		sleep_while_idle(s);
	}
}

/* ---- disk space ---- */

static _Noreturn void sample_disk(struct sampler *s) {
	int64_t limit = s->run.plan->sampled.disk;

	for (;;) {
		int64_t began = clock_ms();
		int64_t added = disk_growth_measure(s->run.growth);
		if (added > limit) {
			end_run(s, OVERRUN_DISK, added);
		}
		int64_t now = clock_ms();
		int64_t walk_at = now + sample_interval_between((now - began) * DISK_WALK_SHARE,
								DISK_WALK_MIN_MS, DISK_WALK_MAX_MS);
		do {
			sleep_ms(s, DISK_LOOK_MS);
		} while (clock_ms() < walk_at && disk_growth_fall(s->run.growth) <= limit - added);
	}
}

/* ---- the processes ---- */

static _Noreturn void become_sampler(struct sampler *s, int which) {
	static void (*const work[SAMPLERS])(struct sampler * s) = {
		[SAMPLER_USE] = sample_use,
		[SAMPLER_DISK] = sample_disk,
	};
	sigset_t alarm;

	signals_reset();
	(void)setsid();                           /* no signals for the caller's process group */
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* its memory is a copy of the caller's */
	fd_close_all_but(&s->run.pidfd, 1);
	sched_slice_shorten();
	/* Everything else stays blocked. */
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	signal_mask(SIG_UNBLOCK, &alarm, NULL);
	work[which](s);
	_exit(CANNOT_MEASURE);
}

static int start(struct sampler *s, int which, int *ret, struct err *e) {
	int pidfd = -1;
	sigset_t all, before;

	/* Signals stay blocked: the child starts with the caller's handlers. */
	sigfillset(&all);
	signal_mask(SIG_SETMASK, &all, &before);
	long pid = syscall(SYS_clone, CLONE_PIDFD, NULL, &pidfd, NULL, NULL);
	if (pid == 0) {
		become_sampler(s, which);
	}
	int error = errno;
	signal_mask(SIG_SETMASK, &before, NULL);
	if (pid < 0) {
		errno = error;
		return err_sys(e, WHERE, "cannot start the sampler process for a limit");
	}
	*ret = pidfd;
	return 0;
}

int samplers_start(const struct sampled_run *run, struct samplers *ret, struct err *e) {
	const struct sampled *limits = &run->plan->sampled;

	if (limits->memory == 0 && limits->processes == 0 && limits->disk == 0) {
		return 0;
	}
	struct sampler s = {
		.run = *run,
		.processors = sysconf(_SC_NPROCESSORS_ONLN),
		.page = (uint64_t)sysconf(_SC_PAGESIZE),
		.trees = {.warm = run->warm, .namespaces = !plan_lacks_namespaces(run->plan)},
	};

	if (s.processors < 1) {
		s.processors = 1;
	}
	if ((limits->memory != 0 || limits->processes != 0) &&
	    start(&s, SAMPLER_USE, &ret->pidfd[SAMPLER_USE], e) != 0) {
		return -1;
	}
	return limits->disk == 0 ? 0 : start(&s, SAMPLER_DISK, &ret->pidfd[SAMPLER_DISK], e);
}

void samplers_lost(struct run_state *run_state) {
	if (!run_state->ended && run_state->overrun == OVERRUN_NONE) {
		run_state->overrun = OVERRUN_UNMEASURED;
	}
}

void samplers_end(struct samplers *s) {
	for (size_t i = 0; i < SAMPLERS; i++) {
		struct pollfd end = {.fd = s->pidfd[i], .events = POLLIN};
		siginfo_t info;
		if (s->pidfd[i] < 0) {
			continue;
		}
		(void)syscall(SYS_pidfd_send_signal, s->pidfd[i], SIGKILL, NULL,
			      0U); /* or it has ended */
		/* One that hangs in the kernel in a file system is not waited for. */
		while (poll(&end, 1, END_MS) < 0 && errno == EINTR) {
		}
		/* Reaps it, or it has not exited yet. */
		(void)syscall(SYS_waitid, WAIT_PIDFD, s->pidfd[i], &info,
			      WEXITED | WNOHANG | __WALL, NULL);
		drop_fd(&s->pidfd[i]);
	}
}
