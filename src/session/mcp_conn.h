/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of tools in a session, for JSON-RPC clients (file.read, …) and for MCP on its socket.
 *
 * A connection to the socket of a session speaks MCP from the first message that belongs to it:
 * initialize, or one with a protocol version in _meta.  A client outside sends
 * session.authenticate before that.  The daemon answers the short methods; a call of a tool runs in
 * the supervisor (session/supervisor_tool.c), as a command does. */
#ifndef CORRAL_SESSION_MCP_CONN_H
#define CORRAL_SESSION_MCP_CONN_H

#include "rpc/mcp_client.h"
#include "session/daemon.h"

/* The client of a connection that speaks MCP. */
struct mcp_conn {
	struct mcp_sink sink;
	struct mcp_client client;
	struct conn *conn;
};

/* A call of a tool, besides its struct call. */
struct tool_call {
	const struct mcp_revision *revision; /* NULL: of a JSON-RPC client */
	json_t *token;                       /* of progress, or NULL */
	struct mcp_batch *batch;             /* or NULL */
};

/* Whether the message is one of MCP, or the connection speaks it already. */
bool mcp_conn_takes(const struct conn *c, const json_t *value);
void mcp_conn_value(struct conn *c, json_t *value, size_t len);
void mcp_conn_free(struct conn *c);

/* The supervisor has the result of a call (a reply of session_tools_call()), or an error. */
void tool_call_ended(struct live *l, struct call *call, const json_t *reply);
void tool_call_failed(struct call *call, const struct fault *f);
void tool_call_progress(struct live *l, const struct call *call, const json_t *progress);
/* The client is gone. */
void tool_call_forget(struct call *call);
void tool_call_free(struct tool_call *t);

/* Sends a call to the supervisor; steals arguments. */
struct call *tool_call_send(struct request *r, const char *tool, json_t *arguments, bool progress,
			    struct fault *f);

#endif
