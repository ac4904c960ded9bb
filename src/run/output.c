/* SPDX-License-Identifier: Apache-2.0 */
/* Relays the command's stdout and stderr to the caller's descriptor or to a capture, or
 * discards them.
 *
 * With read and write: splice(2) refuses files opened with O_APPEND, ignores non-blocking
 * requests on sockets, and cannot count bytes for a cap.
 *
 * Should:   move every byte once, in order, as fast as the slower side.
 * Must not: block, or buffer more than one chunk and the capture (R2).
 * Fails:    EPIPE outside closes the command's stream (R4); other errors of
 *           the caller's descriptor are recorded for the outcome. */
#include "run/streams.h"

#include "base/auto.h"
#include "data/keys.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>

static size_t least(size_t a, size_t b) {
	return a < b ? a : b;
}

static void pump_end(struct output *p) {
	drop_fd(&p->from);
}

void output_done(struct output *p) {
	pump_end(p);
	outer_fd_done(&p->to);
	capture_done(&p->kept);
	leak_tap_done(&p->tap);
	free(p->chunk);
	*p = OUTPUT_NONE;
}

/* Closing the read end makes the command's next write fail with EPIPE, as outside (R4). */
static void pump_fail(struct output *p) {
	p->error = errno == EPIPE ? 0 : errno;
	p->len = 0;
	p->last = true;
	pump_end(p);
}

static bool pump_flush(struct output *p) {
	ssize_t n = outer_fd_write(&p->to, p->data + p->at, p->len);

	if (n < 0 && outer_fd_try_later()) {
		return false;
	}
	if (n < 0) {
		pump_fail(p);
		return false;
	}
	p->at += (size_t)n;
	p->len -= (size_t)n;
	return n > 0;
}

static void pump_accept(struct output *p, const char *data, size_t len) {
	size_t pass = p->capped ? least(len, p->pass) : len;

	assert(p->len == 0); /* R2 */
	if (p->to.fd < 0) {
		if (p->keep) {
			capture_add(&p->kept, data, len);
		}
		if (p->keep && p->watch.bytes != NULL) {
			p->watch.bytes(p->watch.arg, p->stream, data, len);
		}
		return;
	}
	outer_fd_own(&p->to, O_WRONLY); /* many commands write nothing, or to one of two streams */
	if (p->capped) {
		capture_add(&p->kept, data + pass, len - pass);
		p->pass -= pass;
	}
	live_output(p->live, data, pass);
	if (p->watch.all && p->watch.bytes != NULL && pass > 0) {
		p->watch.bytes(p->watch.arg, p->stream, data, pass);
	}
	p->data = data;
	p->at = 0;
	p->len = pass;
}

/* The bytes that the leak scanner released. */
static void pump_accept_clean(struct output *p) {
	struct buf *clean = &p->tap.clean;

	if (!buf_failed(clean) && clean->len > 0) {
		hint_record(&p->recent, clean->data, clean->len); /* a hint has no secret either */
		pump_accept(p, clean->data, clean->len);
	}
	clean->len = 0; /* the bytes stay until the next ones are fed, which is after the flush */
}

static void pump_take(struct output *p, size_t len, int64_t now) {
	assert(len <= RELAY_CHUNK); /* R2 */
	if (p->tap.watch != NULL) {
		leak_tap_feed(&p->tap, p->chunk, len, now);
	}
	if (leak_tap_replaces(&p->tap)) {
		pump_accept_clean(p);
	} else {
		hint_record(&p->recent, p->chunk, len);
		pump_accept(p, p->chunk, len); /* T2 */
	}
}

/* True when bytes came. */
static bool pump_fill(struct output *p, int64_t now) {
	ssize_t n = read(p->from, p->chunk, least(RELAY_CHUNK, p->left));

	if (n < 0 && outer_fd_try_later()) {
		return false;
	}
	if (n < 0 && errno == EIO && p->pty) {
		p->rest_until =
			now + RELAY_REST_MS; /* no process has the pty open; one may reopen it */
		return false;
	}
	if (n <= 0) {
		pump_end(p);
		return false;
	}
	if (p->draining && !p->pty) {
		p->left -= (size_t)n;
	}
	pump_take(p, (size_t)n, now);
	return true;
}

void output_poll(const struct output *p, int64_t now, struct pollfd *slot) {
	if (p->len > 0) {
		*slot = (struct pollfd){.fd = p->to.fd, .events = POLLOUT};
	} else if (p->from >= 0 && now >= p->rest_until) {
		*slot = (struct pollfd){.fd = p->from, .events = POLLIN};
	}
}

/* A capture is read when the run has ended, so its bytes can wait until then, unless it is
 * watched. */
int64_t output_due(const struct output *p) {
	return (p->to.fd < 0 && p->watch.bytes == NULL) || p->len > 0 ? -1 : leak_tap_due(&p->tap);
}

bool output_step(struct output *p, int64_t now, short seen) {
	bool moved;

	if (output_due(p) >= 0 && output_due(p) <= now) {
		leak_tap_flush(&p->tap);
		pump_accept_clean(p);
		return true;
	}
	if (seen == 0) {
		return false;
	}
	if (p->len > 0) {
		return pump_flush(p);
	}
	if (p->from < 0) {
		return false;
	}
	moved = pump_fill(p, now);
	if (p->len > 0 && !p->to.may_block) {
		(void)pump_flush(p); /* saves a poll; the rest waits for POLLOUT */
	}
	return moved;
}

/* Replaces the chunk by the captured tail, which is then written like any other chunk. */
static void pump_stage_tail(struct output *p) {
	size_t len = 0;
	char *tail;

	p->last = true;
	if (!p->capped) {
		return;
	}
	tail = capture_take(&p->kept, &len);
	if (tail == NULL) {
		return; /* counted as dropped */
	}
	free(p->chunk);
	p->chunk = tail;
	p->data = tail;
	p->at = 0;
	p->len = len;
}

/* All sandboxed processes are dead, so the pipe's present content is the rest.  A process outside
 * that has the write end cannot prolong the drain. */
static void pump_begin_drain(struct output *p) {
	int waiting = 0;

	if (p->draining) {
		return;
	}
	p->draining = true;
	if (p->from >= 0 && !p->pty) {
		(void)ioctl(p->from, FIONREAD, &waiting); /* cannot fail on a pipe */
		p->left = (size_t)waiting;
	}
}

/* True while bytes wait for the caller's descriptor. */
bool output_drain(struct output *p) {
	pump_begin_drain(p);
	while (p->from >= 0 && p->len == 0) {
		struct pollfd slot = {.fd = p->from, .events = POLLIN};
		/* poll() makes the kernel flush the pty's buffered output to the master. */
		if (p->left == 0 || poll(&slot, 1, 0) <= 0 || !pump_fill(p, 0)) {
			pump_end(p);
		}
	}
	if (p->from < 0 && p->len == 0 && leak_tap_replaces(&p->tap) && !p->tap.ended) {
		leak_tap_end(&p->tap);
		pump_accept_clean(p);
	}
	if (p->from < 0 && p->len == 0 && !p->last) {
		pump_stage_tail(p);
	}
	return p->len > 0;
}

uint64_t output_dropped(const struct output *p) {
	uint64_t stuck = p->len;

	if (p->draining && p->from >= 0 && !p->pty) {
		stuck += p->left;
	}
	if (p->capped && !p->last) {
		stuck += p->kept.tail_len;
	}
	return p->kept.dropped + stuck;
}
