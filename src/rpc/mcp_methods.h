/* SPDX-License-Identifier: Apache-2.0 */
/* The methods of MCP. */
#ifndef CORRAL_RPC_MCP_METHODS_H
#define CORRAL_RPC_MCP_METHODS_H

#include "rpc/mcp_server.h"

/* Answers a request, or starts the call that will; with the lock held.  Sets the revision. */
void mcp_methods_call(struct mcp_server *s, struct mcp_request *request);

#endif
