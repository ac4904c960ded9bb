/* Theory.  In a pid namespace kill(-1) is exactly what is wanted.  Without one it
 * would end everything that the user runs, unless Landlock keeps signals inside
 * (ABI 6): then the kernel skips every process outside our domain, and a fork that
 * is under way is caught as well.  Before that ABI there is the list of our
 * children: we are the subreaper, so whoever loses its parent becomes ours, and
 * killing until no child is left ends everything.
 *
 * Should:   leave nothing alive.
 * Must not: call kill(-1) before it was seen that the supervisor, which is outside,
 *           cannot be signalled.
 * Fails:    closed: without a way to find the children nothing is started. */
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

/* For memory to be freed and files to be closed, which is work of those who were killed. */
#define LINGER_MS 400

/* Collected before somebody kills again: a command can make processes that end as fast. */
#define COLLECT_MAX 256

/* Between two looks for children that came while others were killed. */
#define STEP_MS 10

/* Signal 0 asks for permission alone. */
static bool signals_stay_inside(const struct plan *plan) {
	return plan->landlock_abi >= LANDLOCK_ABI_SCOPES && kill(getppid(), 0) != 0 &&
	       errno == EPERM && kill(1, 0) != 0 && errno == EPERM;
}

void reaper_init_outer(struct reaper *r, const struct plan *plan) {
	*r = (struct reaper){.everybody = signals_stay_inside(plan), .children = -1};
	if (!r->everybody) {
		r->children = open(CHILDREN, O_RDONLY | O_CLOEXEC);
	}
}

int reaper_init(struct reaper *r, const struct plan *plan, struct err *e) {
	*r = (struct reaper){.everybody = true, .children = -1};
	if (!plan_lacks_namespaces(plan)) {
		return 0;
	}
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) {
		return err_sys(e, "reaper", "cannot become the parent of orphans");
	}
	r->everybody = signals_stay_inside(plan);
	if (r->everybody) {
		return 0;
	}
	r->children = open(CHILDREN, O_RDONLY | O_CLOEXEC);
	if (r->children < 0) {
		return err_sys(e, "reaper", "cannot list the processes that have to be ended");
	}
	return 0;
}

/* Decimal numbers, each with a space behind it; one that was cut off has none.  A
 * child of ours keeps its number until we collect it, and so does its group. */
static void signal_listed(const char *text, size_t len, int signal) {
	pid_t pid = 0;
	for (size_t i = 0; i < len; i++) {
		if (text[i] >= '0' && text[i] <= '9') {
			pid = pid * 10 + (text[i] - '0');
		} else if (pid > 0) {
			(void)kill(pid, signal);  /* it may have ended */
			(void)kill(-pid, signal); /* most lead no group */
			pid = 0;
		}
	}
}

void reaper_signal(const struct reaper *r, int signal) {
	char text[4096];
	if (r->everybody) {
		(void)kill(-1, signal); /* nobody left is an error too */
		return;
	}
	/* More children than fit are found when these are gone. */
	ssize_t n = pread(r->children, text, sizeof text, 0);
	if (n > 0) {
		signal_listed(text, (size_t)n, signal);
	}
}

/* Collects who has ended; true when nothing is left. */
static bool collect_now(void) {
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
	/* However it ends, somebody looks again. */
	(void)syscall(SYS_rt_sigtimedwait, &child, NULL, &time, _NSIG / 8);
}

/* Kills again after each step: who was a grandchild may have become a child. */
static bool end_until(const struct reaper *r, int64_t until) {
	for (;;) {
		if (r != NULL) {
			reaper_signal(r, SIGKILL);
		}
		if (collect_now()) {
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
	(void)end_until(r, clock_ms() + ms); /* what is left has been killed */
}

bool reaper_collect(int ms) {
	return end_until(NULL, clock_ms() + ms);
}

void reaper_end(const struct reaper *r) {
	if (r->everybody) {
		/* One call has killed all of them.  Who still waits in the kernel, for a disk,
		 * makes no step more: nobody waits for it. */
		reaper_end_within(r, LINGER_MS);
		return;
	}
	do {
		reaper_signal(r, SIGKILL);
	} while (waitpid(-1, NULL, 0) > 0 || errno == EINTR);
}
