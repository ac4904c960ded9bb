/* SPDX-License-Identifier: Apache-2.0 */
/* The relay between the caller's descriptors and the command's stdin, stdout and stderr.
 *
 * Invariants, cited by tests:
 *  R1  the flags of the caller's open file descriptions are never changed;
 *  R2  nothing here blocks, and no more than one chunk a stream waits in
 *      memory (plus the capture and the leak scanner, which have their own bounds);
 *  R3  bytes of a file that the command did not read stay with the caller, and bytes of a
 *      pipe too unless the command has read more than FEED_PEEK_MAX of it; a file's
 *      offset is never moved before its value at the start of the run;
 *  R4  a reader that closed its end means SIGPIPE for the command, never for the supervisor. */
#ifndef CORRAL_RUN_STREAMS_H
#define CORRAL_RUN_STREAMS_H

#include "base/err.h"
#include "run/capture.h"
#include "run/hint.h"
#include "run/leak_tap.h"
#include "run/live.h"

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <termios.h>

/* The default capacity of a pipe: larger reads would return less. */
#define RELAY_CHUNK ((size_t)65536)

/* tee(2) before each read costs a round trip for each page.  A command that has read this much
 * of a pipe does not read single lines of a list; then speed matters more. */
#define FEED_PEEK_MAX ((uint64_t)1024 * 1024)

/* The caller's side of a stream. */
struct outer_fd {
	int fd; /* -1: none */
	bool owned;
	bool socket;
	bool terminal;
	bool seekable;
	bool pipe;
	bool may_block; /* shared and blocking: poll first, PIPE_BUF at a time */
};

/* From the caller's descriptor to the command. */
struct stdin_feed {
	struct outer_fd from;
	int to;     /* write end of the pipe, or the pty; -1 after the end */
	int unread; /* seekable or a pipe: the read end, to count the bytes left in it */
	bool pty;
	const struct termios *modes; /* of the caller's terminal: which keys are ^Z, ^C; NULL */
	bool typed_stop, typed_end;  /* ^Z; ^C or ^\; terminal_job_typed() clears them */
	bool room;                   /* the pipe is writable: wait for data next */
	int64_t rest_until;
	struct leak_tap tap;
	uint64_t given; /* bytes read from the caller */
	bool peeks;     /* a pipe, copied with tee(2) before it is consumed */
	size_t ahead;   /* bytes copied to the command and not yet consumed from the caller */
	int error;      /* errno of the last read of the caller's descriptor; 0 at its end */
	bool at_end;    /* the caller's end was read; the last bytes are being written */
	char *chunk;
	const char *data; /* the bytes being written: the chunk, or the tap's clean bytes */
	size_t at, len;
};

/* From the command to the caller's descriptor, to a capture, or discarded. */
struct output {
	int from;           /* read end of the pipe, or the pty; -1 after the end */
	struct outer_fd to; /* fd -1: keep or discard */
	bool pty;
	bool keep;     /* the caller wants the capture */
	bool capped;   /* the head goes to the descriptor, the tail is kept until the end */
	bool draining; /* all sandboxed processes are dead */
	bool last;     /* the tail is being written */
	size_t left;   /* draining: bytes left in the pipe */
	size_t pass;   /* capped: bytes left of the head's share */
	int64_t rest_until;
	struct capture kept;
	struct output_tail recent; /* the last bytes, for hints */
	struct live *live;         /* on the same terminal; NULL: none */
	struct output_watch watch;
	int stream; /* for the watch */
	struct leak_tap tap;
	int error; /* errno of the caller's descriptor; 0 for EPIPE */
	char *chunk;
	const char *data; /* what is being written: the chunk, or the tap's clean bytes */
	size_t at, len;
};

enum stream { STREAM_IN, STREAM_OUT, STREAM_ERR, STREAM_COUNT };

struct streams {
	int inside[STREAM_COUNT]; /* the command's ends; -1: the sandbox's own /dev/null */
	struct stdin_feed feed;
	struct output pumps[2]; /* STREAM_OUT - 1, STREAM_ERR - 1 */
	/* A question is on the terminal: it is neither read nor written, and neither is a program
	 * that may write to it. */
	bool paused;
};

struct stream_wish {
	int fds[STREAM_COUNT]; /* descriptor, RUN_NULL or RUN_CAPTURE */
	int64_t limit;         /* bytes an output stream, or LIMIT_NONE */
	bool watched;          /* relay also discarded output: there is an idle time-out */
	bool terminal;         /* streams_attach() follows when pid 1 has opened the pty */
	struct leak_watch *leaks, *input; /* scan the output, and stdin; NULL: not scanned */
	struct live *live;                /* the live line; NULL: none */
	struct output_watch watch;        /* of captured streams */
};

/* On failure nothing stays open; streams_done() is allowed then too. */
int streams_open(struct streams *s, const struct stream_wish *given, struct err *e);

/* Call when the command has its copies: closes the inner ends. */
void streams_started(struct streams *s);

/* Takes ownership of the pty's master. */
int streams_attach(struct streams *s, int master, struct err *e);

/* Some output goes to another program, which may print it on the terminal. */
bool streams_piped(const struct streams *s);
/* That program has not taken all of it. */
bool streams_unread(const struct streams *s);

/* Poll slots: the feed uses two, each pump one. */
#define STREAM_SLOTS 4
void streams_poll(const struct streams *s, int64_t now, struct pollfd slots[STREAM_SLOTS]);

/* Relays bytes on the ready slots; true when output was read or written. */
bool streams_step(struct streams *s, int64_t now, const struct pollfd slots[STREAM_SLOTS]);

/* True while output waits for a slow reader outside. */
bool streams_held(const struct streams *s);

/* When a stream needs a step without an event; -1: never. */
int64_t streams_wake(const struct streams *s, int64_t now);

/* When all sandboxed processes are dead: reads the rest of the pipes.  True while
 * some of it waits for a reader outside (streams_poll, streams_step). */
bool streams_drain(struct streams *s);

void streams_done(struct streams *s);

/* ---- parts, one file each ---- */

/* How long to leave a terminal of another job, or a pty that no process has open, out of
 * poll(): it would report both at once and spin. */
#define RELAY_REST_MS 100

/* Both steps of it: the kind of file, and for a pipe or terminal a file description of its own. */
void outer_fd_init(struct outer_fd *s, int fd, int mode);
void outer_fd_examine(struct outer_fd *s, int fd);
void outer_fd_own(struct outer_fd *s, int mode);
void outer_fd_done(struct outer_fd *s);
ssize_t outer_fd_read(const struct outer_fd *s, char *data, size_t len);
ssize_t outer_fd_write(const struct outer_fd *s, const char *data, size_t len);

/* After a failed call: EAGAIN or EINTR. */
bool outer_fd_try_later(void);

#define FEED_NONE ((struct stdin_feed){.from.fd = -1, .to = -1, .unread = -1, .tap = LEAK_TAP_NONE})
void stdin_feed_poll(const struct stdin_feed *f, int64_t now, struct pollfd *from,
		     struct pollfd *to);
void stdin_feed_step(struct stdin_feed *f, int64_t now, short from, short to);
void stdin_feed_end(struct stdin_feed *f);
void stdin_feed_done(struct stdin_feed *f);

#define OUTPUT_NONE                                                                                \
	((struct output){.from = -1, .to.fd = -1, .left = SIZE_MAX, .tap = LEAK_TAP_NONE})
void output_poll(const struct output *p, int64_t now, struct pollfd *slot);
bool output_step(struct output *p, int64_t now, short seen);

/* When held bytes have to be released; -1: never. */
int64_t output_due(const struct output *p);
bool output_drain(struct output *p);
void output_done(struct output *p);

/* Bytes that reached neither the caller's descriptor nor the capture. */
uint64_t output_dropped(const struct output *p);

/* Moves the caller's file offset back over the bytes that the command left unread: those in
 * the chunk (held) and in the pipe, but never more than given. */
void stdin_feed_give_back(int source, int pipe, size_t held, uint64_t given);

/* Reopens a pipe or terminal, so that O_NONBLOCK does not affect the caller; -1 when the
 * descriptor does not have that access mode, or open() fails. */
int outer_fd_reopen(int fd, int flags);

#endif
