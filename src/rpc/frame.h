/* SPDX-License-Identifier: Apache-2.0 */
/* Newline-delimited frames over a descriptor: a reader with a bounded line, a writer with a bounded
 * queue.
 *
 * The descriptor may be blocking or not; no call here waits.  The caller polls it: the reader for
 * POLLIN, the writer for POLLOUT while frame_queued() is not 0.  A blocking descriptor stays
 * blocking, because its open file description may belong to other processes too. */
#ifndef CORRAL_RPC_FRAME_H
#define CORRAL_RPC_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum frame_event {
	FRAME_LINE,     /* *ret_line is a line, without its newline and with a NUL after it */
	FRAME_AGAIN,    /* no complete line; poll */
	FRAME_TOO_LONG, /* a line was longer than the limit, and was discarded */
	FRAME_END,      /* end of file; a line without a newline before it is dropped */
	FRAME_FAILED,   /* a read error, or out of memory */
};

struct frame_reader {
	int fd;
	size_t limit; /* of a line, without its newline */
	size_t chunk; /* of the next read */
	char *data;
	size_t cap, begin, end; /* unread bytes are data[begin..end) */
	size_t searched;        /* no newline before data[searched] */
	bool discarding;        /* the line is too long: drop bytes up to its newline */
	bool ended;
	bool held; /* by the caller: complete lines of the buffer only, nothing is read */
	/* Instead of poll(2) and read(2), as for a socket with descriptors; or NULL. */
	ssize_t (*receive)(void *arg, void *data, size_t len);
	void *receive_arg;
};

/* The descriptor stays the caller's. */
void frame_reader_init(struct frame_reader *r, int fd, size_t limit);
void frame_reader_done(struct frame_reader *r);

/* The next line.  It is valid until the next call.  Reads at most once, so that a client that
 * sends without pause does not occupy the caller: the caller repeats while it gets lines. */
enum frame_event frame_next(struct frame_reader *r, char **ret_line, size_t *ret_len);

/* Whether a complete line may be in the buffer already, so that a poll() would wait in vain. */
bool frame_pending(const struct frame_reader *r);

struct frame_writer {
	int fd;
	size_t limit; /* of queued bytes */
	char *data;
	size_t cap, begin, end;
	bool socket;
};

void frame_writer_init(struct frame_writer *w, int fd, size_t limit);
void frame_writer_done(struct frame_writer *w);

/* Queues len bytes and a newline.  -1 when the queue would exceed its limit (the client does not
 * read), or out of memory; the queue is as before then. */
int frame_add(struct frame_writer *w, const char *line, size_t len);

/* Writes as much as the descriptor takes without waiting.  0, also if bytes remain; -1 with errno
 * when the reader is gone or a write failed. */
int frame_flush(struct frame_writer *w);

size_t frame_queued(const struct frame_writer *w);

#endif
