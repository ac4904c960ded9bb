/* SPDX-License-Identifier: Apache-2.0 */
/* Reports the end of a session's command to the daemon.
 *
 * Should:   report the end of every command once, to the request that waits for it, or to the
 *           session's activity when none does.
 * Must not: let the client of the short way wait for the daemon.
 * Fails:    by an error in the place of the result. */
#include "session/supervisor.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/emit.h"
#include "base/str.h"
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

static void note(struct emit *j, const char *prefix, const char *text) {
	struct buf line;

	if (text[0] == '\0') {
		return;
	}
	buf_init(&line);
	buf_printf(&line, "%s%s", prefix, text);
	if (!buf_failed(&line)) {
		emit_string(j, NULL, line.data);
	}
	buf_done(&line);
}

/* The request that waits for the end of the command; 0: none, because its client has left it. */
static uint32_t call_of(struct job *j) {
	return j->terminal == NULL ? j->call : terminals_end(j);
}

/* The end of a command that no client waits for. */
static void report_end(const struct job *j, const char *how) {
	char text[512];

	(void)snprintf(text, sizeof text, "command %u (%s): %s", j->call, j->terminal->name, how);
	supervisor_send(j->owner->channel, WIRE_ACTIVITY, 0,
			json_pack("{s:s, s:s}", "kind", "command", "text", text));
}

void jobs_fail(struct job *j, const struct corral_error *err) {
	uint32_t call = call_of(j);

	if (j->client < 0 && call != j->call) { /* of a terminal that another client has, or none */
		supervisor_send_error(j->owner->channel, WIRE_ENDED, j->call, err);
	}
	if (j->client >= 0) {
		supervisor_direct_send_error(j, err);
		j->error = *err;
	} else if (call != 0) {
		supervisor_send_error(j->owner->channel, WIRE_ERROR, call, err);
	} else {
		report_end(j, err->message);
	}
}

static void report_status(const struct job *j, const struct corral_result *result) {
	char how[64];

	(void)snprintf(how, sizeof how, "ended with status %d (%s)", corral_result_status(result),
		       corral_result_reason(result));
	report_end(j, how);
}

void jobs_report_limit(const struct job *j, const struct corral_result *result) {
	const char *reason = corral_result_reason(result);

	if (streq(reason, "oom") || streq(reason, "limit")) {
		char text[256];
		(void)snprintf(text, sizeof text, "command %u was ended by %s", j->call,
			       corral_result_ending(result));
		supervisor_send(j->owner->channel, WIRE_ACTIVITY, 0,
				json_pack("{s:s, s:s}", "kind", "limit", "text", text));
	}
}

/* {"status", "reason", "notes"}, a NUL, and the result object: the daemon passes both on without
 * reading them. */
static void result_texts(const struct job *job, struct buf *out, const struct corral_result *result,
			 const char *text) {
	struct emit j;
	char lost[LOST_NOTE];

	emit_init(&j, out, false);
	emit_object(&j, NULL);
	emit_int(&j, "status", lost_status(result, lost));
	emit_string(&j, "reason", corral_result_reason(result));
	emit_array(&j, "notes");
	note(&j, "ended by ", corral_result_ending(result));
	note(&j, "hint: ", corral_result_hint(result));
	note(&j, "", lost);
	note(&j, "", supervisor_stopped(job->owner));
	emit_end_array(&j);
	emit_end_object(&j);
	buf_add(out, "", 1);
	buf_add(out, text, strlen(text));
}

static void send_result(const struct job *j, enum wire_kind kind, uint32_t call,
			const struct corral_result *result) {
	struct corral_error err = {0};
	auto_free char *text = NULL;
	struct buf out;

	if (corral_result_json(result, &text, &err) != 0) {
		supervisor_send_error(j->owner->channel, kind == WIRE_RESULT ? WIRE_ERROR : kind,
				      call, &err);
		return;
	}
	buf_init(&out);
	result_texts(j, &out, result, text);
	if (buf_failed(&out)) {
		supervisor_send_refusal(j->owner->channel, call, CORRAL_E_MEMORY, "out of memory");
	} else {
		supervisor_send_text(j->owner->channel, kind, call, out.data, out.len);
	}
	buf_done(&out);
}

void jobs_send_result(struct job *j, const struct corral_result *result) {
	uint32_t call = call_of(j);

	if (call != j->call) { /* its own client has left it, and got the answer for that */
		send_result(j, WIRE_ENDED, j->call, result);
	}
	if (call == 0) {
		report_status(j, result);
	} else {
		send_result(j, WIRE_RESULT, call, result);
	}
}
