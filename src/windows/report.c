/* SPDX-License-Identifier: Apache-2.0 */
/* The result of a run of corral.exe, and its exit status.
 *
 * Should:   have the reasons and exit statuses of corral(1).
 * Must not: report an exit code of a command that corral.exe ended.
 * Fails:    out of memory the whole object fails. */
#include "windows/report.h"

#include "run/bare_result.h"

#define STATUS_TIMED_OUT 124
#define STATUS_SETUP 125
#define STATUS_REFUSED 126
/* 128 and SIGINT, as a shell reports ^C. */
#define STATUS_CANCELLED 130

static const char *const reason_names[] = {
	[REASON_EXITED] = "exit",     [REASON_TIMED_OUT] = "timeout",
	[REASON_WAS_IDLE] = "idle",   [REASON_CANCELLED_HERE] = "cancelled",
	[REASON_REFUSED] = "refused", [REASON_SETUP_FAILED] = "setup",
};

static void put_guarantees(struct emit *j, const void *arg) {
	enforcement_put(j, (const struct windows_enforcement *)arg);
}

int report_json(const struct windows_report *r, const struct run_choices *c,
		const struct windows_enforcement *g, const struct err *failure, struct buf *out) {
	const struct bare_result result = {
		.reason = reason_names[r->reason],
		.exit_code = r->reason == REASON_EXITED ? (int64_t)r->exit_code : -1,
		.duration_ms = r->duration_ms,
		.out = r->out,
		.err = r->err,
		.out_len = r->out_len,
		.err_len = r->err_len,
		.out_dropped = r->out_dropped,
		.err_dropped = r->err_dropped,
		.id = r->id,
		.workspace = r->workspace,
		.mode = c == NULL ? NULL : keys[KEY_MODE].choices[c->values[KEY_MODE].num],
		.net = c == NULL ? NULL : keys[KEY_NET_MODE].choices[c->values[KEY_NET_MODE].num],
		.level = g == NULL ? NULL : g->level,
		.engine = g == NULL ? NULL : g->engine,
		.started_ms = r->started_ms,
		.depth = -1,
		.cpu_ms = r->cpu_ms,
		.max_rss_kb = -1,
		.notes = r->notes,
		.nnotes = r->nnotes,
		.guarantees = g == NULL ? NULL : put_guarantees,
		.guarantees_arg = g,
		.failure = failure,
	};
	return bare_result_json(&result, out);
}

uint32_t report_status(const struct windows_report *r) {
	switch (r->reason) {
	case REASON_EXITED:
		return r->exit_code;
	case REASON_TIMED_OUT:
	case REASON_WAS_IDLE:
		return STATUS_TIMED_OUT;
	case REASON_CANCELLED_HERE:
		return STATUS_CANCELLED;
	case REASON_REFUSED:
		return STATUS_REFUSED;
	case REASON_SETUP_FAILED:
		break;
	}
	return STATUS_SETUP;
}
