/* SPDX-License-Identifier: Apache-2.0 */
/* `corral mcp` on stdin and stdout: reads requests, writes responses.
 *
 * Should:   read no request while the client does not read the responses; end all calls when the
 *           client is gone.
 * Must not: write anything to `out` that is not a message; wait for a call.
 * Fails:    when a descriptor fails, or memory is out. */
#include "rpc/mcp_server.h"

#include "base/auto.h"
#include "base/clock.h"
#include "rpc/frame.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>

/* After the end of its input a client may still read responses: calls get this long, and so do
 * the last bytes of output. */
#define LAST_MS 1000
/* After that the loop looks this often whether the calls have ended. */
#define LAST_LOOK_MS 50

/* ---- shared by the transports ---- */

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

int mcp_server_init(struct mcp_server *s, const struct mcp_config *config, int *ret_signals,
		    struct corral_error *err) {
	int signals = open_signals();

	*s = (struct mcp_server){.config = config, .wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
	if (s->wake < 0 || signals < 0) {
		*err = (struct corral_error){.kind = CORRAL_E_SETUP, .sys_errno = errno};
		(void)snprintf(err->layer, sizeof err->layer, "mcp");
		(void)snprintf(err->message, sizeof err->message, "cannot create descriptors");
		drop_fd(&s->wake);
		drop_fd(&signals);
		return -1;
	}
	(void)pthread_mutex_init(&s->lock, NULL);
	(void)pthread_cond_init(&s->room, NULL);
	*ret_signals = signals;
	return 0;
}

void mcp_server_done(struct mcp_server *s) {
	drop_fd(&s->wake);
	(void)pthread_cond_destroy(&s->room);
	(void)pthread_mutex_destroy(&s->lock);
}

struct mcp_client mcp_server_client(struct mcp_server *s) {
	return (struct mcp_client){.calls = &mcp_tasks,
				   .owner = s,
				   .tools = s->config->tools,
				   .instructions = s->config->instructions};
}

/* ---- the client on stdin and stdout ---- */

struct stdio {
	struct mcp_sink sink;
	struct mcp_server s;
	struct mcp_client client;
	struct frame_reader in;
	struct frame_writer out;
	int signals;
	bool failed;  /* out of memory, or the client is gone */
	bool ended;   /* of the input */
	int64_t last; /* when the calls are cancelled, after the end */
};

static void stdio_fail(struct mcp_sink *sink) {
	((struct stdio *)sink)->failed = true;
}

static void stdio_put(struct mcp_sink *sink, const char *line, size_t len, bool last) {
	(void)last;
	if (frame_add(&((struct stdio *)sink)->out, line, len) != 0) {
		stdio_fail(sink);
	}
}

static void stdio_end(struct mcp_sink *sink) {
	(void)sink; /* the next response follows */
}

static bool stdio_has_room(const struct mcp_sink *sink, size_t len, bool result) {
	size_t queued = frame_queued(&((const struct stdio *)sink)->out);

	return result ? queued == 0 || queued + len <= MCP_QUEUE_RESULTS
		      : queued <= MCP_QUEUE_PROGRESS;
}

/* false: the end of the input. */
static bool read_line(struct stdio *l) {
	char *line;
	size_t len;

	switch (frame_next(&l->in, &line, &len)) {
	case FRAME_LINE:
		mcp_client_line(&l->client, &l->sink, line, len);
		return true;
	case FRAME_TOO_LONG:
		mcp_client_refuse(&l->sink, MESSAGE_INVALID_REQUEST,
				  "the line is longer than 16 MiB");
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

static void flush(struct stdio *l) {
	size_t before = frame_queued(&l->out);

	if (frame_flush(&l->out) != 0) {
		l->failed = true;
	}
	if (frame_queued(&l->out) < before) {
		(void)pthread_cond_broadcast(&l->s.room);
	}
}

static bool reads_now(const struct stdio *l) {
	return !l->ended && frame_queued(&l->out) < MCP_QUEUE_HIGH;
}

/* Waits for an event, without the lock. */
static void loop_wait(struct stdio *l, struct pollfd *slots, int due) {
	struct mcp_server *s = &l->s;
	bool reads = reads_now(l);

	slots[SLOT_IN] = (struct pollfd){.fd = reads ? l->in.fd : -1, .events = POLLIN};
	slots[SLOT_OUT] = (struct pollfd){.fd = frame_queued(&l->out) > 0 ? l->out.fd : -1,
					  .events = POLLOUT};
	slots[SLOT_WAKE] = (struct pollfd){.fd = s->wake, .events = POLLIN};
	slots[SLOT_SIGNALS] = (struct pollfd){.fd = l->signals, .events = POLLIN};
	if (reads && frame_pending(&l->in)) {
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

static void loop_end(struct stdio *l, int64_t grace) {
	if (!l->ended) {
		l->ended = true;
		l->last = clock_ms() + grace;
	}
}

static void loop_events(struct stdio *l, const struct pollfd *slots) {
	struct mcp_server *s = &l->s;
	uint64_t count;

	if (slots[SLOT_WAKE].revents != 0) {
		(void)!read(s->wake, &count, sizeof count); /* it is readable */
	}
	if (slots[SLOT_SIGNALS].revents != 0) {
		l->ended = false;
		loop_end(l, 0);
	}
	if (reads_now(l) && (slots[SLOT_IN].revents != 0 || frame_pending(&l->in)) &&
	    !read_line(l)) {
		loop_end(l, LAST_MS);
	}
	flush(l);
	if (l->failed) {
		s->closing = true;
		loop_end(l, 0);
		(void)pthread_cond_broadcast(&s->room);
	}
}

/* false: all is done. */
static bool loop_turn(struct stdio *l) {
	struct pollfd slots[SLOT_COUNT];
	struct mcp_server *s = &l->s;
	int due = mcp_tasks_turn(s);

	flush(l);
	if (l->ended && clock_ms() >= l->last) {
		mcp_tasks_cancel_all(s);
		s->closing = s->closing || clock_ms() >= l->last + LAST_MS;
		(void)pthread_cond_broadcast(&s->room);
	}
	if (l->ended && s->tasks == NULL && (frame_queued(&l->out) == 0 || s->closing)) {
		return false;
	}
	loop_wait(l, slots, due);
	loop_events(l, slots);
	return true;
}

int mcp_serve(const struct mcp_config *config, int in, int out, struct corral_error *err) {
	struct stdio l = {.sink = {.put = stdio_put,
				   .end = stdio_end,
				   .has_room = stdio_has_room,
				   .fail = stdio_fail}};

	if (mcp_server_init(&l.s, config, &l.signals, err) != 0) {
		return -1;
	}
	l.client = mcp_server_client(&l.s);
	frame_reader_init(&l.in, in, MCP_MESSAGE_BYTES);
	frame_writer_init(&l.out, out, MCP_QUEUE_MAX);
	(void)pthread_mutex_lock(&l.s.lock);
	while (loop_turn(&l)) {
	}
	(void)pthread_mutex_unlock(&l.s.lock);
	frame_reader_done(&l.in);
	frame_writer_done(&l.out);
	drop_fd(&l.signals);
	mcp_server_done(&l.s);
	return 0;
}
