/* SPDX-License-Identifier: Apache-2.0 */
/* The tools of MCP in a session, as its supervisor calls them. */
#ifndef CORRAL_SESSION_SUPERVISOR_TOOL_H
#define CORRAL_SESSION_SUPERVISOR_TOOL_H

#include "rpc/mcp.h"

#include <pthread.h>
#include <stdint.h>

/* Their settings; made for the first call. */
struct session_tools {
	pthread_mutex_t lock;
	bool ready;
	struct mcp_config config; /* policy and session are set before the first call */
};

struct session_tool_call {
	uint32_t number;       /* key of corral_session_kill() */
	const json_t *request; /* {"tool": name, "arguments": {…}, "progress": bool} */
	/* Gets {"count": bytes so far, "text": …} as output comes; steals it. */
	void (*progress)(void *arg, json_t *value);
	void *arg;
	void (*output)(void *arg, const char *bytes, size_t len); /* all of it; or NULL */
	void *output_arg;
};

/* {"text", "error", "data", "content"}: a new reference; NULL out of memory. */
json_t *session_tools_call(struct session_tools *t, const struct session_tool_call *c);

#endif
