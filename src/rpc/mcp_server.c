/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of `corral mcp`: reads requests, answers or dispatches them, writes responses.
 *
 * Should:   answer every request once, also a malformed one; read no request while the client does
 *           not read the responses; end all calls when the client is gone.
 * Must not: write anything to `out` that is not a message; wait for a call.
 * Fails:    when a descriptor fails, or memory is out; a bad message is answered and costs nothing
 *           else. */
#include "rpc/mcp_server.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/str.h"
#include "rpc/mcp_methods.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>

/* A file of a few MiB for write_file, escaped. */
#define LINE_BYTES ((size_t)16 * 1024 * 1024)
/* After the end of its input a client may still read responses: calls get this long, and so do
 * the last bytes of output. */
#define LAST_MS 1000
/* After that the loop looks this often whether the calls have ended. */
#define LAST_LOOK_MS 50

/* ---- output ---- */

static void queue(struct mcp_server *s, const json_t *message) {
	size_t len = 0;
	auto_free char *line = message_format(message, &len);

	if (line == NULL || frame_add(&s->out, line, len) != 0) {
		s->failed = true;
	}
}

void mcp_server_close_one(struct mcp_server *s, struct mcp_batch *batch) {
	if (batch == NULL || --batch->open > 0) {
		return;
	}
	if (json_array_size(batch->answers) > 0) {
		queue(s, batch->answers);
	}
	json_decref(batch->answers);
	free(batch);
}

void mcp_server_send(struct mcp_server *s, struct mcp_batch *batch, json_t *message) {
	if (batch == NULL) {
		queue(s, message);
		json_decref(message);
		return;
	}
	if (message == NULL || json_array_append_new(batch->answers, message) != 0) {
		s->failed = true;
	}
	mcp_server_close_one(s, batch);
}

/* ---- input ---- */

static void take_notification(struct mcp_server *s, const struct message *message) {
	const json_t *id = json_object_get(message->params, "requestId");

	if (streq(message->method, "notifications/cancelled") && id != NULL) {
		mcp_tasks_cancel(s, id);
	}
}

/* One message of a line; the batch, if there is one, has counted it. */
static void take_message(struct mcp_server *s, json_t *value, size_t bytes,
			 struct mcp_batch *batch) {
	struct message message;
	struct message_fault fault = {0};

	if (message_read(value, &message, &fault) != 0) {
		mcp_server_send(s, batch, message_error(message.id, fault.code, fault.text, NULL));
		return;
	}
	if (message.kind == MESSAGE_REQUEST) {
		struct mcp_request request = {
			.message = &message, .root = value, .bytes = bytes, .batch = batch};
		mcp_methods_call(s, &request);
		return;
	}
	if (message.kind == MESSAGE_NOTIFICATION) {
		take_notification(s, &message);
	}
	mcp_server_close_one(s, batch);
}

static void take_batch(struct mcp_server *s, const json_t *values, size_t bytes) {
	struct mcp_batch *batch = calloc(1, sizeof *batch);
	size_t n = json_array_size(values);

	if (batch != NULL) {
		*batch = (struct mcp_batch){.answers = json_array(), .open = n + 1};
	}
	if (batch == NULL || batch->answers == NULL) {
		s->failed = true;
		free(batch);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		take_message(s, json_array_get(values, i), bytes / n, batch);
	}
	mcp_server_close_one(s, batch);
}

static void refuse_line(struct mcp_server *s, int code, const char *text) {
	mcp_server_send(s, NULL, message_error(NULL, code, text, NULL));
}

void mcp_server_line(struct mcp_server *s, const char *line, size_t len) {
	struct message_fault fault;
	json_t *value = message_parse(line, len, &fault);

	if (value == NULL) {
		refuse_line(s, fault.code, fault.text);
	} else if (!json_is_array(value)) {
		take_message(s, value, len, NULL);
	} else if (s->agreed == NULL || (s->agreed->features & MCP_BATCH) == 0) {
		refuse_line(s, MESSAGE_INVALID_REQUEST,
			    "this revision of the protocol has no batches");
	} else if (json_array_size(value) == 0) {
		refuse_line(s, MESSAGE_INVALID_REQUEST, "the batch is empty");
	} else {
		take_batch(s, value, len);
	}
	json_decref(value);
}

/* false: the end of the input. */
static bool server_read(struct mcp_server *s) {
	char *line;
	size_t len;

	switch (frame_next(&s->in, &line, &len)) {
	case FRAME_LINE:
		mcp_server_line(s, line, len);
		return true;
	case FRAME_TOO_LONG:
		refuse_line(s, MESSAGE_INVALID_REQUEST, "the line is longer than 16 MiB");
		return true;
	case FRAME_AGAIN:
		return true;
	case FRAME_END:
	case FRAME_FAILED:
		break;
	}
	return false;
}

/* ---- the loop ---- */

enum slot { SLOT_IN, SLOT_OUT, SLOT_WAKE, SLOT_SIGNALS, SLOT_COUNT };

struct loop {
	struct mcp_server s;
	int signals;
	bool ended;   /* of the input */
	int64_t last; /* when the calls are cancelled, after the end */
};

static void flush(struct mcp_server *s) {
	size_t before = frame_queued(&s->out);

	if (frame_flush(&s->out) != 0) {
		s->failed = true;
	}
	if (frame_queued(&s->out) < before) {
		(void)pthread_cond_broadcast(&s->room);
	}
}

static bool reads_now(const struct loop *l) {
	return !l->ended && frame_queued(&l->s.out) < MCP_QUEUE_HIGH;
}

/* Waits for an event, without the lock. */
static void loop_wait(struct loop *l, struct pollfd *slots, int due) {
	struct mcp_server *s = &l->s;
	bool reads = reads_now(l);

	slots[SLOT_IN] = (struct pollfd){.fd = reads ? s->in.fd : -1, .events = POLLIN};
	slots[SLOT_OUT] = (struct pollfd){.fd = frame_queued(&s->out) > 0 ? s->out.fd : -1,
					  .events = POLLOUT};
	slots[SLOT_WAKE] = (struct pollfd){.fd = s->wake, .events = POLLIN};
	slots[SLOT_SIGNALS] = (struct pollfd){.fd = l->signals, .events = POLLIN};
	if (reads && frame_pending(&s->in)) {
		due = 0;
	} else if (l->ended) {
		int64_t left = l->last - clock_ms();
		due = left < 0 ? LAST_LOOK_MS : (int)left;
	}
	(void)pthread_mutex_unlock(&s->lock);
	if (poll(slots, SLOT_COUNT, due) < 0) {
		memset(slots, 0, SLOT_COUNT * sizeof *slots); /* EINTR: look again */
	}
	(void)pthread_mutex_lock(&s->lock);
}

static void loop_end(struct loop *l, int64_t grace) {
	if (!l->ended) {
		l->ended = true;
		l->last = clock_ms() + grace;
	}
}

static void loop_events(struct loop *l, const struct pollfd *slots) {
	struct mcp_server *s = &l->s;
	uint64_t count;

	if (slots[SLOT_WAKE].revents != 0) {
		(void)!read(s->wake, &count, sizeof count); /* it is readable */
	}
	if (slots[SLOT_SIGNALS].revents != 0) {
		l->ended = false;
		loop_end(l, 0);
	}
	if (reads_now(l) && (slots[SLOT_IN].revents != 0 || frame_pending(&s->in)) &&
	    !server_read(s)) {
		loop_end(l, LAST_MS);
	}
	flush(s);
	if (s->failed) {
		s->closing = true;
		loop_end(l, 0);
		(void)pthread_cond_broadcast(&s->room);
	}
}

/* false: all is done. */
static bool loop_turn(struct loop *l) {
	struct pollfd slots[SLOT_COUNT];
	struct mcp_server *s = &l->s;
	int due = mcp_tasks_turn(s);

	flush(s);
	if (l->ended && clock_ms() >= l->last) {
		mcp_tasks_cancel_all(s);
		s->closing = s->closing || clock_ms() >= l->last + LAST_MS;
		(void)pthread_cond_broadcast(&s->room);
	}
	if (l->ended && s->tasks == NULL && (frame_queued(&s->out) == 0 || s->closing)) {
		return false;
	}
	loop_wait(l, slots, due);
	loop_events(l, slots);
	return true;
}

static int open_signals(void) {
	sigset_t set;

	(void)signal(SIGPIPE, SIG_IGN); /* a write to a client that is gone returns EPIPE */
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGHUP);
	(void)pthread_sigmask(SIG_BLOCK, &set, NULL); /* of every later thread too */
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int mcp_serve(const struct mcp_config *config, int in, int out, struct corral_error *err) {
	struct loop l = {.s = {.config = config, .wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)},
			 .signals = open_signals()};
	struct mcp_server *s = &l.s;

	if (s->wake < 0 || l.signals < 0) {
		*err = (struct corral_error){.kind = CORRAL_E_SETUP, .sys_errno = errno};
		(void)snprintf(err->layer, sizeof err->layer, "mcp");
		(void)snprintf(err->message, sizeof err->message, "cannot create descriptors");
		drop_fd(&s->wake);
		drop_fd(&l.signals);
		return -1;
	}
	(void)pthread_mutex_init(&s->lock, NULL);
	(void)pthread_cond_init(&s->room, NULL);
	frame_reader_init(&s->in, in, LINE_BYTES);
	frame_writer_init(&s->out, out, MCP_QUEUE_MAX);
	(void)pthread_mutex_lock(&s->lock);
	while (loop_turn(&l)) {
	}
	(void)pthread_mutex_unlock(&s->lock);
	frame_reader_done(&s->in);
	frame_writer_done(&s->out);
	drop_fd(&s->wake);
	drop_fd(&l.signals);
	return 0;
}
