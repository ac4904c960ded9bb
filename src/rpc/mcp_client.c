/* SPDX-License-Identifier: Apache-2.0 */
/* Messages and batches of one client.
 *
 * Should:   answer every request once, also a malformed one.
 * Must not: know the transport; run a tool.
 * Fails:    by the sink's fail(); a bad message is answered and costs nothing else. */
#include "rpc/mcp_client.h"

#include "base/auto.h"
#include "base/str.h"

#include <stdlib.h>
#include <string.h>

/* ---- answers ---- */

static void queue(struct mcp_sink *sink, const json_t *message) {
	size_t len = 0;
	auto_free char *line = message_format(message, &len);

	if (line == NULL) {
		sink->fail(sink);
		return;
	}
	sink->put(sink, line, len,
		  json_is_array(message) || json_object_get(message, "method") == NULL);
}

void mcp_client_close_one(struct mcp_batch *batch) {
	if (batch == NULL || --batch->open > 0) {
		return;
	}
	if (batch->sink != NULL && json_array_size(batch->answers) > 0) {
		queue(batch->sink, batch->answers);
	} else if (batch->sink != NULL) {
		batch->sink->end(batch->sink);
	}
	json_decref(batch->answers);
	free(batch);
}

void mcp_client_send(struct mcp_sink *sink, struct mcp_batch *batch, json_t *message) {
	if (batch == NULL) {
		queue(sink, message);
		json_decref(message);
		return;
	}
	if ((message == NULL || json_array_append_new(batch->answers, message) != 0) &&
	    batch->sink != NULL) {
		batch->sink->fail(batch->sink);
		batch->sink = NULL;
	}
	mcp_client_close_one(batch);
}

/* ---- messages ---- */

static void take_notification(struct mcp_client *client, const struct message *message) {
	const json_t *id = json_object_get(message->params, "requestId");

	if (streq(message->method, "notifications/cancelled") && id != NULL) {
		client->calls->cancel(client, id);
	}
}

/* Where the messages of one line go. */
struct target {
	struct mcp_client *client;
	struct mcp_sink *sink;
	struct mcp_batch *batch; /* it has counted the message; or NULL */
};

static void take_message(const struct target *to, json_t *value, size_t bytes) {
	struct message message;
	struct message_fault fault = {0};

	if (message_read(value, &message, &fault) != 0) {
		to->sink->status = 400;
		mcp_client_send(to->sink, to->batch,
				message_error(message.id, fault.code, fault.text, NULL));
		return;
	}
	if (message.kind == MESSAGE_REQUEST) {
		struct mcp_request request = {.client = to->client,
					      .sink = to->sink,
					      .message = &message,
					      .root = value,
					      .bytes = bytes,
					      .batch = to->batch};
		mcp_methods_call(&request);
		return;
	}
	if (message.kind == MESSAGE_NOTIFICATION) {
		take_notification(to->client, &message);
	}
	if (to->batch == NULL) {
		to->sink->end(to->sink);
	}
	mcp_client_close_one(to->batch);
}

static void take_batch(struct mcp_client *client, struct mcp_sink *sink, const json_t *values,
		       size_t bytes) {
	struct mcp_batch *batch = calloc(1, sizeof *batch);
	size_t n = json_array_size(values);

	if (batch != NULL) {
		*batch = (struct mcp_batch){.sink = sink, .answers = json_array(), .open = n + 1};
	}
	if (batch == NULL || batch->answers == NULL) {
		sink->fail(sink);
		free(batch);
		return;
	}
	const struct target to = {client, sink, batch};
	for (size_t i = 0; i < n; i++) {
		take_message(&to, json_array_get(values, i), bytes / n);
	}
	mcp_client_close_one(batch);
}

void mcp_client_refuse(struct mcp_sink *sink, int code, const char *text) {
	sink->status = 400;
	mcp_client_send(sink, NULL, message_error(NULL, code, text, NULL));
}

void mcp_client_value(struct mcp_client *client, struct mcp_sink *sink, json_t *value, size_t len) {
	const struct target to = {client, sink, NULL};

	if (!json_is_array(value)) {
		take_message(&to, value, len);
	} else if (client->agreed == NULL || (client->agreed->features & MCP_BATCH) == 0) {
		mcp_client_refuse(sink, MESSAGE_INVALID_REQUEST,
				  "this revision of the protocol has no batches");
	} else if (json_array_size(value) == 0) {
		mcp_client_refuse(sink, MESSAGE_INVALID_REQUEST, "the batch is empty");
	} else {
		take_batch(client, sink, value, len);
	}
}

void mcp_client_line(struct mcp_client *client, struct mcp_sink *sink, const char *line,
		     size_t len) {
	struct message_fault fault;
	json_t *value = message_parse(line, len, &fault);

	if (value == NULL) {
		mcp_client_refuse(sink, fault.code, fault.text);
		return;
	}
	mcp_client_value(client, sink, value, len);
	json_decref(value);
}

/* ---- the result of a call ---- */

json_t *mcp_client_reply(const struct mcp_revision *revision, const struct mcp_reply *reply) {
	bool failed = buf_failed(&reply->text) || (reply->data == NULL && !reply->error);
	const char *words = reply->text.len == 0 ? "" : reply->text.data;
	json_t *content = failed ? NULL
				 : json_pack("[{s:s, s:o}]", "type", "text", "text",
					     mcp_text_value(words, reply->text.len));

	if (content == NULL) {
		return NULL;
	}
	if (reply->content != NULL) {
		(void)json_array_extend(content, reply->content);
	}
	json_t *result = json_pack("{s:o, s:b}", "content", content, "isError", (int)reply->error);
	if (reply->data != NULL && (revision->features & MCP_STRUCTURED) != 0) {
		(void)json_object_set(result, "structuredContent", reply->data);
	}
	return mcp_client_result(revision, result);
}
