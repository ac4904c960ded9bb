#include "run/story.h"

#include "base/auto.h"
#include "linux/follow.h"

#include <signal.h>

void story_init(struct story *s) {
	/* Who never reports an end was killed. */
	*s = (struct story){.pty = -1, .end.status = SIGKILL};
}

void story_done(struct story *s) {
	if (s->pty >= 0) {
		(void)close(take_fd(&s->pty)); /* a pty that nobody relayed */
	}
}

static void story_take(struct story *s, const struct child *c, const struct report *report,
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
		spawn_give_peer(c, take_fd(&master), report->status);
		break;
	case REPORT_VIEW:
		follow_begin(c->follow, take_fd(&master));
		break;
	case REPORT_STARTED:
		s->begun = true;
		break;
	case REPORT_STOPPED:
		s->stopped = true;
		break;
	case REPORT_EXIT:
		s->begun = s->ended = s->over = true;
		s->end.status = report->status;
		s->end.timed_out = report->timed_out != 0;
		break;
	}
}

void story_read(struct story *s, const struct child *c) {
	while (!s->over) {
		struct report report;
		int fd = -1;
		int got = spawn_read(c, &report, &fd);
		if (got == 0) {
			return;
		}
		if (got < 0) {
			s->over = true;
			return;
		}
		story_take(s, c, &report, fd);
	}
}

int story_check(const struct story *s, struct err *e) {
	if (s->failed) {
		*e = s->err;
		return -1;
	}
	if (!s->begun && s->end.forced) {
		return err_set(e, ERR_SETUP, "run",
			       "the run was ended (%s) before the command could start",
			       reason_name(s->end.force));
	}
	if (!s->begun) {
		return err_set(e, ERR_SETUP, "run",
			       "the sandbox's first process died before it could report");
	}
	return 0;
}
