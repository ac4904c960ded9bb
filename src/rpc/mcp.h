/* SPDX-License-Identifier: Apache-2.0 */
/* The Model Context Protocol: revisions, methods and tools of `corral mcp`.
 *
 * One process serves one client on two descriptors.  The main thread reads, answers the short
 * methods and writes; each tool call has a thread.  The policy comes from the command line of the
 * server, and every call derives its own from it:
 *
 *  M1  an argument of a call can only narrow the policy: no tool sets a key that grants anything;
 *  M2  memory is bounded: lines, queued requests, parallel calls and queued output have limits;
 *  M3  when a call ends, is cancelled, or the client is gone, its processes are gone. */
#ifndef CORRAL_RPC_MCP_H
#define CORRAL_RPC_MCP_H

#include "corral.h"

#include "rpc/message.h"

#include <stdbool.h>
#include <stddef.h>

/* Features that not every revision has. */
enum mcp_feature {
	MCP_BATCH = 1,         /* a line may be an array of messages */
	MCP_ANNOTATIONS = 2,   /* of a tool: readOnlyHint, … */
	MCP_PROGRESS_TEXT = 4, /* `message` of a progress notification */
	MCP_STRUCTURED = 8,    /* title, outputSchema, structuredContent */
	MCP_STATELESS = 16,    /* no handshake: each request has its revision in _meta */
};

struct mcp_revision {
	const char *name;
	unsigned features;
};

/* The newest first. */
extern const struct mcp_revision mcp_revisions[];
extern const size_t mcp_revisions_count;

/* NULL when it is not known. */
const struct mcp_revision *mcp_revision_find(const char *name);

/* Names of the revisions with, or without, MCP_STATELESS and both: a new reference. */
json_t *mcp_revision_names(void);

/* The settings of the server; they do not change. */
struct mcp_config {
	const struct corral_policy *policy;
};

/* Serves the client until it closes `in`, or a signal ends the server: 0, or -1 with *err. */
int mcp_serve(const struct mcp_config *config, int in, int out, struct corral_error *err);

#endif
