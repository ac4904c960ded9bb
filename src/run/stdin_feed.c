/* SPDX-License-Identifier: Apache-2.0 */
/* Relays the caller's stdin to the command.
 *
 * A command rarely reads its whole stdin, and the caller may want the rest: `while read line;
 * do corral run ...; done <list`.  So the rest stays with the caller (R3): a file's offset is
 * moved back with lseek(2); a pipe is copied with tee(2), and its bytes are consumed only
 * after the command has read the copy.
 *
 * Should:   relay bytes when the command reads them, not before.
 * Must not: pass the caller's pipe itself to the command, which could reopen it
 *           for writing and forge input of the next reader.
 * Fails:    a read error is end-of-file for the command, and is recorded in the outcome: a run
 *           with truncated input is no success. */
#include "run/streams.h"

#include "base/auto.h"
#include "run/terminal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

/* The command sees end-of-file; `unread` stays open to count the bytes it has not read. */
void stdin_feed_end(struct stdin_feed *f) {
	drop_fd(&f->to);
}

void stdin_feed_give_back(int source, int pipe, size_t held, uint64_t given) {
	int waiting = 0;
	uint64_t back = held;

	if (pipe >= 0 && ioctl(pipe, FIONREAD, &waiting) == 0 && waiting > 0) {
		back += (uint64_t)waiting;
	}
	/* The command may have written into its stdin pipe, so FIONREAD can be too large (R3). */
	if (back > given) {
		back = given;
	}
	if (back > 0) {
		(void)lseek(source, -(off_t)back, SEEK_CUR); /* seekable since the start */
	}
}

/* ---- a pipe: copied with tee(2), consumed when the command has read the copy ---- */

/* Consumes the bytes of the caller's pipe that the command has read of the copy. */
static void feed_take(struct stdin_feed *f) {
	int waiting = 0;

	if (ioctl(f->unread, FIONREAD, &waiting) != 0 || waiting < 0) {
		waiting = 0;
	}
	/* The command may have written into its stdin pipe, so FIONREAD can be too large (R3). */
	size_t left = (size_t)waiting < f->ahead ? (size_t)waiting : f->ahead;
	while (f->ahead > left) {
		size_t most = f->ahead - left < RELAY_CHUNK ? f->ahead - left : RELAY_CHUNK;
		ssize_t n = outer_fd_read(&f->from, f->chunk, most);
		if (n <= 0 && !(n < 0 && errno == EINTR)) {
			f->ahead = left; /* another reader of the caller's pipe consumed them */
			return;
		}
		f->ahead -= n > 0 ? (size_t)n : 0;
		assert(f->ahead >= left); /* R3 */
		f->given += n > 0 ? (uint64_t)n : 0;
	}
}

static void feed_stop_peeking(struct stdin_feed *f) {
	f->peeks = false;
	drop_fd(&f->unread);
	(void)fcntl(f->to, F_SETPIPE_SZ, (int)RELAY_CHUNK); /* only for speed; may fail */
}

static void feed_show(struct stdin_feed *f) {
	ssize_t n = tee(f->from.fd, f->to, RELAY_CHUNK, SPLICE_F_NONBLOCK);

	if (n < 0 && outer_fd_try_later()) {
		return;
	}
	if (n <= 0) {
		stdin_feed_end(f);
		return;
	}
	f->ahead = (size_t)n;
}

/* The inner pipe has one buffer, so POLLOUT means that the command has read all of it. */
static void feed_step_pipe(struct stdin_feed *f, short from, short to) {
	if (f->ahead > 0 && (to & POLLOUT) != 0) {
		feed_take(f);
		if (f->given > FEED_PEEK_MAX) {
			feed_stop_peeking(f);
		}
	} else if (f->ahead == 0 && from != 0) {
		feed_show(f);
	}
}

static void feed_poll_pipe(const struct stdin_feed *f, struct pollfd *from, struct pollfd *to) {
	*to = (struct pollfd){.fd = f->to, .events = f->ahead > 0 ? POLLOUT : 0};
	if (f->ahead == 0) {
		*from = (struct pollfd){.fd = f->from.fd, .events = POLLIN};
	}
}

void stdin_feed_done(struct stdin_feed *f) {
	stdin_feed_end(f);
	if (f->unread >= 0 && f->peeks) {
		feed_take(f);
	} else if (f->unread >= 0) {
		stdin_feed_give_back(f->from.fd, f->unread, f->len + leak_tap_held(&f->tap),
				     f->given);
	}
	drop_fd(&f->unread);
	outer_fd_done(&f->from);
	leak_tap_done(&f->tap);
	free(f->chunk);
	*f = FEED_NONE;
}

static void feed_flush(struct stdin_feed *f) {
	ssize_t n = f->len == 0 ? 0 : write(f->to, f->data + f->at, f->len);

	if (n < 0 && outer_fd_try_later()) {
		return;
	}
	if (n < 0) {
		stdin_feed_end(f);
		return;
	}
	f->at += (size_t)n;
	f->len -= (size_t)n;
	f->room = false;
	if (f->len == 0 && f->at_end) {
		stdin_feed_end(f);
	}
}

static bool holds_key(const struct stdin_feed *f, size_t len, int key) {
	cc_t byte = f->modes->c_cc[key];

	return byte != _POSIX_VDISABLE && memchr(f->chunk, byte, len) != NULL;
}

/* The inner pty acts on ^Z, ^C and ^\; terminal.c needs to know that they were typed. */
static void note_keys(struct stdin_feed *f, size_t len) {
	if (f->modes != NULL) {
		f->typed_stop = f->typed_stop || holds_key(f, len, VSUSP);
		f->typed_end = f->typed_end || holds_key(f, len, VINTR) || holds_key(f, len, VQUIT);
	}
}

static void feed_stage(struct stdin_feed *f, const char *data, size_t len) {
	f->data = data;
	f->at = 0;
	f->len = len;
	feed_flush(f);
}

/* The bytes that the leak scanner released. */
static void feed_stage_clean(struct stdin_feed *f) {
	struct buf *clean = &f->tap.clean;
	size_t len = buf_failed(clean) ? 0 : clean->len;

	clean->len = 0; /* the bytes stay until the next ones are fed, which is after the flush */
	feed_stage(f, clean->data, len);
}

/* The caller's end: the command sees it after the bytes that the scanner held back. */
static void feed_finish(struct stdin_feed *f) {
	if (!leak_tap_replaces(&f->tap)) {
		stdin_feed_end(f);
		return;
	}
	leak_tap_end(&f->tap);
	/* After a secret the run is killed.  Until then the command waits: an end of file would let
	 * it act on a part of its input. */
	if (!f->tap.watch->kill) {
		f->at_end = true;
	}
	feed_stage_clean(f);
}

static void feed_fill(struct stdin_feed *f, int64_t now) {
	/* Unread bytes of a seekable source can be given back; of any other source read at most
	 * PIPE_BUF, which a writable pipe takes at once. */
	size_t most = f->from.seekable ? RELAY_CHUNK : PIPE_BUF;
	ssize_t n;

	if (f->from.terminal && tty_background(f->from.fd)) {
		f->rest_until = now + RELAY_REST_MS; /* read() would raise SIGTTIN */
		return;
	}
	n = outer_fd_read(&f->from, f->chunk, most);
	if (n < 0 && outer_fd_try_later()) {
		return;
	}
	if (n <= 0) {
		f->error = n < 0 ? errno : 0;
		feed_finish(f);
		return;
	}
	f->given += (uint64_t)n;
	note_keys(f, (size_t)n);
	if (f->tap.watch != NULL) {
		leak_tap_feed(&f->tap, f->chunk, (size_t)n, now);
	}
	if (leak_tap_replaces(&f->tap)) {
		feed_stage_clean(f);
	} else {
		feed_stage(f, f->chunk, (size_t)n);
	}
}

/* Polls alternately for room and for data, so that no byte is read before the command can take
 * it. */
void stdin_feed_poll(const struct stdin_feed *f, int64_t now, struct pollfd *from,
		     struct pollfd *to) {
	bool rests = now < f->rest_until;

	if (f->to < 0 || (f->tap.ended && f->len == 0)) {
		return;
	}
	if (f->peeks) {
		feed_poll_pipe(f, from, to);
		return;
	}
	if (!f->pty) {
		*to = (struct pollfd){.fd = f->to}; /* for POLLERR: the command closed its stdin */
	}
	if (rests) {
		return;
	}
	if (f->len > 0 || !f->room) {
		*to = (struct pollfd){.fd = f->to, .events = POLLOUT};
	} else {
		*from = (struct pollfd){.fd = f->from.fd, .events = POLLIN};
	}
}

void stdin_feed_step(struct stdin_feed *f, int64_t now, short from, short to) {
	if (f->to < 0) {
		return;
	}
	if ((to & (POLLERR | POLLNVAL)) != 0) {
		stdin_feed_end(f);
	} else if (f->peeks) {
		feed_step_pipe(f, from, to);
	} else if (f->len > 0 && to != 0) {
		if ((to & POLLOUT) == 0) {
			f->rest_until =
				now + RELAY_REST_MS; /* a full pty that no process has open */
		}
		feed_flush(f);
	} else if (!f->room && to != 0) {
		f->room = true;
	} else if (from != 0) {
		feed_fill(f, now);
	}
}
