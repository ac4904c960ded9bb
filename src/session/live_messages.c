/* SPDX-License-Identifier: Apache-2.0 */
/* The messages of a session's supervisor.
 *
 * Should:   record a change of state before a client reads of it (H1).
 * Must not: trust that a call still waits: its client may have left.
 * Fails:    by an error to the client that waits; a message without one is recorded. */
#include "session/daemon.h"

#include "session/commands.h"
#include "session/mcp_conn.h"
#include "session/wire.h"

#include <jansson.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

/* An error of libcorral in the supervisor. */
static struct fault fault_of(const json_t *error) {
	struct fault f = {.code = FAULT_FAILED};
	const char *what = json_string_value(json_object_get(error, "message"));
	const char *fix = json_string_value(json_object_get(error, "remedy"));
	const char *layer = json_string_value(json_object_get(error, "layer"));

	f.kind = (int)json_integer_value(json_object_get(error, "kind"));
	f.e.sys = (int)json_integer_value(json_object_get(error, "errno"));
	(void)snprintf(f.e.where, sizeof f.e.where, "%s", layer == NULL ? "session" : layer);
	(void)snprintf(f.e.what, sizeof f.e.what, "%s", what == NULL ? "unknown error" : what);
	(void)snprintf(f.e.fix, sizeof f.e.fix, "%s", fix == NULL ? "" : fix);
	return f;
}

static void failed_to_start(struct live *l, const struct wire_message *m) {
	json_t *error = json_loads(m->text, 0, NULL);
	struct fault f = fault_of(error);
	struct call *call = live_find_call(l, 0);

	(void)snprintf(l->reason, sizeof l->reason, "%s", f.e.what);
	if (call != NULL && !call->stops) {
		/* H1: the state is recorded before the client reads the error. */
		live_change_state(l, EVENT_BROKE, l->reason, "");
		live_refuse(l, call, &f);
	}
	json_decref(error);
}

static void became_ready(struct live *l, const struct wire_message *m) {
	json_t *info = json_loads(m->text, 0, NULL);
	const char *level = json_string_value(json_object_get(info, "level"));
	const char *run = json_string_value(json_object_get(info, "run"));
	json_t *warnings = json_object_get(info, "warnings");
	struct call *call = live_find_call(l, 0);

	(void)snprintf(l->run, sizeof l->run, "%s", run == NULL ? "" : run);
	if (l->state == SESSION_STARTING) {
		live_set_limits(l, json_object_get(info, "limits"));
		live_record_resolved(l,
				     json_object_get(info, "resolved")); /* H1: before the answer */
		live_change_state(l, EVENT_READY, "", level == NULL ? "" : level);
		direct_socket_publish(l); /* H9 */
		daemon_activity(l->daemon, l->id, "state", state_name(l->state));
		live_record_warnings(l, warnings);
	}
	if (call != NULL && !call->stops) {
		live_answer(l, call,
			    json_pack("{s:s, s:s, s:s, s:s, s:s, s:O}", "id", l->id, "state",
				      state_name(l->state), "level", level == NULL ? "" : level,
				      "socket", l->socket, "token", l->token, "warnings",
				      warnings));
	}
	sodium_memzero(l->token, sizeof l->token);
	json_decref(info);
}

/* A command's result has two texts: the members of the answer, and the result object. */
static const char *result_object(const struct wire_message *m) {
	size_t head = strlen(m->text);

	return head > 2 && head < m->len && m->text[0] == '{' && m->text[head - 1] == '}' &&
			       m->text[head + 1] == '{' && strchr(m->text, '\n') == NULL &&
			       strchr(m->text + head + 1, '\n') == NULL
		       ? m->text + head + 1
		       : NULL;
}

static void exec_ended(struct live *l, const struct wire_message *m) {
	struct call *call = m->call == 0 ? NULL : live_find_call(l, m->call);
	const char *result = result_object(m);

	if (m->kind == WIRE_RESULT && call != NULL && call->tool == NULL && result != NULL) {
		live_answer_text(l, call, m->text, result); /* the client waits: it comes first */
		commands_finished(l, m->call, result);
		return;
	}
	commands_finished(l, m->call, result == NULL ? m->text : result);
	l->daemon->counters.exec_errors += m->kind == WIRE_ERROR;
	l->reported += call == NULL && m->call != 0; /* of the short way */
	json_t *text = call == NULL ? NULL : json_loads(m->text, JSON_ALLOW_NUL, NULL);
	if (text == NULL) {
		return;
	}
	if (m->kind == WIRE_RESULT && call->tool != NULL) {
		tool_call_ended(l, call, text);
		json_decref(text);
		return;
	}
	if (m->kind == WIRE_RESULT) {
		live_answer(l, call, text);
		return;
	}
	struct fault f = fault_of(text);
	live_refuse(l, call, &f);
	json_decref(text);
}

/* The client of a terminal has its answer, and the command goes on until WIRE_ENDED. */
static void client_detached(struct live *l, const struct wire_message *m) {
	struct call *call = m->call == 0 ? NULL : live_find_call(l, m->call);
	json_t *text = call == NULL ? NULL : json_loads(m->text, JSON_ALLOW_NUL, NULL);

	if (text != NULL) {
		live_answer(l, call, text);
	}
}

static void detached_ended(struct live *l, const struct wire_message *m) {
	const char *result = result_object(m);

	commands_finished(l, m->call, result == NULL ? m->text : result);
}

/* A command of the short way: the daemon learns of it when it has run for a while, or has ended. */
static void exec_started(struct live *l, const struct wire_message *m) {
	json_t *request = json_loads(m->text, JSON_ALLOW_NUL, NULL);

	l->daemon->counters.execs++;
	if (request != NULL) {
		commands_started(l, m->call, request);
	}
	json_decref(request);
}

static void exec_progress(struct live *l, const struct wire_message *m) {
	const struct call *call = m->call == 0 ? NULL : live_find_call(l, m->call);
	json_t *value = json_loads(m->text, JSON_ALLOW_NUL, NULL);

	if (call != NULL && value != NULL) {
		tool_call_progress(l, call, value);
	}
	json_decref(value);
}

void live_take_message(struct live *l, const struct wire_message *m) {
	switch (m->kind) {
	case WIRE_READY:
		became_ready(l, m);
		break;
	case WIRE_FAILED:
		failed_to_start(l, m);
		break;
	case WIRE_STARTED:
		exec_started(l, m);
		break;
	case WIRE_RESULT:
	case WIRE_ERROR:
		exec_ended(l, m);
		break;
	case WIRE_DETACHED:
		client_detached(l, m);
		break;
	case WIRE_ENDED:
		detached_ended(l, m);
		break;
	case WIRE_ACTIVITY:
		live_record_activity(l, m->text);
		break;
	case WIRE_ENDING:
		live_record_ending(l, m->text);
		break;
	case WIRE_DECISIONS:
		commands_decided(l, m->call, m->text);
		break;
	case WIRE_PROGRESS:
		exec_progress(l, m);
		break;
	default:
		break;
	}
}
