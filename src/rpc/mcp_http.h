/* SPDX-License-Identifier: Apache-2.0 */
/* The MCP server on http://127.0.0.1:PORT/mcp. */
#ifndef CORRAL_RPC_MCP_HTTP_H
#define CORRAL_RPC_MCP_HTTP_H

#include "rpc/mcp.h"
#include "rpc/token.h"

struct mcp_http {
	uint16_t port; /* 0: a free one */
	const struct token_hash *token;
	void (*ready)(void *arg, uint16_t port); /* the server listens */
	void *arg;
};

/* Serves clients until a signal ends the server: 0, or -1 with *err. */
int mcp_http_serve(const struct mcp_config *config, const struct mcp_http *how,
		   struct corral_error *err);

#endif
