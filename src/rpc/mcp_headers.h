/* SPDX-License-Identifier: Apache-2.0 */
/* The headers of MCP over HTTP.  Only for rpc/mcp_http.c. */
#ifndef CORRAL_RPC_MCP_HEADERS_H
#define CORRAL_RPC_MCP_HEADERS_H

#include "http/server.h"
#include "rpc/token.h"

#include <jansson.h>

/* An error with the id of the message, if it has one. */
void mcp_headers_refuse(struct http_exchange *x, int status, const json_t *message, int code,
			const char *text);
void mcp_headers_refuse_plain(struct http_exchange *x, int status, const char *text);

/* The headers of a stateless message; the version header of another one.  False after the
 * response. */
bool mcp_headers_check(struct http_exchange *x, const json_t *message);
bool mcp_headers_version(struct http_exchange *x, const json_t *message);

/* Whether Accept has this type or its family, or is missing. */
bool mcp_headers_accept(const struct http_request *r, const char *type, const char *family);

/* Whether the version header names a revision without sessions. */
bool mcp_headers_are_stateless(const struct http_exchange *x);

/* Whether the request has the token of the server. */
bool mcp_headers_have_token(const struct http_request *r, const struct token_hash *token);

#endif
