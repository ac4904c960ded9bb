/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of tools in a session, of JSON-RPC and MCP clients: to the supervisor and back.
 *
 * Should:   answer each call once, in the form of its client's protocol.
 * Must not: check scope or state: session/request.c and session/mcp_conn.c have done that.
 * Fails:    with a fault; nothing was called then. */
#include "session/mcp_conn.h"

#include "base/auto.h"
#include "base/str.h"
#include "session/commands.h"

#include <stdlib.h>
#include <string.h>

/* More progress than this in the queue of a connection, and none is added: the result has it all.
 */
#define PROGRESS_QUEUE ((size_t)1024 * 1024)

void tool_call_free(struct tool_call *t) {
	if (t != NULL) {
		json_decref(t->token);
		free(t);
	}
}

struct call *tool_call_send(struct request *r, const char *tool, json_t *arguments, bool progress,
			    struct fault *f) {
	json_t *value = json_pack("{s:s, s:o, s:b}", "tool", tool, "arguments", arguments,
				  "progress", (int)progress);
	struct wire_message m = {.kind = WIRE_TOOL,
				 .text = value == NULL ? NULL : json_dumps(value, JSON_COMPACT)};
	struct tool_call *t = calloc(1, sizeof *t);

	if (m.text == NULL || t == NULL) {
		json_decref(value);
		free(m.text);
		free(t);
		(void)fault_set(f, FAULT_FAILED, "out of memory");
		return NULL;
	}
	m.len = strlen(m.text);
	struct call *call = method_run_send(r, &m, f);
	session_wire_done(&m);
	if (call == NULL) {
		json_decref(value);
		free(t);
		return NULL;
	}
	commands_started(r->live, call->number, value);
	json_decref(value);
	call->tool = t;
	return call;
}

/* ---- answers ---- */

/* The reply of a tool, as the supervisor sent it. */
static struct mcp_reply reply_of(const json_t *value) {
	struct mcp_reply reply = {.data = json_object_get(value, "data"),
				  .content = json_object_get(value, "content"),
				  .error = json_is_true(json_object_get(value, "error"))};
	const json_t *text = json_object_get(value, "text");

	buf_init(&reply.text);
	buf_add(&reply.text, json_string_value(text), json_string_length(text));
	reply.data = json_is_null(reply.data) ? NULL : reply.data;
	reply.content = json_is_null(reply.content) ? NULL : reply.content;
	return reply;
}

static void answer_mcp(const struct call *call, const json_t *value) {
	const struct tool_call *t = call->tool;
	struct mcp_sink *sink = call->conn == NULL ? NULL : &call->conn->mcp->sink;
	struct mcp_reply reply = reply_of(value);
	json_t *result = mcp_client_reply(t->revision, &reply);

	buf_done(&reply.text);
	if (call->conn == NULL || call->silent) {
		json_decref(result);
		mcp_client_close_one(t->batch);
		return;
	}
	mcp_client_send(sink, t->batch,
			result != NULL ? message_result(call->id, result)
				       : message_error(call->id, MESSAGE_INTERNAL_ERROR,
						       "out of memory", NULL));
}

/* The content of send_file, which has no data of its own for a JSON-RPC client. */
static json_t *plain_result(const struct mcp_reply *reply) {
	json_t *result = reply->data == NULL ? json_object() : json_deep_copy(reply->data);

	if (reply->content != NULL) {
		(void)json_object_set(result, "content", reply->content);
	}
	return result;
}

static void answer_plain(const struct call *call, const json_t *value) {
	struct mcp_reply reply = reply_of(value);
	struct fault f;

	if (reply.error) {
		(void)fault_set(&f, FAULT_FAILED, "%s",
				reply.text.data == NULL ? "" : reply.text.data);
		conn_send_error(call->conn, call->id, &f);
	} else {
		conn_send(call->conn, message_result(call->id, plain_result(&reply)));
	}
	buf_done(&reply.text);
}

void tool_call_ended(struct live *l, struct call *call, const json_t *reply) {
	if (call->tool->revision != NULL) {
		answer_mcp(call, reply);
	} else if (call->conn != NULL && call->id != NULL) {
		answer_plain(call, reply);
	}
	live_drop_call(l, call);
}

void tool_call_failed(struct call *call, const struct fault *f) {
	json_t *reply = json_pack("{s:s, s:b}", "text", f->e.what, "error", 1);

	answer_mcp(call, reply);
	json_decref(reply);
}

void tool_call_progress(struct live *l, const struct call *call, const json_t *progress) {
	const struct tool_call *t = call->tool;

	(void)l;
	if (t == NULL || t->token == NULL || call->conn == NULL || call->silent ||
	    frame_queued(&call->conn->out) > PROGRESS_QUEUE) {
		return;
	}
	json_t *params = json_pack("{s:O, s:O}", "progressToken", t->token, "progress",
				   json_object_get(progress, "count"));
	if ((t->revision->features & MCP_PROGRESS_TEXT) != 0) {
		(void)json_object_set(params, "message", json_object_get(progress, "text"));
	}
	mcp_client_send(&call->conn->mcp->sink, NULL,
			message_notification("notifications/progress", params));
}

void tool_call_forget(struct call *call) {
	if (call->tool != NULL && call->tool->batch != NULL) {
		call->tool->batch->sink = NULL;
	}
}
