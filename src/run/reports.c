/* SPDX-License-Identifier: Apache-2.0 */
/* Collects the reports that pid 1 of the sandbox sends to the supervisor.
 *
 * Should:   read every report before it treats the end of pid 1 as the end of the run.
 * Must not: let a run continue after a sampler that enforces a limit has died.
 * Fails:    closed: a run without a report of its end counts as killed. */
#include "run/reports.h"

#include "backend/timings.h"
#include "base/auto.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

void reports_init(struct reports *s) {
	/* Without a report of the end: killed. */
	*s = (struct reports){.pty = -1, .view = -1, .end.status = SIGKILL};
}

void reports_done(struct reports *s) {
	drop_fd(&s->pty);  /* a pty that was never attached */
	drop_fd(&s->view); /* likewise */
}

static void reports_take(struct reports *s, const struct child *c, const struct report *report,
			 int fd) {
	auto_fd master = fd;

	switch ((enum report_kind)report->kind) {
	case REPORT_ERROR:
		s->failed = s->over = true;
		s->err = report->err;
		break;
	case REPORT_PTY:
		if (s->pty < 0) {
			s->pty = take_fd(&master);
		}
		break;
	case REPORT_PEER:
		child_give_peer(c, take_fd(&master), report->status);
		break;
	case REPORT_VIEW:
		if (child_ask(c) >= 0 && s->view < 0) {
			s->view = fcntl(master, F_DUPFD_CLOEXEC, 3);
		}
		child_take_view(c, take_fd(&master));
		break;
	case REPORT_STARTED:
		s->begun = true;
		break;
	case REPORT_STOPPED:
		s->stopped = true;
		s->halted = WIFSTOPPED(report->status);
		break;
	case REPORT_EXIT:
		timings_stamp(child_timings(c), STEP_REPORT);
		s->begun = s->ended = s->over = true;
		s->end.status = report->status;
		s->end.timed_out = report->timed_out != 0;
		break;
	}
}

void reports_read(struct reports *s, const struct child *c) {
	while (!s->over) {
		struct report report;
		int fd = -1;
		int got = child_supervise(c, &report, &fd);
		if (got == 0) {
			return;
		}
		if (got < 0) {
			s->over = true;
			return;
		}
		reports_take(s, c, &report, fd);
	}
}

/* A sampler has ended: it killed the run because of its limit; or it was killed itself, and the
 * run must not continue without the limit. */
static void sampler_ended(struct reports *s, const struct child *c) {
	reports_read(s, c);
	if (!s->over) {
		child_unmeasured(c);
		s->over = true;
	}
}

void reports_step(struct reports *s, struct child *c, const struct pollfd slots[CHILD_SLOTS]) {
	unsigned events = child_step(c, slots);

	if ((events & CHILD_REPORTS) != 0) {
		reports_read(s, c);
	}
	if ((events & CHILD_ENDED) != 0) {
		s->over = true; /* pid 1 is dead, and all its reports are read */
	}
	if ((events & CHILD_UNMEASURED) != 0 && !s->over) {
		sampler_ended(s, c);
	}
}

void reports_settle(struct reports *s, const struct run_state_copy *f) {
	if (s->ended || s->failed) {
		return;
	}
	s->begun = s->begun || f->begun || f->ended;
	s->end.timed_out = s->end.timed_out || f->timed_out;
	if (f->ended) {
		s->end.status = f->status;
	} else {
		s->end.lost = true;
	}
}

int reports_check(const struct reports *s, struct err *e) {
	if (s->failed) {
		*e = s->err;
		return -1;
	}
	if (!s->begun && s->end.forced) {
		return err_set(e, ERR_SETUP, "run",
			       "the run was ended (%s) before the command started",
			       outcome_reason_name(s->end.force));
	}
	if (!s->begun) {
		return err_set(e, ERR_SETUP, "run",
			       "pid 1 of the sandbox died before the command started");
	}
	return 0;
}

int reports_wait(struct reports *s, struct pollfd *slots, nfds_t count, int timeout) {
	if (poll(slots, count, timeout) >= 0) {
		return 0;
	}
	for (nfds_t i = 0; i < count; i++) {
		slots[i].revents = 0;
	}
	if (errno != EINTR) {
		(void)err_sys(&s->err, "run", "cannot wait for the command");
		s->failed = s->over = true;
		return -1;
	}
	return 0;
}
