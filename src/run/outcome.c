/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the reason for the end of a run, when several hold at once, and the advice after a
 * failure.
 *
 * Should:   prefer an act of the sandbox (OOM, limit, time-out) to the command's own status.
 * Must not: use the child: it is reaped.
 * Fails:    never. */
#include "run/run.h"

#include "base/auto.h"
#include "run/denied_limits.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

static const char *const reason_names[] = {
	[REASON_EXIT] = "exit",           [REASON_SIGNAL] = "signal", [REASON_TIMEOUT] = "timeout",
	[REASON_IDLE] = "idle",           [REASON_OOM] = "oom",       [REASON_LIMIT] = "limit",
	[REASON_CANCELLED] = "cancelled", [REASON_LEAK] = "leak",     [REASON_LOST] = "lost",
};

const char *outcome_reason_name(enum reason r) {
	return reason_names[r];
}

/* At the soft limit the kernel sends SIGXCPU; a command that catches it gets SIGKILL at the
 * hard limit, and only its CPU time shows the reason. */
static bool cpu_spent(const struct usage *u, const struct plan *plan) {
	for (size_t i = 0; i < plan->nrlimits; i++) {
		const struct rlimit_row *row = &plan->rlimits[i];
		if (row->resource == RLIMIT_CPU && u->cpu_ms >= 0 &&
		    row->value <= INT64_MAX / 1000) {
			return (uint64_t)u->cpu_ms >= row->value * 1000;
		}
	}
	return false;
}

bool outcome_limited(const struct plan *plan, int resource) {
	for (size_t i = 0; i < plan->nrlimits; i++) {
		if (plan->rlimits[i].resource == resource) {
			return true;
		}
	}
	return false;
}

enum reason outcome_reason(const struct ending *end, const struct usage *u,
			   const struct plan *plan) {
	int sig = WIFSIGNALED(end->status) ? WTERMSIG(end->status) : 0;

	if (u->oom || (end->lost && u->run_state.overrun == OVERRUN_MEMORY)) {
		return REASON_OOM;
	}
	if (end->lost && u->run_state.overrun != OVERRUN_NONE) {
		return REASON_LIMIT;
	}
	if (end->timed_out) {
		return REASON_TIMEOUT;
	}
	if (end->forced) {
		return end->force;
	}
	if (end->lost) {
		return REASON_LOST;
	}
	/* Any process may send these signals; they mean a limit only if the run has that limit. */
	if ((sig == SIGXCPU && outcome_limited(plan, RLIMIT_CPU)) ||
	    (sig == SIGXFSZ && outcome_limited(plan, RLIMIT_FSIZE)) ||
	    (sig == SIGKILL && cpu_spent(u, plan))) {
		return REASON_LIMIT;
	}
	return sig != 0 ? REASON_SIGNAL : REASON_EXIT;
}

void outcome_fill(struct outcome *o, const struct ending *end, const struct usage *u,
		  const struct plan *plan) {
	o->usage = *u;
	o->reason = outcome_reason(end, u, plan);
	o->exit_code = WIFEXITED(end->status) ? WEXITSTATUS(end->status) : -1;
	o->signal = WIFSIGNALED(end->status) ? WTERMSIG(end->status) : 0;
}

int outcome_signal(const struct outcome *o) {
	return o->reason == REASON_OOM && o->signal == 0 ? SIGKILL : o->signal;
}

/* Only for a failure of the command itself: an act of the supervisor has its own reason.  A
 * recorded refusal replaces a guess from the output. */
void outcome_advise(struct outcome *o, const struct plan *plan, const struct policy *policy,
		    const struct journal *j, struct output_tail *const tails[2]) {
	const struct output_tail *const streams[] = {tails[0], tails[1]};
	bool filtered = o->reason == REASON_SIGNAL && o->signal == SIGSYS;

	if (filtered) {
		static const char words[] = "Bad system call"; /* a shell's text for SIGSYS */
		hint_record(tails[0], words, strlen(words));
	}
	if (filtered || (o->reason == REASON_EXIT && o->exit_code > 0)) {
		hint_find(plan, policy, streams, ARRAY_LEN(streams), &o->advice);
		hint_for_network(&o->network, streams, ARRAY_LEN(streams), &o->advice);
		hint_for_link(j, plan, policy, &o->advice);
	}
}

void outcome_read_journal(struct outcome *o, const struct plan *plan, const struct policy *policy,
			  const struct host *host, const struct journal_part *part) {
	created_read(plan, part, &o->created);
	denials_read(plan, policy, host, part, &o->denials);
	denied_limits_add(o, plan, policy);
}

void outcome_done(struct outcome *o) {
	free(o->out);
	free(o->err);
	o->out = o->err = NULL;
	created_done(&o->created);
	denials_done(&o->denials);
	ask_grants_done(&o->grants);
	netlog_done(&o->network);
	leak_log_done(&o->leaks);
}
