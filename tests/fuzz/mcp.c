/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of an MCP client, one after another, up to the start of a tool: nothing is run.
 *
 * Each line that the server writes is a message; a request is answered once or waits as a call of
 * a known tool, with arguments that its schema names and without a NUL in them; a cancelled call
 * is gone. */
#include "fuzz.h"

#include "rpc/frame.h"
#include "rpc/mcp_server.h"

#include <fcntl.h>
#include <unistd.h>

static const struct mcp_config config = {.start = (char *)(uintptr_t) "/",
					 .instructions = (char *)(uintptr_t) "words",
					 .timeout_ms = 1000};

static struct frame_writer out;

static void put(struct mcp_sink *sink, const char *line, size_t len, bool last) {
	(void)sink;
	json_t *value = json_loadb(line, len, 0, NULL);
	HOLDS(last == (json_is_array(value) || json_object_get(value, "method") == NULL));
	json_decref(value);
	HOLDS(frame_add(&out, line, len) == 0);
}

static void end(struct mcp_sink *sink) {
	(void)sink;
}

static bool has_room(const struct mcp_sink *sink, size_t len, bool result) {
	(void)sink;
	(void)len;
	(void)result;
	return true;
}

static void fail(struct mcp_sink *sink) {
	(void)sink;
	HOLDS(false);
}

/* The lines that the server has queued: each a message or, for a batch, an array. */
static size_t answers_in(void) {
	const char *at = out.data, *stop = at;
	size_t count = 0;

	if (frame_queued(&out) > 0) {
		at += out.begin;
		stop += out.end;
	}
	while (at < stop) {
		const char *newline = memchr(at, '\n', (size_t)(stop - at));
		HOLDS(newline != NULL);
		json_t *value =
			json_loadb(at, (size_t)(newline - at), JSON_REJECT_DUPLICATES, NULL);
		HOLDS(json_is_object(value) || json_array_size(value) > 0);
		if (json_is_object(value)) {
			const char *version = json_string_value(json_object_get(value, "jsonrpc"));
			HOLDS(version != NULL && strcmp(version, "2.0") == 0);
			HOLDS((json_object_get(value, "method") != NULL) !=
			      (json_object_get(value, "id") != NULL));
			count += json_object_get(value, "id") != NULL;
		} else {
			count += json_array_size(value);
		}
		json_decref(value);
		at = newline + 1;
	}
	return count;
}

static void strings_are_whole(json_t *value) {
	const char *key;
	json_t *child;
	size_t i;

	HOLDS(!json_is_string(value) ||
	      strlen(json_string_value(value)) == json_string_length(value));
	json_array_foreach(value, i, child) {
		strings_are_whole(child);
	}
	json_object_foreach(value, key, child) {
		strings_are_whole(child);
	}
}

static void calls_are_right(const struct mcp_server *s) {
	size_t waiting = 0;

	for (const struct mcp_task *t = s->tasks; t != NULL; t = t->next) {
		HOLDS(t->tool->name != NULL && t->id != NULL && t->revision != NULL);
		if (t->state == MCP_TASK_WAITING) {
			strings_are_whole(t->call.arguments);
			waiting++;
		}
	}
	HOLDS(waiting == s->waiting && s->running == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	struct mcp_server s = {.config = &config, .wake = -1};
	struct mcp_client client = mcp_server_client(&s);
	struct mcp_sink sink = {.put = put, .end = end, .has_room = has_room, .fail = fail};
	struct input in = {data, size};
	size_t lines = 0, commas = 0;
	char *line;

	frame_writer_init(&out, -1, MCP_QUEUE_MAX);
	while ((line = input_until(&in, '\n')) != NULL && lines < 32) {
		size_t len = strlen(line);
		for (size_t i = 0; i < len; i++) {
			commas += line[i] == ',';
		}
		mcp_client_line(&client, &sink, line, len);
		free(line);
		calls_are_right(&s);
		lines++;
	}
	free(line);
	HOLDS(answers_in() <= lines + commas);
	mcp_tasks_cancel_all(&s);
	HOLDS(mcp_tasks_turn(&s) == -1 && s.tasks == NULL && s.waiting == 0);
	HOLDS(s.waiting_bytes == 0);
	frame_writer_done(&out);
	return 0;
}
