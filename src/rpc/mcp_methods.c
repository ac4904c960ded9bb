/* SPDX-License-Identifier: Apache-2.0 */
/* The table of MCP methods.
 *
 * A request with a protocol version in _meta is stateless (2026-07-28): all that it needs is in it.
 * Any other belongs to the revision of the handshake.  A client may send both.
 *
 * Should:   know for each method in which sort of revision it exists.
 * Must not: serve a client whose revision is not known.
 * Fails:    with an error response. */
#include "rpc/mcp_client.h"

#include "base/auto.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>

#define META "io.modelcontextprotocol/"
#define UNSUPPORTED_VERSION (-32022)
/* The tools never change; a client need not look again while the server runs. */
#define CACHE_MS 3600000

/* One request and, if a method returns NULL, the error; SENT: the response comes later. */
struct exchange {
	struct mcp_client *client;
	struct mcp_request *request;
	struct message_fault fault;
	json_t *data; /* of the error */
	int status;   /* of an HTTP response with the error; 0: 200 */
	bool sent;
};

static json_t *fail(struct exchange *x, int code, const char *text) {
	x->fault.code = code;
	(void)snprintf(x->fault.text, sizeof x->fault.text, "%s", text);
	return NULL;
}

static json_t *server_info(void) {
	return json_pack("{s:s, s:s, s:s}", "name", "corral", "title", "Corral sandbox", "version",
			 CORRAL_VERSION);
}

json_t *mcp_client_result(const struct mcp_revision *revision, json_t *result) {
	if (result == NULL || revision == NULL || (revision->features & MCP_STATELESS) == 0) {
		return result;
	}
	json_t *meta = json_object_get(result, "_meta");
	if (meta == NULL) {
		meta = json_object();
		(void)json_object_set_new(result, "_meta", meta);
	}
	(void)json_object_set_new(meta, META "serverInfo", server_info());
	(void)json_object_set_new(result, "resultType", json_string("complete"));
	return result;
}

static bool is_stateless(const struct exchange *x) {
	return (x->request->revision->features & MCP_STATELESS) != 0;
}

/* A result that a client of a stateless revision may keep. */
static json_t *cacheable(const struct exchange *x, json_t *result) {
	if (is_stateless(x)) {
		(void)json_object_set_new(result, "ttlMs", json_integer(CACHE_MS));
		(void)json_object_set_new(result, "cacheScope", json_string("private"));
	}
	return result;
}

/* ---- the methods ---- */

static json_t *initialize(struct exchange *x) {
	const json_t *wanted = json_object_get(x->request->message->params, "protocolVersion");

	if (!json_is_string(wanted)) {
		return fail(x, MESSAGE_INVALID_PARAMS, "protocolVersion must be a string");
	}
	if (x->client->agreed != NULL) {
		return fail(x, MESSAGE_INVALID_REQUEST, "initialize was sent before");
	}
	const struct mcp_revision *revision = mcp_revision_find(json_string_value(wanted));
	if (revision == NULL || (revision->features & MCP_STATELESS) != 0) {
		revision = mcp_revision_fallback();
	}
	x->client->agreed = x->request->revision = revision;
	return json_pack("{s:s, s:{s:{}}, s:o, s:s}", "protocolVersion", revision->name,
			 "capabilities", "tools", "serverInfo", server_info(), "instructions",
			 x->client->instructions);
}

static json_t *discover(struct exchange *x) {
	return cacheable(x, json_pack("{s:o, s:{s:{}}, s:s}", "supportedVersions",
				      mcp_revision_names(), "capabilities", "tools", "instructions",
				      x->client->instructions));
}

static json_t *ping(struct exchange *x) {
	(void)x;
	return json_object();
}

static json_t *tools_list(struct exchange *x) {
	if (json_object_get(x->request->message->params, "cursor") != NULL) {
		return fail(x, MESSAGE_INVALID_PARAMS, "unknown cursor: the list has one page");
	}
	return cacheable(x, json_pack("{s:o}", "tools",
				      mcp_tools_list(x->client->tools, x->request->revision)));
}

/* A model corrects its arguments if it reads the reason: so that is a result, not an error. */
static json_t *misuse(const struct buf *why) {
	return json_pack("{s:[{s:s, s:s}], s:b}", "content", "type", "text", "text",
			 buf_failed(why) ? "Invalid arguments." : why->data, "isError", 1);
}

static json_t *tools_call(struct exchange *x) {
	const json_t *params = x->request->message->params;
	const json_t *name = json_object_get(params, "name");
	json_t *arguments = json_object_get(params, "arguments");
	const char *list = x->client->tools;
	struct buf why;

	const struct mcp_tool *tool =
		json_is_string(name) ? mcp_tools_find(list, json_string_value(name)) : NULL;
	if (tool == NULL) {
		return fail(x, MESSAGE_INVALID_PARAMS, "unknown tool: tools/list has their names");
	}
	if (arguments != NULL && !json_is_object(arguments)) {
		return fail(x, MESSAGE_INVALID_PARAMS, "arguments must be an object");
	}
	buf_init(&why);
	json_t *refused = mcp_schema_check(tool, arguments, &why) != 0 ? misuse(&why) : NULL;
	buf_done(&why);
	if (refused == NULL && x->client->calls->begin(x->request, tool, &x->fault) == 0) {
		x->sent = true;
	}
	return refused;
}

/* The server has no notifications, so a subscription is acknowledged as empty, and ends. */
static json_t *listen(struct exchange *x) {
	json_t *id = json_deep_copy(x->request->message->id);
	json_t *params =
		json_pack("{s:{s:O}, s:{}}", "_meta", META "subscriptionId", id, "notifications");

	mcp_client_send(x->request->sink, NULL,
			message_notification("notifications/subscriptions/acknowledged", params));
	return json_pack("{s:{s:o}}", "_meta", META "subscriptionId", id);
}

enum { EARLY = 1, LEGACY = 2, STATELESS = 4 };

static const struct {
	const char *name;
	unsigned when; /* EARLY: also before the handshake */
	json_t *(*answer)(struct exchange *x);
} methods[] = {
	{"initialize", EARLY | LEGACY, initialize},
	{"ping", EARLY | LEGACY, ping},
	{"server/discover", STATELESS, discover},
	{"subscriptions/listen", STATELESS, listen},
	{"tools/call", LEGACY | STATELESS, tools_call},
	{"tools/list", LEGACY | STATELESS, tools_list},
};

/* ---- which revision ---- */

const json_t *mcp_methods_version(const json_t *params) {
	return json_object_get(json_object_get(params, "_meta"), META "protocolVersion");
}

/* -1: the request names a revision that cannot be used, or lacks a member that this one demands. */
static int choose_revision(struct exchange *x) {
	const json_t *meta = json_object_get(x->request->message->params, "_meta");
	const json_t *version = mcp_methods_version(x->request->message->params);

	x->request->revision = x->client->agreed;
	if (version == NULL) {
		return 0;
	}
	if (!json_is_string(version)) {
		(void)fail(x, MESSAGE_INVALID_PARAMS, META "protocolVersion must be a string");
		return -1;
	}
	const struct mcp_revision *found = mcp_revision_find(json_string_value(version));
	if (found == NULL || (found->features & MCP_STATELESS) == 0) {
		(void)fail(x, UNSUPPORTED_VERSION, "Unsupported protocol version");
		x->data = json_pack("{s:o, s:O}", "supported", mcp_revision_names(), "requested",
				    version);
		return -1;
	}
	if (!json_is_object(json_object_get(meta, META "clientCapabilities"))) {
		(void)fail(x, MESSAGE_INVALID_PARAMS,
			   META "clientCapabilities must be an object in _meta");
		return -1;
	}
	x->request->revision = found;
	return 0;
}

static json_t *no_method(struct exchange *x, const char *text) {
	x->status = x->request->revision != NULL && is_stateless(x) ? 404 : 0;
	return fail(x, MESSAGE_NO_METHOD, text);
}

static json_t *answer(struct exchange *x) {
	const char *name = x->request->message->method;
	size_t i = 0;

	if (choose_revision(x) != 0) {
		x->status = 400;
		return NULL;
	}
	while (i < ARRAY_LEN(methods) && !streq(methods[i].name, name)) {
		i++;
	}
	const struct mcp_revision *revision = x->request->revision;
	if (i == ARRAY_LEN(methods)) {
		return no_method(x, "Method not found");
	}
	if (revision == NULL && (methods[i].when & EARLY) == 0) {
		return fail(x, MESSAGE_INVALID_PARAMS,
			    "send initialize first, or set " META "protocolVersion in _meta");
	}
	unsigned era = revision == NULL ? EARLY : is_stateless(x) ? STATELESS : LEGACY;
	if ((methods[i].when & era) == 0) {
		return no_method(x, "Method not found in this revision");
	}
	if (x->client->calls->has(x->client, x->request->message->id)) {
		return fail(x, MESSAGE_INVALID_REQUEST, "a request with this id is in progress");
	}
	return methods[i].answer(x);
}

void mcp_methods_call(struct mcp_request *request) {
	struct exchange x = {.client = request->client, .request = request};
	const json_t *id = request->message->id;
	json_t *result = answer(&x);

	if (x.sent) {
		return;
	}
	if (result == NULL && x.fault.code == 0) {
		(void)fail(&x, MESSAGE_INTERNAL_ERROR, "out of memory");
	}
	request->sink->status = x.status;
	mcp_client_send(request->sink, request->batch,
			result != NULL
				? message_result(id, mcp_client_result(request->revision, result))
				: message_error(id, x.fault.code, x.fault.text, x.data));
}
