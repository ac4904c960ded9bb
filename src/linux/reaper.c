/* SPDX-License-Identifier: Apache-2.0 */
/* Kills and reaps every process of a run.
 *
 * Theory.  In a pid namespace kill(-1) reaches exactly the processes of the run.  Without
 * one it would kill every process of the user, unless Landlock scopes signals (ABI 6): then
 * the kernel skips every process outside our domain, and the signal also reaches a fork in
 * progress.  Before that ABI we read the list of our children: we are a child subreaper, so
 * orphans become our children, and killing until no child is left ends the run.
 *
 * kill(-1) visits every process of the host, so it is not called when no child is left: every
 * process of the run is a descendant of pid 1 or of the guard, whose orphans become its children.
 *
 * Should:   leave no process alive.
 * Must not: call kill(-1) before kill(parent, 0) and kill(1, 0) failed with EPERM, which
 *           shows that processes outside the domain cannot be signalled.
 * Fails:    closed: if the children cannot be listed, the command is not started. */
#include "linux/reaper.h"

#include "base/auto.h"
#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define CHILDREN "/proc/thread-self/children"

/* Killed processes need this long to free their memory and close their files. */
#define LINGER_MS 400

/* Children to reap before the next kill: a command can fork as fast as we reap. */
#define COLLECT_MAX 256

/* Until the next kill, for children that were forked while others were killed. */
#define STEP_MS 10

/* Signal 0 only checks the permission. */
static bool signals_stay_inside(const struct plan *plan) {
	return plan->landlock_abi >= LANDLOCK_ABI_SCOPES && kill(getppid(), 0) != 0 &&
	       errno == EPERM && kill(1, 0) != 0 && errno == EPERM;
}

void reaper_init_outer(struct reaper *r, const struct plan *plan) {
	*r = (struct reaper){.kill_all = signals_stay_inside(plan), .children = -1};
	if (!r->kill_all) {
		r->children = open(CHILDREN, O_RDONLY | O_CLOEXEC);
	}
}

int reaper_init(struct reaper *r, const struct plan *plan, struct err *e) {
	*r = (struct reaper){.kill_all = true, .children = -1};
	if (!plan_lacks_namespaces(plan)) {
		return 0;
	}
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) {
		return err_sys(e, "reaper", "cannot become a child subreaper");
	}
	r->kill_all = signals_stay_inside(plan);
	if (r->kill_all) {
		return 0;
	}
	r->children = open(CHILDREN, O_RDONLY | O_CLOEXEC);
	if (r->children < 0) {
		return err_sys(e, "reaper", "cannot list the run's processes in " CHILDREN "");
	}
	return 0;
}

/* The text is decimal pids, each followed by a space; one that was cut off has none.  The
 * kernel does not reuse a child's pid or group before we reap it. */
static void signal_listed(const char *text, size_t len, int signal) {
	pid_t pid = 0;
	for (size_t i = 0; i < len; i++) {
		if (text[i] >= '0' && text[i] <= '9') {
			pid = pid * 10 + (text[i] - '0');
		} else if (pid > 0) {
			(void)kill(pid, signal);  /* it may have ended */
			(void)kill(-pid, signal); /* ESRCH: it leads no group */
			pid = 0;
		}
	}
}

void reaper_signal(const struct reaper *r, int signal) {
	char text[4096];
	if (r->kill_all) {
		(void)kill(-1, signal); /* ESRCH: no process is left */
		return;
	}
	/* Children that do not fit in the buffer are listed when these are gone. */
	ssize_t n = pread(r->children, text, sizeof text, 0);
	if (n > 0) {
		signal_listed(text, (size_t)n, signal);
	}
}

/* Reaps the children that have ended; true when none is left. */
static bool reap_ended(void) {
	pid_t pid = 1;

	for (int i = 0; i < COLLECT_MAX && (pid > 0 || (pid < 0 && errno == EINTR)); i++) {
		pid = waitpid(-1, NULL, WNOHANG);
	}
	return pid < 0 && errno == ECHILD;
}

static void wait_for_child(int64_t ms) {
	const struct timespec time = {.tv_nsec = (long)ms * 1000000};
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	/* Whatever it returns, the caller reaps again. */
	(void)syscall(SYS_rt_sigtimedwait, &child, NULL, &time, _NSIG / 8);
}

/* Kills again after each step: a grandchild may have become a child. */
static bool end_until(const struct reaper *r, int64_t until) {
	for (;;) {
		if (r != NULL) {
			reaper_signal(r, SIGKILL);
		}
		if (reap_ended()) {
			return true;
		}
		int64_t left = until - clock_ms();
		if (left <= 0) {
			return false;
		}
		wait_for_child(left < STEP_MS ? left : STEP_MS);
	}
}

void reaper_end_within(const struct reaper *r, int ms) {
	(void)end_until(r, clock_ms() + ms); /* processes that are left have been killed */
}

bool reaper_collect(int ms) {
	return end_until(NULL, clock_ms() + ms);
}

/* True when there is no child of any kind, also none that ended and waits to be reaped. */
static bool has_no_child(void) {
	siginfo_t info;

	return syscall(SYS_waitid, P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL, NULL) !=
		       0 &&
	       errno == ECHILD;
}

void reaper_end(const struct reaper *r) {
	if (has_no_child()) {
		return;
	}
	if (r->kill_all) {
		/* One call has killed all of them.  A process that is still in uninterruptible
		 * sleep never returns to user space, so there is no need to wait for it. */
		reaper_end_within(r, LINGER_MS);
		return;
	}
	do {
		reaper_signal(r, SIGKILL);
	} while (waitpid(-1, NULL, 0) > 0 || errno == EINTR);
}
