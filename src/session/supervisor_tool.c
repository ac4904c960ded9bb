/* SPDX-License-Identifier: Apache-2.0 */
/* Calls a tool of MCP in the supervisor of a session.
 *
 * Should:   send output as it comes, at a bounded rate, and keep no more of it than one piece.
 * Must not: read a policy but the session's.
 * Fails:    with a result that is an error, for the client. */
#include "session/supervisor_tool.h"

#include "base/auto.h"
#include "base/clock.h"
#include "rpc/mcp_call.h"

#include <string.h>

/* In each second so many pieces go at once; more wait for the next piece of output after it. */
#define PROGRESS_PER_SECOND 20
#define PROGRESS_BYTES ((size_t)16 * 1024)

struct running {
	const struct session_tool_call *c;
	struct buf pending; /* the newest bytes that were not sent */
	uint64_t count;
	int64_t second; /* the first piece of this second */
	int sent;       /* pieces since then */
	bool progress;  /* the client wants it */
};

static void drop(struct buf *b, size_t n) {
	memmove(b->data, b->data + n, b->len - n);
	b->len -= n;
}

static void send_pending(struct running *r) {
	size_t whole =
		buf_failed(&r->pending) ? 0 : mcp_text_whole(r->pending.data, r->pending.len);

	if (whole == 0) {
		return;
	}
	r->c->progress(r->c->arg, json_pack("{s:I, s:o}", "count", (json_int_t)r->count, "text",
					    mcp_text_value(r->pending.data, whole)));
	drop(&r->pending, whole);
	r->sent++;
}

static void take_output(void *arg, const char *bytes, size_t len) {
	struct running *r = arg;
	int64_t now = clock_ms();

	if (r->c->output != NULL) {
		r->c->output(r->c->output_arg, bytes, len);
	}
	if (!r->progress) {
		return;
	}
	r->count += len;
	if (len > PROGRESS_BYTES) {
		bytes += len - PROGRESS_BYTES;
		len = PROGRESS_BYTES;
	}
	if (r->pending.len + len > PROGRESS_BYTES) {
		drop(&r->pending, r->pending.len + len - PROGRESS_BYTES);
	}
	buf_add(&r->pending, bytes, len);
	if (now - r->second >= 1000) {
		r->second = now;
		r->sent = 0;
	}
	if (r->sent < PROGRESS_PER_SECOND) {
		send_pending(r);
	}
}

static int prepare(struct session_tools *t, struct corral_error *err) {
	int rc = 0;

	(void)pthread_mutex_lock(&t->lock);
	if (!t->ready) {
		rc = mcp_config_init(&t->config, err);
		t->ready = rc == 0;
	}
	(void)pthread_mutex_unlock(&t->lock);
	return rc;
}

static json_t *reply_json(struct mcp_reply *reply) {
	bool failed = buf_failed(&reply->text) || (reply->data == NULL && !reply->error);
	const char *words = reply->text.len == 0 ? "" : reply->text.data;

	return failed ? NULL
		      : json_pack("{s:o, s:b, s:O?, s:O?}", "text",
				  mcp_text_value(words, reply->text.len), "error",
				  (int)reply->error, "data", reply->data, "content",
				  reply->content);
}

json_t *session_tools_call(struct session_tools *t, const struct session_tool_call *c) {
	const char *name = json_string_value(json_object_get(c->request, "tool"));
	const struct mcp_tool *tool = name == NULL ? NULL : mcp_tools_find(NULL, name);
	struct mcp_call call = {.config = &t->config,
				.arguments = json_object_get(c->request, "arguments"),
				.cancel = -1,
				.key = c->number};
	struct running r = {.c = c,
			    .progress = json_is_true(json_object_get(c->request, "progress"))};
	struct mcp_reply reply = {.of_session = true};
	struct corral_error err = {0};

	buf_init(&reply.text);
	buf_init(&r.pending);
	if (r.progress || c->output != NULL) {
		call.output = take_output;
		call.output_arg = &r;
	}
	if (tool == NULL) {
		mcp_text_misuse(&reply, "unknown tool");
	} else if (prepare(t, &err) != 0) {
		mcp_text_error(&reply, &err);
	} else {
		tool->call(&call, &reply);
	}
	json_t *value = reply_json(&reply);
	buf_done(&r.pending);
	buf_done(&reply.text);
	json_decref(reply.data);
	json_decref(reply.content);
	return value;
}
