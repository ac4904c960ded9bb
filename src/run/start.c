/* SPDX-License-Identifier: Apache-2.0 */
/* Starts a command and waits for its end, in two steps, for corral_spawn and corral_wait.
 *
 * The command has the caller's descriptors themselves, so there is nothing to relay: the loop has
 * the reports of pid 1 and the clock only.
 *
 * Should:   call finish() of the backend exactly once for each child.
 * Must not: need a thread or a signal between the two steps.
 * Fails:    closed: a command that did not begin is killed. */
#include "base/auto.h"
#include "base/clock.h"
#include "run/deadline.h"
#include "run/records.h"
#include "run/reports.h"
#include "run/run.h"

#include <poll.h>

/* Waits until the command has begun, or the run is over. */
static void running_wait(struct running *r, struct reports *s, bool until_begun) {
	int64_t overdue = deadline_of_run(r->plan, r->started_ms);

	while (!s->over && !(until_begun && s->begun)) {
		struct pollfd slots[CHILD_SLOTS];
		int64_t now = clock_ms();
		if (overdue >= 0 && now >= overdue) {
			s->end.forced = s->over = true;
			s->end.force = REASON_TIMEOUT;
			return;
		}
		child_look(r->child, now);
		int64_t at = overdue;
		deadline_sooner(&at, child_wake(r->child));
		child_poll(r->child, slots);
		if (reports_wait(s, slots, ARRAY_LEN(slots), deadline_poll_ms(at, now)) == 0) {
			reports_step(s, r->child, slots);
		}
	}
}

static int start_check(const struct run_request *r, struct err *e) {
	if (r->terminal || r->in == RUN_CAPTURE || r->out == RUN_CAPTURE || r->err == RUN_CAPTURE) {
		(void)err_set(e, ERR_USAGE, "run",
			      "corral_spawn supports neither a pty nor captured output");
		return err_fix(e, "use corral_run, or pass descriptors");
	}
	if (r->plan->idle_ms != LIMIT_NONE) {
		(void)err_set(e, ERR_USAGE, "run",
			      "corral_spawn does not support limits.idle_timeout: it does not "
			      "relay output");
		return err_fix(e, "use corral_run, or set limits.idle_timeout to none");
	}
	return 0;
}

int run_start(struct arena *a, const struct run_request *r, struct running *ret, struct err *e) {
	struct spawn_request request = {
		.plan = r->plan,
		.host = r->host,
		.argv = r->argv,
		.secrets = r->secrets,
		.fds = {r->in, r->out, r->err},
		.more_fds = r->more_fds,
		.nmore_fds = r->nmore_fds,
		.cow = r->cow,
		.timings = r->timings,
		.report_start = true,
		.session = r->session,
	};
	struct usage usage;
	struct reports reports;

	*ret = (struct running){.plan = r->plan,
				.policy = r->policy,
				.host = r->host,
				.started_ms = clock_ms(),
				.ptmx = -1};
	if (start_check(r, e) != 0 ||
	    child_spawn(r->backend, a, &request, &ret->room, &ret->child, e) != 0) {
		return -1;
	}
	reports_init(&reports);
	running_wait(ret, &reports, true);
	ret->ptmx = take_fd(&reports.pty);
	reports_done(&reports);
	/* A command that ran and was killed at once has an end, which run_wait() returns. */
	reports.begun = reports.begun || child_state(ret->child).begun;
	if (reports_check(&reports, e) != 0) {
		drop_fd(&ret->ptmx);
		child_finish(ret->child, &usage);
		return -1;
	}
	return 0;
}

int run_wait(struct running *r, struct outcome *ret, struct err *e) {
	struct outcome o = {0};
	struct usage usage = {0};
	struct reports reports;

	reports_init(&reports);
	reports.begun = true;
	running_wait(r, &reports, false);
	struct records records = child_take_records(r->child);
	child_finish(r->child, &usage);
	reports_done(&reports);
	reports_settle(&reports, &usage.run_state);
	int rc = reports_check(&reports, e);
	if (rc == 0) {
		outcome_fill(&o, &reports.end, &usage, r->plan);
		const struct journal_part all = {.journal = records.journal};
		outcome_read_journal(&o, r->plan, r->policy, r->host, &all);
		netlog_read(records.ledger, records.refusals, &o.network);
		o.duration_ms = clock_ms() - r->started_ms;
		*ret = o;
	}
	records_free(&records);
	return rc;
}
