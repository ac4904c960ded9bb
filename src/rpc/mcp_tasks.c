/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of tools: one thread each, a queue, cancellation, progress.
 *
 * Should:   run MCP_PARALLEL calls at once, in the order of their requests; send the response of
 *           a call exactly once, or never after a cancellation.
 * Must not: hold the lock while a tool works.
 * Fails:    closed: a call whose thread cannot be created is answered with an error. */
#include "rpc/mcp_server.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/fd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Progress is sent at most this often. */
#define PROGRESS_MS 100
/* The newest bytes of output that wait for the next progress. */
#define PROGRESS_BYTES ((size_t)16 * 1024)

/* ---- progress ---- */

static void progress_drop(struct buf *b, size_t n) {
	memmove(b->data, b->data + n, b->len - n);
	b->len -= n;
}

static void progress_send(struct mcp_task *t, int64_t now) {
	struct mcp_progress *p = &t->progress;
	size_t whole = mcp_text_whole(p->pending.data, p->pending.len);
	bool words = (t->revision->features & MCP_PROGRESS_TEXT) != 0;

	if (whole == 0 || !t->sink->has_room(t->sink, whole, false)) {
		return;
	}
	json_t *params = json_pack("{s:O, s:I}", "progressToken", p->token, "progress",
				   (json_int_t)p->count);
	if (words) {
		(void)json_object_set_new(params, "message",
					  mcp_text_value(p->pending.data, whole));
	}
	mcp_client_send(t->sink, NULL, message_notification("notifications/progress", params));
	progress_drop(&p->pending, whole);
	p->sent_ms = now;
}

/* Milliseconds until the progress of this call is due; -1: nothing is pending. */
static int progress_due(const struct mcp_task *t, int64_t now) {
	int64_t left = t->progress.sent_ms + PROGRESS_MS - now;

	if (t->progress.token == NULL || t->progress.pending.len == 0 || t->cancelled ||
	    !t->sink->has_room(t->sink, t->progress.pending.len, false)) {
		return -1;
	}
	return left < 0 ? 0 : (int)left;
}

static void wake(struct mcp_server *s) {
	uint64_t one = 1;

	(void)!write(s->wake, &one, sizeof one); /* a full counter wakes as well */
}

/* In the call's thread: output of its command. */
static void take_output(void *arg, const char *bytes, size_t len) {
	struct mcp_task *t = arg;
	struct mcp_progress *p = &t->progress;

	(void)pthread_mutex_lock(&t->server->lock);
	p->count += len;
	if (len > PROGRESS_BYTES) {
		bytes += len - PROGRESS_BYTES;
		len = PROGRESS_BYTES;
	}
	if (p->pending.len + len > PROGRESS_BYTES) {
		progress_drop(&p->pending, p->pending.len + len - PROGRESS_BYTES);
	}
	buf_add(&p->pending, bytes, len);
	if (progress_due(t, clock_ms()) == 0 && !buf_failed(&p->pending)) {
		progress_send(t, clock_ms());
	}
	wake(t->server);
	(void)pthread_mutex_unlock(&t->server->lock);
}

/* ---- the thread ---- */

static json_t *answer_of(const struct mcp_task *t) {
	struct mcp_reply reply = {0};

	buf_init(&reply.text);
	t->tool->call(&t->call, &reply);
	json_t *result = mcp_client_reply(t->revision, &reply);
	buf_done(&reply.text);
	json_decref(reply.data);
	json_decref(reply.content);
	return result != NULL ? message_result(t->id, result)
			      : message_error(t->id, MESSAGE_INTERNAL_ERROR, "out of memory", NULL);
}

/* Queues the response when the client has read enough of the others.  A cancelled call has no sink
 * any more if its client is gone. */
static void send_line(struct mcp_task *t, const char *line, size_t len) {
	struct mcp_server *s = t->server;
	bool fits = line != NULL && len < MCP_QUEUE_RESULTS;

	while (fits && !s->closing && !t->cancelled && !t->sink->has_room(t->sink, len, true)) {
		(void)pthread_cond_wait(&s->room, &s->lock);
	}
	if (t->cancelled || s->closing) {
		return;
	}
	if (fits) {
		t->sink->put(t->sink, line, len, true);
		return;
	}
	mcp_client_send(t->sink, NULL,
			message_error(t->id, MESSAGE_INTERNAL_ERROR,
				      "the result is too large for one message", NULL));
}

static void *task_main(void *arg) {
	struct mcp_task *t = arg;
	json_t *answer = answer_of(t);
	size_t len = 0;
	auto_free char *line = t->batch == NULL ? message_format(answer, &len) : NULL;

	(void)pthread_mutex_lock(&t->server->lock);
	t->progress.pending.len = 0; /* the response has all of it */
	if (t->batch == NULL) {
		send_line(t, line, len);
	} else if (t->cancelled) {
		mcp_client_close_one(t->batch);
	} else {
		mcp_client_send(t->sink, t->batch, json_incref(answer));
	}
	t->state = MCP_TASK_ENDED;
	json_decref(answer);
	wake(t->server);
	(void)pthread_mutex_unlock(&t->server->lock);
	return NULL;
}

/* ---- the queue ---- */

static void task_free(struct mcp_task *t) {
	drop_fd(&t->call.cancel);
	buf_done(&t->progress.pending);
	json_decref(t->root);
	free(t);
}

static struct mcp_task *task_new(const struct mcp_request *request, const struct mcp_tool *tool) {
	struct mcp_server *s = request->client->owner;
	struct mcp_task *t = calloc(1, sizeof *t);
	const json_t *params = request->message->params;
	json_t *token = json_object_get(json_object_get(params, "_meta"), "progressToken");

	if (t == NULL) {
		return NULL;
	}
	*t = (struct mcp_task){.server = s,
			       .client = request->client,
			       .sink = request->sink,
			       .tool = tool,
			       .revision = request->revision,
			       .root = json_incref(request->root),
			       .id = request->message->id,
			       .bytes = request->bytes,
			       .batch = request->batch};
	t->call = (struct mcp_call){.config = s->config,
				    .arguments = json_object_get(params, "arguments"),
				    .cancel = -1};
	buf_init(&t->progress.pending);
	if (json_is_string(token) || json_is_integer(token)) {
		t->progress.token = token;
		t->call.output = take_output;
		t->call.output_arg = t;
	}
	return t;
}

static int refuse(struct message_fault *fault, int code, const char *text) {
	fault->code = code;
	(void)snprintf(fault->text, sizeof fault->text, "%s", text);
	return -1;
}

static bool tasks_have(const struct mcp_client *client, const json_t *id) {
	const struct mcp_server *s = client->owner;

	for (const struct mcp_task *t = s->tasks; t != NULL; t = t->next) {
		if (t->client == client && t->state != MCP_TASK_ENDED && json_equal(t->id, id)) {
			return true;
		}
	}
	return false;
}

static int tasks_begin(const struct mcp_request *request, const struct mcp_tool *tool,
		       struct message_fault *fault) {
	struct mcp_server *s = request->client->owner;

	/* M2 */
	if (s->waiting >= MCP_WAITING_MAX ||
	    s->waiting_bytes + request->bytes > MCP_WAITING_BYTES) {
		return refuse(fault, MESSAGE_INTERNAL_ERROR,
			      "too many calls are waiting; repeat the call later");
	}
	struct mcp_task *t = task_new(request, tool), **at = &s->tasks;
	if (t == NULL) {
		return refuse(fault, MESSAGE_INTERNAL_ERROR, "out of memory");
	}
	while (*at != NULL) {
		at = &(*at)->next;
	}
	*at = t;
	s->waiting++;
	s->waiting_bytes += t->bytes;
	return 0;
}

static void leave_queue(struct mcp_task *t, enum mcp_task_state state) {
	t->state = state;
	t->server->waiting--;
	t->server->waiting_bytes -= t->bytes;
}

/* A call that waits has no descriptor: there may be more of them than descriptors. */
static void start(struct mcp_task *t) {
	leave_queue(t, MCP_TASK_RUNNING);
	t->call.cancel = eventfd(0, EFD_CLOEXEC);
	if (t->call.cancel >= 0 && pthread_create(&t->thread, NULL, task_main, t) == 0) {
		t->server->running++;
		return;
	}
	t->state = MCP_TASK_ENDED;
	t->thread = 0;
	mcp_client_send(
		t->sink, t->batch,
		message_error(t->id, MESSAGE_INTERNAL_ERROR,
			      "the host gives no thread or descriptor; repeat the call later",
			      NULL));
	wake(t->server);
}

/* A running call ends by itself, soon (M3); one that waits ends here. */
static void cancel(struct mcp_task *t) {
	uint64_t one = 1;

	if (t->cancelled || t->state == MCP_TASK_ENDED) {
		return;
	}
	t->cancelled = true;
	if (t->batch == NULL && t->sink != NULL) {
		t->sink->end(t->sink);
		t->sink = NULL;
	}
	if (t->state == MCP_TASK_WAITING) {
		leave_queue(t, MCP_TASK_ENDED);
		mcp_client_close_one(t->batch);
		return;
	}
	(void)!write(t->call.cancel, &one, sizeof one); /* cannot fail: the counter is 0 */
	(void)pthread_cond_broadcast(&t->server->room);
}

static void tasks_cancel(struct mcp_client *client, const json_t *id) {
	const struct mcp_server *s = client->owner;

	for (struct mcp_task *t = s->tasks; t != NULL; t = t->next) {
		if (t->client == client && json_equal(t->id, id)) {
			cancel(t);
		}
	}
}

const struct mcp_calls mcp_tasks = {
	.begin = tasks_begin, .has = tasks_have, .cancel = tasks_cancel};

void mcp_tasks_cancel_client(struct mcp_server *s, const struct mcp_client *client) {
	for (struct mcp_task *t = s->tasks; t != NULL; t = t->next) {
		if (t->client == client) {
			cancel(t);
			t->client = NULL;
		}
	}
}

void mcp_tasks_cancel_sink(struct mcp_server *s, const struct mcp_sink *sink) {
	for (struct mcp_task *t = s->tasks; t != NULL; t = t->next) {
		if (t->sink == sink) {
			t->sink = NULL;
			t->client = NULL;
			if (t->batch != NULL && t->state != MCP_TASK_ENDED) {
				t->batch->sink = NULL;
			}
			cancel(t);
		}
	}
}

void mcp_tasks_cancel_all(struct mcp_server *s) {
	for (struct mcp_task *t = s->tasks; t != NULL; t = t->next) {
		cancel(t);
	}
}

static void remove_ended(struct mcp_server *s) {
	for (struct mcp_task **at = &s->tasks; *at != NULL;) {
		struct mcp_task *t = *at;
		if (t->state != MCP_TASK_ENDED) {
			at = &t->next;
			continue;
		}
		*at = t->next;
		if (t->thread != 0) {
			/* The thread only has to release the lock, which this one holds. */
			(void)pthread_mutex_unlock(&s->lock);
			(void)pthread_join(t->thread, NULL);
			(void)pthread_mutex_lock(&s->lock);
			s->running--;
		}
		task_free(t);
	}
}

int mcp_tasks_turn(struct mcp_server *s) {
	int64_t now = clock_ms();
	int next = -1;

	remove_ended(s);
	for (struct mcp_task *t = s->tasks; t != NULL; t = t->next) {
		if (t->state == MCP_TASK_WAITING && s->running < MCP_PARALLEL) {
			start(t);
		}
		int due = t->state == MCP_TASK_RUNNING ? progress_due(t, now) : -1;
		if (due == 0) {
			progress_send(t, now);
			due = -1;
		}
		if (due >= 0 && (next < 0 || due < next)) {
			next = due;
		}
	}
	return next;
}
