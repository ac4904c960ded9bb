/* SPDX-License-Identifier: Apache-2.0 */
/* Newline-delimited frames: bounded lines in, a bounded queue out.
 *
 * Should:   keep at most one line and one read in memory for any input; discard the
 *           rest of a line that is too long, so that the next line is read.
 * Must not: wait for the client; set O_NONBLOCK on a descriptor that others may share; raise
 *           SIGPIPE on a socket (on a pipe the caller ignores it).
 * Fails:    with an event or -1; nothing is partly queued. */
#include "rpc/frame.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* The first read of a connection, and the most of one.  A request has some hundred bytes; a client
 * that sends more gets larger reads. */
#define FIRST_SIZE ((size_t)4 * 1024)
#define READ_SIZE ((size_t)64 * 1024)

void frame_reader_init(struct frame_reader *r, int fd, size_t limit) {
	*r = (struct frame_reader){.fd = fd, .limit = limit, .chunk = FIRST_SIZE - 1};
}

void frame_reader_done(struct frame_reader *r) {
	free(r->data);
	*r = (struct frame_reader){.fd = -1};
}

/* Moves data[*begin..*end) to the front and makes room for `more` bytes after it. */
static bool make_room(char **data, size_t *cap, size_t *begin, size_t *end, size_t more) {
	if (*begin > 0) {
		memmove(*data, *data + *begin, *end - *begin);
		*end -= *begin;
		*begin = 0;
	}
	if (*cap - *end >= more) {
		return true;
	}
	size_t wanted = *cap < FIRST_SIZE ? FIRST_SIZE : *cap;
	while (wanted - *end < more) {
		wanted *= 2;
	}
	char *grown = realloc(*data, wanted);
	if (grown == NULL) {
		return false;
	}
	*data = grown;
	*cap = wanted;
	return true;
}

/* Gives the memory of a long line back. */
static void shrink(char **data, size_t *cap, size_t used) {
	if (used == 0 && *cap > READ_SIZE * 4) {
		free(*data);
		*data = NULL;
		*cap = 0;
	}
}

/* 1: bytes were read; 0: none now; -1: failed. */
static int read_more(struct frame_reader *r) {
	struct pollfd ready = {.fd = r->fd, .events = POLLIN};

	if (r->begin == r->end) {
		r->begin = r->end = r->searched = 0;
		shrink(&r->data, &r->cap, 0);
	}
	/* The byte after a line becomes its NUL. */
	r->searched -= r->begin;
	if (!make_room(&r->data, &r->cap, &r->begin, &r->end, r->chunk + 1)) {
		return -1;
	}
	if (r->receive == NULL && poll(&ready, 1, 0) == 0) {
		return 0;
	}
	char *to = r->data + r->end;
	ssize_t n = r->receive != NULL ? r->receive(r->receive_arg, to, r->chunk)
				       : read(r->fd, to, r->chunk);
	if (n < 0) {
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	}
	r->ended = n == 0;
	r->end += (size_t)n;
	if ((size_t)n == r->chunk && r->chunk < READ_SIZE) {
		r->chunk = r->chunk * 4 < READ_SIZE ? r->chunk * 4 : READ_SIZE;
	}
	return 1;
}

/* A line that is complete in the buffer; FRAME_AGAIN when there is none. */
static enum frame_event take_line(struct frame_reader *r, char **ret_line, size_t *ret_len) {
	char *newline = r->end == r->searched
				? NULL
				: memchr(r->data + r->searched, '\n', r->end - r->searched);

	r->searched = r->end;
	if (newline != NULL) {
		size_t start = r->begin;
		size_t len = (size_t)(newline - r->data) - start;
		bool discarded = r->discarding || len > r->limit;

		r->begin = r->searched = start + len + 1;
		r->discarding = false;
		if (discarded) {
			return FRAME_TOO_LONG;
		}
		*newline = '\0';
		*ret_line = r->data + start;
		*ret_len = len;
		return FRAME_LINE;
	}
	if (r->end - r->begin > r->limit) {
		r->discarding = true;
	}
	if (r->discarding) {
		r->begin = r->searched = r->end;
	}
	return FRAME_AGAIN;
}

enum frame_event frame_next(struct frame_reader *r, char **ret_line, size_t *ret_len) {
	enum frame_event event = take_line(r, ret_line, ret_len);

	if (event != FRAME_AGAIN || r->held) {
		return event;
	}
	if (!r->ended) {
		int got = read_more(r);
		if (got <= 0) {
			return got == 0 ? FRAME_AGAIN : FRAME_FAILED;
		}
		event = take_line(r, ret_line, ret_len);
	}
	return event == FRAME_AGAIN && r->ended ? FRAME_END : event;
}

bool frame_pending(const struct frame_reader *r) {
	return r->ended || r->searched < r->end;
}

void frame_writer_init(struct frame_writer *w, int fd, size_t limit) {
	int type;
	socklen_t len = sizeof type;

	*w = (struct frame_writer){
		.fd = fd,
		.limit = limit,
		.socket = getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0,
	};
}

void frame_writer_done(struct frame_writer *w) {
	free(w->data);
	*w = (struct frame_writer){.fd = -1};
}

int frame_add(struct frame_writer *w, const char *line, size_t len) {
	size_t queued = w->end - w->begin;

	if (len >= w->limit || queued > w->limit - len - 1 ||
	    !make_room(&w->data, &w->cap, &w->begin, &w->end, len + 1)) {
		return -1;
	}
	memcpy(w->data + w->end, line, len);
	w->data[w->end + len] = '\n';
	w->end += len + 1;
	return 0;
}

/* As much as the descriptor takes at once.  poll() promises a blocking pipe room for PIPE_BUF. */
static ssize_t write_some(const struct frame_writer *w) {
	struct pollfd ready = {.fd = w->fd, .events = POLLOUT};
	size_t len = w->end - w->begin;

	if (w->socket) {
		return send(w->fd, w->data + w->begin, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	}
	if (poll(&ready, 1, 0) == 0) {
		errno = EAGAIN;
		return -1;
	}
	return write(w->fd, w->data + w->begin, len < PIPE_BUF ? len : PIPE_BUF);
}

int frame_flush(struct frame_writer *w) {
	while (w->begin < w->end) {
		ssize_t n = write_some(w);
		if (n < 0 && errno == EINTR) {
			continue;
		}
		if (n < 0) {
			return errno == EAGAIN ? 0 : -1;
		}
		w->begin += (size_t)n;
	}
	w->begin = w->end = 0;
	shrink(&w->data, &w->cap, 0);
	return 0;
}

size_t frame_queued(const struct frame_writer *w) {
	return w->end - w->begin;
}
