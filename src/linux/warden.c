/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the two warden processes (warden.h has the theory): each polls the pidfds of its
 * neighbours and the channel, then kills the run and removes its directory.
 *
 * Should:   kill every process of the run when the process above or below ends, within a
 *           second; then remove the run's directory.
 * Must not: wait for anything but these deaths and the clock, or use kill(-1) outside
 *           a Landlock domain (linux/reaper.c decides).
 * Fails:    closed: without its wardens the guard is not started. */
#include "linux/warden.h"

#include "base/auto.h"
#include "base/clock.h"
#include "linux/run_state.h"
#include "base/fd.h"
#include "linux/reaper.h"
#include "linux/scratch.h"
#include "linux/sched_slice.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* After the deadline the guard gets this long to end the run itself. */
#define SLACK_MS 300
/* The outer warden lets the inner one end the run first, which takes one system call. */
#define INNER_FIRST_MS 200
/* Where kill(-1) is not confined, the inner warden gives the guard this long to kill its children
 * one by one. */
#define GUARD_FIRST_MS 200
/* A killed process that still exists is in uninterruptible sleep, waiting for a device. */
#define LINGER_MS 500

struct warden {
	struct kit *kit;
	int above;        /* pidfd of the process above; -1: only the channel shows its end */
	int below;        /* pidfd of the process below */
	int64_t deadline; /* ms on the monotonic clock; LIMIT_NONE */
	bool guard_first; /* let the guard end the run: kill(-1) is not confined here */
	struct reaper reaper;
};

enum cause { CAUSE_BELOW, CAUSE_ABOVE, CAUSE_SUPERVISOR, CAUSE_CLOCK };

static int time_left(const struct warden *w) {
	const int64_t longest = 3600000; /* fits an int; the loop then polls again */

	if (w->deadline == LIMIT_NONE) {
		return -1;
	}
	int64_t left = w->deadline - clock_ms();
	return left < 0 ? 0 : (int)(left < longest ? left : longest);
}

static enum cause wait_for_cause(const struct warden *w) {
	struct pollfd fds[] = {{.fd = w->below, .events = POLLIN},
			       {.fd = w->above, .events = POLLIN},
			       {.fd = w->kit->channel_fd, .events = POLLRDHUP}};
	for (;;) {
		int n = poll(fds, ARRAY_LEN(fds), time_left(w));
		if (n < 0 && errno != EINTR) {
			return CAUSE_ABOVE; /* a warden that cannot poll ends the run */
		}
		if (n > 0) {
			return fds[0].revents != 0   ? CAUSE_BELOW
			       : fds[1].revents != 0 ? CAUSE_ABOVE
						     : CAUSE_SUPERVISOR;
		}
		if (n == 0 && w->deadline != LIMIT_NONE && clock_ms() >= w->deadline) {
			return CAUSE_CLOCK;
		}
	}
}

/* Waits for the end of the process below; false: timeout. */
static bool wait_below(const struct warden *w, int ms) {
	struct pollfd below = {.fd = w->below, .events = POLLIN};

	return poll(&below, 1, ms) > 0;
}

/* Returns 0 in the new process, 1 in the warden, -1 on failure. */
static int clone_below(struct kit *k, struct warden *w, struct err *e) {
	/* Opened before the clone, so that the pid cannot have been reused. */
	auto_fd self = (int)syscall(SYS_pidfd_open, getpid(), 0U);

	if (self < 0) {
		return err_sys(e, "warden", "cannot open a pidfd of the warden");
	}
	long pid = syscall(SYS_clone, CLONE_PIDFD | SIGCHLD, NULL, &w->below, NULL, NULL);
	if (pid < 0) {
		return err_sys(e, "warden", "the kernel refused to create a process");
	}
	if (pid == 0) {
		drop_fd(&k->warden_fd);
		k->warden_fd = take_fd(&self);
	}
	return pid == 0 ? 0 : 1;
}

static int become_subreaper(struct err *e) {
	return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
		       ? 0
		       : err_sys(e, "warden", "cannot become a child subreaper");
}

/* Each process that can remove the directory does so, because any of them may be the last. */
static _Noreturn void kill_all_and_exit(const struct warden *w) {
	if (w->guard_first) {
		/* If we killed the guard first, no process below would see this warden die. */
		(void)syscall(SYS_pidfd_send_signal, w->below, SIGTERM, NULL, 0U);
		(void)wait_below(w, GUARD_FIRST_MS); /* either way everything is killed next */
	}
	/* A guard that has finished exits by itself, and is reaped for its rusage. */
	if (w->kit->run_state->finished && wait_below(w, LINGER_MS)) {
		(void)reaper_collect(0); /* a helper may still be in uninterruptible sleep */
	} else {
		reaper_end_within(&w->reaper, LINGER_MS);
	}
	scratch_remove(w->kit->plan->run_dir);
	_exit(0);
}

/* ---- outer ---- */

static _Noreturn void outer_run(struct warden *w) {
	const int kept[] = {w->kit->channel_fd, w->above, w->below, w->reaper.children};

	fd_close_all_but(kept, ARRAY_LEN(kept));
	(void)processors_restore(0, &w->kit->affinity); /* it can wait on one processor, too */
	sched_slice_shorten();
	if (wait_for_cause(w) != CAUSE_BELOW) {
		(void)wait_below(w, INNER_FIRST_MS); /* either way everything is killed next */
	} else if (!w->kit->run_state->finished && !w->reaper.kill_all) {
		/* A living guard sees the same death, and kills its children more directly. */
		(void)reaper_collect(INNER_FIRST_MS);
	}
	kill_all_and_exit(w);
}

int warden_outer(struct kit *k, struct err *e) {
	struct warden w = {.kit = k, .above = k->warden_fd, .below = -1, .deadline = LIMIT_NONE};

	(void)setsid(); /* out of the caller's process group and its signals */
	/* Its memory is a copy of the caller's, which no other process may read. */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) {
		return err_sys(e, "warden", "cannot make a warden undumpable");
	}
	if (become_subreaper(e) != 0) {
		return -1;
	}
	for (size_t i = 0; layers[i] != NULL; i++) {
		if (layers[i]->warden != NULL && layers[i]->warden(k, e) != 0) {
			return -1;
		}
	}
	reaper_init_outer(&w.reaper, k->plan);
	int mine = clone_below(k, &w, e);
	if (mine <= 0) {
		drop_fd(&w.reaper.children);
		return mine;
	}
	outer_run(&w);
}

/* ---- inner ---- */

static _Noreturn void inner_run(struct warden *w) {
	const int kept[] = {w->kit->channel_fd, w->kit->lock_fd, w->above, w->below,
			    w->reaper.children};
	struct run_state *run_state = w->kit->run_state;

	fd_close_all_but(kept, ARRAY_LEN(kept));
	(void)processors_restore(0, &w->kit->affinity); /* it can wait on one processor, too */
	sched_slice_shorten();
	if (wait_for_cause(w) == CAUSE_CLOCK && !run_state->ended) {
		run_state->timed_out = 1;
	}
	kill_all_and_exit(w);
}

/* Timeout, grace period, and time for the guard to act on both. */
static int64_t final_deadline(const struct plan *plan) {
	int64_t grace = plan->grace_ms == LIMIT_NONE ? 0 : plan->grace_ms;

	return plan->timeout_ms == LIMIT_NONE ? LIMIT_NONE
					      : clock_ms() + plan->timeout_ms + grace + SLACK_MS;
}

int warden_inner(struct kit *k, struct err *e) {
	struct warden w = {
		.kit = k, .above = k->warden_fd, .below = -1, .deadline = final_deadline(k->plan)};

	if (reaper_init(&w.reaper, k->plan, e) != 0) {
		return -1;
	}
	w.guard_first = !w.reaper.kill_all;
	int mine = clone_below(k, &w, e);
	if (mine <= 0) {
		drop_fd(&w.reaper.children);
		return mine;
	}
	inner_run(&w);
}
