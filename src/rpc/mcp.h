/* SPDX-License-Identifier: Apache-2.0 */
/* The Model Context Protocol: revisions, settings and the server of `corral mcp`.
 *
 * One process serves one client on two descriptors.  The main thread reads, answers the short
 * methods and writes; each tool call has a thread.  The policy comes from the command line of the
 * server, and every call derives its own from it:
 *
 *  M1  an argument of a call can only narrow the policy: no tool sets a key that grants anything;
 *  M2  memory is bounded: lines, waiting calls, parallel calls and queued output have limits;
 *  M3  when a call ends or is cancelled, or the client is gone, its processes are gone. */
#ifndef CORRAL_RPC_MCP_H
#define CORRAL_RPC_MCP_H

#include "corral.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Features that not every revision has. */
enum mcp_feature {
	MCP_BATCH = 1,         /* a line may be an array of messages */
	MCP_ANNOTATIONS = 2,   /* of a tool: readOnlyHint, … */
	MCP_PROGRESS_TEXT = 4, /* `message` of a progress notification */
	MCP_STRUCTURED = 8,    /* title, outputSchema, structuredContent */
	MCP_STATELESS = 16,    /* no handshake: each request has its revision in _meta */
	MCP_RESUME = 32,       /* HTTP: a stream can be resumed with Last-Event-ID */
	MCP_PRIMES = 64,       /* and begins with an event that has only an id */
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

/* The newest revision with a handshake: for a client that wants an unknown one. */
const struct mcp_revision *mcp_revision_fallback(void);

/* The names of all: a new reference. */
json_t *mcp_revision_names(void);

/* How a finding of the leak scanner is treated, as scan.args and scan.output have it. */
enum mcp_leak { MCP_LEAK_PASS, MCP_LEAK_REDACT, MCP_LEAK_REFUSE };

/* The settings of the server; they do not change while it runs. */
struct mcp_config {
	const struct corral_policy *policy;
	struct corral_session *session; /* in which the commands run; NULL: each in a new sandbox */
	const char *shell;              /* of the tool `shell`; NULL: /bin/sh */
	const char *tools;              /* names with commas between; NULL: all */
	char *start;                    /* the directory in which commands start; owned */
	char *instructions;             /* for the model; owned */
	json_t *warnings;               /* of the plan, as a run prints them; owned */
	int64_t timeout_ms;             /* the longest of a call; -1: none */
	enum mcp_leak args, output;
	struct corral_scanner *scanner; /* for the file tools; owned; NULL: none is needed */
};

/* Reads the resolved policy, so that a wrong one fails before the first message. */
int mcp_config_init(struct mcp_config *config, struct corral_error *err);
void mcp_config_done(struct mcp_config *config);

/* Serves the client until it closes `in`, or a signal ends the server: 0, or -1 with *err. */
int mcp_serve(const struct mcp_config *config, int in, int out, struct corral_error *err);

#endif
