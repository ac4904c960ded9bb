/* SPDX-License-Identifier: Apache-2.0 */
/* The headers of MCP over HTTP, and the answers to requests that have wrong ones.
 *
 * Should:   compare each header that repeats a part of the message with it.
 * Must not: start or end anything.
 * Fails:    with an HTTP status and a JSON-RPC error. */
#include "rpc/mcp_headers.h"

#include "base/auto.h"
#include "rpc/mcp_server.h"

#include <sodium.h>
#include <string.h>

#define JSON_TYPE "application/json"

/* Codes of errors: the first is of 2026-07-28, the others are those of the SDKs. */
enum { HEADER_MISMATCH = -32020, UNSUPPORTED_VERSION = -32022, BAD_SESSION = -32000 };

/* ---- errors ---- */

/* An error with the id of the message, if it has one. */
void mcp_headers_refuse(struct http_exchange *x, int status, const json_t *message, int code,
			const char *text) {
	const json_t *id = json_object_get(message, "id");
	bool good = json_is_string(id) || json_is_integer(id);
	json_t *data = code == UNSUPPORTED_VERSION
			       ? json_pack("{s:o}", "supported", mcp_revision_names())
			       : NULL;
	json_t *answer = message_error(good ? id : NULL, code, text, data);
	size_t len = 0;
	auto_free char *line = answer == NULL ? NULL : message_format(answer, &len);

	json_decref(answer);
	http_exchange_reply(x, status, line == NULL ? NULL : JSON_TYPE, line, len);
}

void mcp_headers_refuse_plain(struct http_exchange *x, int status, const char *text) {
	mcp_headers_refuse(x, status, NULL, BAD_SESSION, text);
}

/* ---- headers ---- */

static const struct mcp_revision *revision_of(struct http_span name) {
	for (size_t i = 0; i < mcp_revisions_count; i++) {
		if (http_span_exactly(name, mcp_revisions[i].name)) {
			return &mcp_revisions[i];
		}
	}
	return NULL;
}

/* Whether the header has this value, which may be in base64: =?base64?…?=.  */
static bool header_is(struct http_span header, const char *value) {
	static const char begin[] = "=?base64?", end[] = "?=";
	const size_t first = sizeof begin - 1, last = sizeof end - 1;

	if (header.len < first + last || memcmp(header.at, begin, first) != 0 ||
	    memcmp(header.at + header.len - last, end, last) != 0) {
		return http_span_exactly(header, value);
	}
	auto_free char *text = strndup((const char *)header.at + first, header.len - first - last);
	size_t len = 0;
	auto_free char *bytes = text == NULL ? NULL : mcp_text_decode(text, &len);
	return bytes != NULL && len == strlen(value) && memcmp(bytes, value, len) == 0;
}

/* One header that repeats a part of the message. */
static bool header_agrees(const struct http_request *r, const char *name, const char *value,
			  bool missing) {
	struct http_span header;
	int n = http_request_field(r, name, &header);

	return n == 0 ? missing : n == 1 && header_is(header, value);
}

/* The headers of a stateless message.  False after the response to one with a wrong header.  A
 * message of a revision that the server does not have needs none: its error says so. */
bool mcp_headers_check(struct http_exchange *x, const json_t *message) {
	const struct http_request *r = http_exchange_request(x);
	const json_t *params = json_object_get(message, "params");
	const char *version = json_string_value(mcp_methods_version(params));
	const char *method = json_string_value(json_object_get(message, "method"));
	const char *name = json_string_value(json_object_get(params, "name"));
	const struct mcp_revision *known = version == NULL ? NULL : mcp_revision_find(version);
	bool free_of_headers = json_object_get(message, "id") == NULL || known == NULL ||
			       (known->features & MCP_STATELESS) == 0;

	if (version == NULL || method == NULL) {
		return true; /* mcp_methods.c refuses it */
	}
	const char *wrong = NULL;
	if (!header_agrees(r, "mcp-protocol-version", version, free_of_headers)) {
		wrong = "the header MCP-Protocol-Version has to be the protocolVersion of _meta";
	} else if (!header_agrees(r, "mcp-method", method, free_of_headers)) {
		wrong = "the header Mcp-Method has to be the method of the message";
	} else if (strcmp(method, "tools/call") == 0 && name != NULL &&
		   !header_agrees(r, "mcp-name", name, free_of_headers)) {
		wrong = "the header Mcp-Name has to be the name of the tool";
	}
	if (wrong != NULL) {
		mcp_headers_refuse(x, 400, message, HEADER_MISMATCH, wrong);
	}
	return wrong == NULL;
}

/* The version header of a message without _meta.  False after the response. */
bool mcp_headers_version(struct http_exchange *x, const json_t *message) {
	struct http_span header;
	int n = http_request_field(http_exchange_request(x), "mcp-protocol-version", &header);
	const struct mcp_revision *revision = n == 1 ? revision_of(header) : NULL;

	if (n == 0 || (revision != NULL && (revision->features & MCP_STATELESS) == 0)) {
		return true;
	}
	if (revision == NULL) {
		mcp_headers_refuse(x, 400, message, UNSUPPORTED_VERSION,
				   "Unsupported protocol version");
	} else if (json_object_get(message, "id") == NULL) {
		http_exchange_reply(x, 202, NULL, NULL, 0); /* it needs no session, nor _meta */
	} else {
		mcp_headers_refuse(x, 400, message, MESSAGE_INVALID_PARAMS,
				   "a request of this revision needs protocolVersion and "
				   "clientCapabilities in "
				   "_meta");
	}
	return false;
}

bool mcp_headers_accept(const struct http_request *r, const char *type, const char *family) {
	bool has = false;
	bool named = http_request_lists(r, "accept", type, &has);

	return !has || named || http_request_lists(r, "accept", "*/*", NULL) ||
	       http_request_lists(r, "accept", family, NULL);
}

bool mcp_headers_are_stateless(const struct http_exchange *x) {
	struct http_span header;
	const struct mcp_revision *revision =
		http_request_field(http_exchange_request(x), "mcp-protocol-version", &header) == 1
			? revision_of(header)
			: NULL;

	return revision != NULL && (revision->features & MCP_STATELESS) != 0;
}

bool mcp_headers_have_token(const struct http_request *r, const struct token_hash *token) {
	char text[TOKEN_TEXT_LENGTH + 1] = "";
	struct http_span given;
	struct token_hash hash;

	if (http_check_bearer(r, &given) && given.len == TOKEN_TEXT_LENGTH) {
		memcpy(text, given.at, TOKEN_TEXT_LENGTH);
	}
	bool right = token_hash_text(text, &hash) == 0 && token_hash_equal(&hash, token);
	sodium_memzero(text, sizeof text);
	return right;
}
