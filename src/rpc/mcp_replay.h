/* SPDX-License-Identifier: Apache-2.0 */
/* The events of one stream of MCP over HTTP, kept for a client that lost its connection. */
#ifndef CORRAL_RPC_MCP_REPLAY_H
#define CORRAL_RPC_MCP_REPLAY_H

#include "http/server.h"

/* "STREAM-EVENT", both decimal. */
#define MCP_REPLAY_ID 48
/* Of one stream: a result of two output streams of 1 MiB each, and its escapes.  The oldest events
 * go first; the last one is always kept. */
#define MCP_REPLAY_BYTES ((size_t)4 * 1024 * 1024)
/* Of all streams together. */
#define MCP_REPLAY_ALL ((size_t)16 * 1024 * 1024)

struct mcp_event;

struct mcp_replay {
	uint64_t number;         /* of the stream, unique in the server */
	uint64_t next;           /* event */
	struct mcp_event *first; /* the oldest one that is kept */
	struct mcp_event *last;
	size_t bytes;
};

/* Keeps an event, and names it.  Out of memory it is not kept. */
void mcp_replay_add(struct mcp_replay *r, const char *data, size_t len, char id[MCP_REPLAY_ID]);

/* Sends the events after this one. */
void mcp_replay_send(const struct mcp_replay *r, uint64_t after, struct http_exchange *x);

/* false: it has not the form of an id. */
bool mcp_replay_parse(struct http_span id, uint64_t *ret_number, uint64_t *ret_event);

void mcp_replay_done(struct mcp_replay *r);

#endif
