/* SPDX-License-Identifier: Apache-2.0 */
/* The result of a run on macOS: reasons, exit status, JSON.
 *
 * Should:   use the reasons and exit statuses of corral(1) on Linux.
 * Must not: leave out the note that enforcement has not been run.
 * Fails:    out of memory the whole object fails. */
#include "macos/result.h"

#include "base/auto.h"
#include "data/other_builds.h"
#include "run/bare_result.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define STATUS_TIMED_OUT 124
#define STATUS_SIGNAL 128

static bool limited(const struct plan *plan, int resource) {
	for (size_t i = 0; i < plan->nrlimits; i++) {
		if (plan->rlimits[i].resource == resource) {
			return true;
		}
	}
	return false;
}

const char *macos_reason(const struct plan *plan, const struct macos_outcome *o) {
	static const char *const reasons[] = {
		[ENDING_EXITED] = "exit",     [ENDING_TIMEOUT] = "timeout",
		[ENDING_IDLE] = "idle",       [ENDING_MEMORY] = "oom",
		[ENDING_PROCESSES] = "limit", [ENDING_UNMEASURED] = "limit",
	};
	if (o->ending != ENDING_EXITED || !WIFSIGNALED(o->status)) {
		return reasons[o->ending];
	}
	/* Any process may send these signals; they mean a limit only if the run has that limit. */
	int sig = WTERMSIG(o->status);
	bool limit = (sig == SIGXCPU && limited(plan, RLIMIT_CPU)) ||
		     (sig == SIGXFSZ && limited(plan, RLIMIT_FSIZE));
	return limit ? "limit" : "signal";
}

static void put_guarantees(struct emit *j, const void *arg) {
	guarantees_emit(j, ((const struct plan *)arg)->guarantees);
}

/* The keys that need a plan. */
static void fill_plan(const struct macos_result *r, struct bare_result *b) {
	b->workspace = r->plan->workspace;
	b->mode = keys[KEY_MODE].choices[policy_num(r->policy, KEY_MODE)];
	b->net = keys[KEY_NET_MODE].choices[policy_num(r->policy, KEY_NET_MODE)];
	b->level = plan_level_name(r->plan->level);
	b->engine = plan_engine_name(r->plan->engine);
	b->depth = r->plan->depth;
	b->guarantees = put_guarantees;
	b->guarantees_arg = r->plan;
}

static void fill_outcome(const struct macos_result *r, struct bare_result *b) {
	const struct macos_outcome *o = r->outcome;
	bool exited = o->ending == ENDING_EXITED && WIFEXITED(o->status);

	b->reason = macos_reason(r->plan, o);
	b->exit_code = exited ? WEXITSTATUS(o->status) : -1;
	b->signal = WIFSIGNALED(o->status) ? WTERMSIG(o->status) : 0;
	b->duration_ms = o->duration_ms;
	b->cpu_ms = o->cpu_ms;
	b->max_rss_kb = o->max_memory / 1024;
}

int macos_result_json(const struct macos_result *r, struct buf *out) {
	const char *notes[] = {NOT_RUN_MACOS, "processes of the command could not be killed"};
	struct bare_result b = {
		.reason =
			r->failure != NULL && r->failure->kind == ERR_REFUSED ? "refused" : "setup",
		.exit_code = -1,
		.out = "",
		.err = "",
		.id = r->id,
		.started_ms = r->started_ms,
		.depth = -1,
		.cpu_ms = -1,
		.max_rss_kb = -1,
		.notes = notes,
		.nnotes = r->outcome != NULL && r->outcome->survivors ? 2 : 1,
		.failure = r->failure,
	};
	if (r->plan != NULL) {
		fill_plan(r, &b);
	}
	if (r->outcome != NULL) {
		fill_outcome(r, &b);
	}
	auto_free char *bytes =
		r->captures == NULL ? NULL : capture_take(&r->captures[0], &b.out_len);
	auto_free char *more =
		r->captures == NULL ? NULL : capture_take(&r->captures[1], &b.err_len);
	if (r->captures != NULL) {
		b.out = bytes == NULL ? "" : bytes;
		b.err = more == NULL ? "" : more;
		b.out_dropped = r->captures[0].dropped;
		b.err_dropped = r->captures[1].dropped;
	}
	return bare_result_json(&b, out);
}

static void print_text(const struct plan *plan, struct buf *out) {
	buf_printf(out, NOT_RUN_MACOS "\nlevel %s, engine %s\n", plan_level_name(plan->level),
		   plan_engine_name(plan->engine));
	for (enum guarantee g = 0; g < GUARANTEE_COUNT; g++) {
		const struct guarantee_report *p = &plan->guarantees[g];
		buf_printf(out, "%-17s %-9s %s\n", guarantee_name(g), plan_state_name(p->state),
			   p->why == NULL ? "" : p->why);
	}
}

void macos_status_print(const struct plan *plan, bool json, struct buf *out) {
	struct emit j;

	if (!json) {
		print_text(plan, out);
		return;
	}
	emit_init(&j, out, true);
	emit_object(&j, NULL);
	emit_string(&j, "system", "macOS");
	emit_string(&j, "note", NOT_RUN_MACOS);
	emit_string(&j, "level", plan_level_name(plan->level));
	emit_string(&j, "engine", plan_engine_name(plan->engine));
	guarantees_emit(&j, plan->guarantees);
	emit_end_object(&j);
	buf_puts(out, "\n");
}

int macos_status(const struct macos_outcome *o) {
	if (o->ending == ENDING_TIMEOUT || o->ending == ENDING_IDLE) {
		return STATUS_TIMED_OUT;
	}
	return WIFEXITED(o->status) ? WEXITSTATUS(o->status) : STATUS_SIGNAL + WTERMSIG(o->status);
}
