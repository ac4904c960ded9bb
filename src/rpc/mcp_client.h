/* SPDX-License-Identifier: Apache-2.0 */
/* One client of MCP: the messages that it sends, and where its answers go.
 *
 * The same protocol runs over three transports: stdio (rpc/mcp_server.c), HTTP (rpc/mcp_http.c) and
 * the socket of a session (session/mcp_conn.c).  A transport has a sink for each stream of answers
 * and a table of functions for the calls of tools. */
#ifndef CORRAL_RPC_MCP_CLIENT_H
#define CORRAL_RPC_MCP_CLIENT_H

#include "rpc/mcp_call.h"
#include "rpc/message.h"

/* Where messages go: all that a client gets, or the response to one HTTP request. */
struct mcp_sink {
	/* Queues a message.  last: it is a response, not a notification. */
	void (*put)(struct mcp_sink *sink, const char *line, size_t len, bool last);
	/* The request of this sink gets no response: it was cancelled. */
	void (*end)(struct mcp_sink *sink);
	/* Whether a result, or the progress of a call, of this length can be queued now. */
	bool (*has_room)(const struct mcp_sink *sink, size_t len, bool result);
	/* Memory is out, or a message does not fit: the client cannot be served. */
	void (*fail)(struct mcp_sink *sink);
	/* The status of an HTTP response that has only this message; 0: 200. */
	int status;
};

/* The responses to a batch, which are sent together. */
struct mcp_batch {
	struct mcp_sink *sink; /* NULL: the client is gone */
	json_t *answers;
	size_t open; /* requests without an answer; 1 more while the batch is read */
};

struct mcp_client;

struct mcp_request {
	struct mcp_client *client;
	struct mcp_sink *sink;
	const struct message *message;
	json_t *root;
	size_t bytes;
	const struct mcp_revision *revision;
	struct mcp_batch *batch;
};

/* The calls of a client, as its transport runs them. */
struct mcp_calls {
	/* Starts a call, or lets it wait: 0, or -1 with *fault. */
	int (*begin)(const struct mcp_request *request, const struct mcp_tool *tool,
		     struct message_fault *fault);
	/* Whether a call with this id is open. */
	bool (*has)(const struct mcp_client *client, const json_t *id);
	/* Ends the call with this id without a response. */
	void (*cancel)(struct mcp_client *client, const json_t *id);
};

struct mcp_client {
	const struct mcp_calls *calls;
	void *owner;                       /* the transport's */
	const char *tools;                 /* of --tools; NULL: all */
	const char *instructions;          /* for the model */
	const struct mcp_revision *agreed; /* by initialize; NULL: none yet */
};

/* Takes a line: a message or a batch. */
void mcp_client_line(struct mcp_client *client, struct mcp_sink *sink, const char *line,
		     size_t len);
/* The same, parsed. */
void mcp_client_value(struct mcp_client *client, struct mcp_sink *sink, json_t *value, size_t len);
/* Answers a line that could not be read. */
void mcp_client_refuse(struct mcp_sink *sink, int code, const char *text);

/* Sends a message, or adds it to the batch; steals it. */
void mcp_client_send(struct mcp_sink *sink, struct mcp_batch *batch, json_t *message);
/* A request of the batch is answered, or never will be. */
void mcp_client_close_one(struct mcp_batch *batch);

/* A result with the members that the revision demands; steals it. */
json_t *mcp_client_result(const struct mcp_revision *revision, json_t *result);

/* The `result` of a call, from the reply of its tool: a new reference; NULL out of memory. */
json_t *mcp_client_reply(const struct mcp_revision *revision, const struct mcp_reply *reply);

/* ---- mcp_methods.c ---- */

/* Answers a request, or starts the call that will.  Sets the revision. */
void mcp_methods_call(struct mcp_request *request);

/* The member of _meta that names the revision of a stateless request; NULL: none. */
const json_t *mcp_methods_version(const json_t *params);

#endif
