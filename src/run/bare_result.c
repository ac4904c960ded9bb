/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the result of a run as the JSON object of `corral run --json`, and has the exit status of
 * a failure.
 *
 * Should:   have every key that the object has on Linux, so that a program needs one parser.
 * Must not: claim more than the build does: nothing is recorded, scanned or audited there.
 * Fails:    out of memory the whole object fails. */
#include "run/bare_result.h"

#include "base/auto.h"
#include "base/rfc3339.h"

#define STATUS_USAGE 2
#define STATUS_SETUP 125
#define STATUS_REFUSED 126
#define STATUS_NOT_FOUND 127

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

static void put_ending(struct emit *j, const struct bare_result *r) {
	emit_int(j, "version", 1);
	emit_string(j, "reason", r->reason);
	put_number(j, "exit_code", r->exit_code >= 0, r->exit_code);
	put_number(j, "signal", r->signal != 0, r->signal);
	emit_int(j, "duration_ms", r->duration_ms);
	put_stream(j, "stdout", r->out, r->out_len);
	put_stream(j, "stderr", r->err, r->err_len);
	emit_object(j, "truncated");
	emit_int(j, "stdout", (int64_t)r->out_dropped);
	emit_int(j, "stderr", (int64_t)r->err_dropped);
	emit_end_object(j);
}

static void put_identity(struct emit *j, const struct bare_result *r) {
	char started[RFC3339_LENGTH + 1] = "";

	if (r->started_ms >= 0) {
		rfc3339_text(r->started_ms, started);
	}
	emit_string(j, "id", r->id);
	emit_string(j, "started", r->started_ms >= 0 ? started : NULL);
	emit_string(j, "workspace", r->workspace);
	emit_string(j, "mode", r->mode);
	emit_string(j, "net", r->net);
	emit_null(j, "agent");
	emit_null(j, "session");
}

static void put_enforcement(struct emit *j, const struct bare_result *r) {
	emit_string(j, "level", r->level);
	emit_string(j, "engine", r->engine);
	put_number(j, "depth", r->depth >= 0, r->depth);
	emit_null(j, "policy_sha256");
	if (r->guarantees == NULL) {
		emit_array(j, "guarantees");
		emit_end_array(j);
	} else {
		r->guarantees(j, r->guarantees_arg);
	}
	emit_strings(j, "notes", r->notes, r->nnotes);
}

/* The supervisor on Linux records these. */
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

int bare_result_json(const struct bare_result *r, struct buf *out) {
	struct emit j;

	emit_init(&j, out, false);
	emit_object(&j, NULL);
	put_ending(&j, r);
	put_identity(&j, r);
	put_enforcement(&j, r);
	put_unrecorded(&j);
	emit_object(&j, "usage");
	put_number(&j, "cpu_ms", r->cpu_ms >= 0, r->cpu_ms);
	put_number(&j, "max_rss_kb", r->max_rss_kb >= 0, r->max_rss_kb);
	emit_null(&j, "processes_peak");
	emit_end_object(&j);
	emit_bool(&j, "audited", false);
	emit_bool(&j, "warm", false);
	emit_null(&j, "timings");
	if (r->failure != NULL) {
		emit_object(&j, "error");
		emit_string(&j, "layer", r->failure->where);
		emit_string(&j, "message", r->failure->what);
		emit_null(&j, "errno"); /* its names are those of Linux */
		emit_string(&j, "remedy", r->failure->fix[0] == '\0' ? NULL : r->failure->fix);
		emit_end_object(&j);
	}
	emit_end_object(&j);
	return buf_failed(out) ? -1 : 0;
}

int bare_result_failure_status(const struct err *e) {
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
