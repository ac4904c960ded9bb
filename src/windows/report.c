/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the result of a run as the JSON object of `corral run --json`.
 *
 * Should:   have every key that the object has on Linux, so that a program needs one parser.
 * Must not: claim more than corral.exe does: nothing is recorded, scanned or audited here.
 * Fails:    out of memory the whole object fails. */
#include "windows/report.h"

#include "base/auto.h"
#include "base/emit.h"
#include "base/rfc3339.h"

#define STATUS_USAGE 2
#define STATUS_TIMED_OUT 124
#define STATUS_SETUP 125
#define STATUS_REFUSED 126
#define STATUS_NOT_FOUND 127
/* 128 and SIGINT, as a shell reports ^C. */
#define STATUS_CANCELLED 130

static const char *const reason_names[] = {
	[REASON_EXITED] = "exit",     [REASON_TIMED_OUT] = "timeout",
	[REASON_WAS_IDLE] = "idle",   [REASON_CANCELLED_HERE] = "cancelled",
	[REASON_REFUSED] = "refused", [REASON_SETUP_FAILED] = "setup",
};

static void put_stream(struct emit *j, const char *key, const char *bytes, size_t len) {
	if (bytes == NULL) {
		emit_null(j, key);
	} else {
		emit_bytes(j, key, bytes, len);
	}
}

static void put_number(struct emit *j, const char *key, bool known, int64_t n) {
	if (known) {
		emit_int(j, key, n);
	} else {
		emit_null(j, key);
	}
}

static void put_ending(struct emit *j, const struct windows_report *r) {
	emit_int(j, "version", 1);
	emit_string(j, "reason", reason_names[r->reason]);
	put_number(j, "exit_code", r->reason == REASON_EXITED, r->exit_code);
	emit_null(j, "signal"); /* Windows has none */
	emit_int(j, "duration_ms", r->duration_ms);
	put_stream(j, "stdout", r->out, r->out_len);
	put_stream(j, "stderr", r->err, r->err_len);
	emit_object(j, "truncated");
	emit_int(j, "stdout", (int64_t)r->out_dropped);
	emit_int(j, "stderr", (int64_t)r->err_dropped);
	emit_end_object(j);
}

static void put_identity(struct emit *j, const struct windows_report *r,
			 const struct run_choices *c) {
	char started[RFC3339_LENGTH + 1] = "";

	if (r->started_ms >= 0) {
		rfc3339_text(r->started_ms, started);
	}
	emit_string(j, "id", r->id);
	emit_string(j, "started", r->started_ms >= 0 ? started : NULL);
	emit_string(j, "workspace", r->workspace);
	emit_string(j, "mode", c == NULL ? NULL : keys[KEY_MODE].choices[c->values[KEY_MODE].num]);
	emit_string(j, "net",
		    c == NULL ? NULL : keys[KEY_NET_MODE].choices[c->values[KEY_NET_MODE].num]);
	emit_null(j, "agent");
	emit_null(j, "session");
}

static void put_enforcement(struct emit *j, const struct windows_report *r,
			    const struct windows_enforcement *g) {
	emit_string(j, "level", g == NULL ? NULL : g->level);
	emit_string(j, "engine", g == NULL ? NULL : g->engine);
	emit_null(j, "depth");
	emit_null(j, "policy_sha256");
	if (g == NULL) {
		emit_array(j, "guarantees");
		emit_end_array(j);
	} else {
		enforcement_put(j, g);
	}
	emit_strings(j, "notes", r->notes, r->nnotes);
}

/* The supervisor on Linux records these; corral.exe does not. */
static void put_unrecorded(struct emit *j) {
	static const char *const lists[] = {"denials", "leaks", "network", "created"};
	static const char *const recorded[] = {"denials_recorded", "leaks_scanned",
					       "network_recorded", "created_recorded"};
	static const char *const more[] = {"denials_more", "leaks_more", "network_more",
					   "created_more"};

	emit_null(j, "hint");
	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		emit_array(j, lists[i]);
		emit_end_array(j);
		emit_int(j, more[i], 0);
		emit_bool(j, recorded[i], false);
		if (i == 0) {
			emit_null(j, "grants");
		} else if (i == 2) {
			emit_null(j, "network_failed");
		}
	}
	emit_null(j, "cow");
	emit_null(j, "left_in_home");
}

int report_json(const struct windows_report *r, const struct run_choices *c,
		const struct windows_enforcement *g, const struct err *failure, struct buf *out) {
	struct emit j;

	emit_init(&j, out, false);
	emit_object(&j, NULL);
	put_ending(&j, r);
	put_identity(&j, r, c);
	put_enforcement(&j, r, g);
	put_unrecorded(&j);
	emit_object(&j, "usage");
	put_number(&j, "cpu_ms", r->cpu_ms >= 0, r->cpu_ms);
	emit_null(&j, "max_rss_kb");
	emit_null(&j, "processes_peak");
	emit_end_object(&j);
	emit_bool(&j, "audited", false);
	emit_bool(&j, "warm", false);
	emit_null(&j, "timings");
	if (failure != NULL) {
		emit_object(&j, "error");
		emit_string(&j, "layer", failure->where);
		emit_string(&j, "message", failure->what);
		emit_null(&j, "errno");
		emit_string(&j, "remedy", failure->fix[0] == '\0' ? NULL : failure->fix);
		emit_end_object(&j);
	}
	emit_end_object(&j);
	return buf_failed(out) ? -1 : 0;
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

uint32_t report_failure_status(const struct err *e) {
	switch (e->kind) {
	case ERR_USAGE:
		return STATUS_USAGE;
	case ERR_REFUSED:
	case ERR_NO_EXEC:
		return STATUS_REFUSED;
	case ERR_NOT_FOUND:
		return STATUS_NOT_FOUND;
	default:
		return STATUS_SETUP;
	}
}
