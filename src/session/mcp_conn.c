/* SPDX-License-Identifier: Apache-2.0 */
/* MCP on the socket of a session.
 *
 * Should:   serve the same revisions and tools as `corral mcp`, with the session's sandbox.
 * Must not: serve a message of a connection without the scope of the session: each one is
 *           checked, because a token can end (H6).
 * Fails:    closed, with an error response. */
#include "session/mcp_conn.h"

#include "base/auto.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

#define INSTRUCTIONS                                                                               \
	"Your commands run in a session of Corral, one sandbox for all calls: temporary files "    \
	"and "                                                                                     \
	"background processes stay until the session ends. The tool `explain` describes what you " \
	"may do."

/* ---- the sink ---- */

static struct conn *conn_of(const struct mcp_sink *sink) {
	return ((const struct mcp_conn *)sink)->conn;
}

static void sink_put(struct mcp_sink *sink, const char *line, size_t len, bool last) {
	(void)last;
	conn_send_line(conn_of(sink), line, len);
}

static void sink_end(struct mcp_sink *sink) {
	(void)sink; /* the next response follows */
}

static bool sink_has_room(const struct mcp_sink *sink, size_t len, bool result) {
	(void)sink;
	(void)len;
	return result; /* conn_send_line() has the limit */
}

static void sink_fail(struct mcp_sink *sink) {
	conn_of(sink)->closing = true;
}

/* ---- the calls ---- */

static struct call *find_call(const struct mcp_client *client, const json_t *id) {
	const struct conn *c = ((const struct mcp_conn *)client->owner)->conn;

	for (struct call *call = c->live == NULL ? NULL : c->live->calls; call != NULL;
	     call = call->next) {
		if (call->conn == c && call->tool != NULL && call->id != NULL &&
		    json_equal(call->id, id)) {
			return call;
		}
	}
	return NULL;
}

static int calls_begin(const struct mcp_request *request, const struct mcp_tool *tool,
		       struct message_fault *fault) {
	struct conn *c = ((const struct mcp_conn *)request->client->owner)->conn;
	const json_t *params = request->message->params;
	json_t *token = json_object_get(json_object_get(params, "_meta"), "progressToken");
	json_t *arguments = json_object_get(params, "arguments");
	bool progress = json_is_string(token) || json_is_integer(token);
	struct request r = {.conn = c, .id = request->message->id, .live = c->live};
	struct fault f = {0};

	struct call *call = tool_call_send(
		&r, tool->name, arguments == NULL ? json_object() : json_incref(arguments),
		progress, &f);
	if (call == NULL) {
		fault->code = MESSAGE_INTERNAL_ERROR;
		(void)snprintf(fault->text, sizeof fault->text, "%.199s",
			       f.e.what); /* may be cut */
		return -1;
	}
	call->tool->revision = request->revision;
	call->tool->batch = request->batch;
	call->tool->token = progress ? json_incref(token) : NULL;
	return 0;
}

static bool calls_have(const struct mcp_client *client, const json_t *id) {
	return find_call(client, id) != NULL;
}

static void calls_cancel(struct mcp_client *client, const json_t *id) {
	struct call *call = find_call(client, id);

	if (call != NULL && !call->silent) {
		struct wire_message m = {.kind = WIRE_CANCEL, .call = call->number};
		call->silent = true;
		/* As in live_forget(). */
		(void)live_send(call->conn->live, &m);
	}
}

static const struct mcp_calls calls = {
	.begin = calls_begin, .has = calls_have, .cancel = calls_cancel};

/* ---- messages ---- */

bool mcp_conn_takes(const struct conn *c, const json_t *value) {
	const char *method = json_string_value(json_object_get(value, "method"));

	if (!c->of_session ||
	    (c->scope == SCOPE_NONE && method != NULL && streq(method, "session.authenticate"))) {
		return false;
	}
	return c->mcp != NULL || (method != NULL && streq(method, "initialize")) ||
	       mcp_methods_version(json_object_get(value, "params")) != NULL;
}

static int begin(struct conn *c) {
	struct mcp_conn *m = calloc(1, sizeof *m);

	if (m == NULL) {
		return -1;
	}
	*m = (struct mcp_conn){.sink = {.put = sink_put,
					.end = sink_end,
					.has_room = sink_has_room,
					.fail = sink_fail},
			       .client = {.calls = &calls,
					  .owner = m,
					  .tools = c->live->tools,
					  .instructions = INSTRUCTIONS},
			       .conn = c};
	c->mcp = m;
	return 0;
}

void mcp_conn_free(struct conn *c) {
	free(c->mcp);
	c->mcp = NULL;
}

static int check(struct conn *c, struct fault *f) {
	if (c->scope == SCOPE_NONE) {
		(void)fault_set(f, FAULT_NO_TOKEN, "MCP needs the token of the session");
		return err_fix(&f->e, "send session.authenticate with the token first");
	}
	if (c->live == NULL || c->live->state != SESSION_RUNNING) {
		return fault_set(f, FAULT_STATE, "the session has ended, or does not run yet");
	}
	return c->mcp == NULL && begin(c) != 0 ? fault_set(f, FAULT_FAILED, "out of memory") : 0;
}

void mcp_conn_value(struct conn *c, json_t *value, size_t len) {
	struct fault f;
	const json_t *id = json_object_get(value, "id");

	c->daemon->counters.requests++;
	if (check(c, &f) != 0) {
		c->daemon->counters.refused++;
		conn_send_error(c, json_is_string(id) || json_is_integer(id) ? id : NULL, &f);
		return;
	}
	mcp_client_value(&c->mcp->client, &c->mcp->sink, value, len);
}
