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

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

/* Signal 0 asks for permission alone. */
static bool signals_stay_inside(const struct plan *plan) {
	return plan->landlock_abi >= LANDLOCK_ABI_SCOPES && kill(getppid(), 0) != 0 &&
	       errno == EPERM && kill(1, 0) != 0 && errno == EPERM;
}

int reaper_init(struct reaper *r, const struct plan *plan, struct err *e) {
	*r = (struct reaper){.everybody = true, .children = -1};
	if (!plan_shares(plan)) {
		return 0;
	}
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) {
		return err_sys(e, "reaper", "cannot become the parent of orphans");
	}
	r->everybody = signals_stay_inside(plan);
	if (r->everybody) {
		return 0;
	}
	r->children = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
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

void reaper_end(const struct reaper *r) {
	do {
		reaper_signal(r, SIGKILL);
	} while (waitpid(-1, NULL, 0) > 0 || errno == EINTR);
}
