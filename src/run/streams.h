/* Bytes between the caller's descriptors and the command's.
 *
 * Invariants, cited by tests:
 *  R1  the flags of a description that the caller shares are never changed;
 *  R2  nothing here blocks, and no more than one chunk a stream waits in
 *      memory (the capture's bounds come on top);
 *  R3  what the command did not read of a file stays with the caller, and of a
 *      pipe too unless it has read more than FEED_PEEK_MAX of it; a file's
 *      position never moves before where the run found it;
 *  R4  a reader that went away becomes SIGPIPE inside, never out here. */
#ifndef CORRAL_RUN_STREAMS_H
#define CORRAL_RUN_STREAMS_H

#include "base/err.h"
#include "run/capture.h"
#include "run/hint.h"

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <termios.h>

/* A pipe's usual capacity: larger reads would come back short. */
#define RELAY_CHUNK ((size_t)65536)

/* Looking before taking costs a round trip a page.  Who has read this much of a
 * pipe is not reading a line of a list; speed matters more then. */
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
	int to;     /* our end of the pipe, or the pty; -1 when it is over */
	int unread; /* seekable or a pipe: the command's end, kept to count what it left */
	bool pty;
	const struct termios *modes; /* of the caller's terminal: its keys; NULL */
	bool typed_stop, typed_end;  /* ^Z; ^C or ^\; cleared by who acts on it */
	bool room;                   /* the pipe takes something: wait for data next */
	int64_t rest_until;
	uint64_t given; /* bytes read from the caller */
	bool peeks;     /* a pipe that is shown before it is taken */
	size_t ahead;   /* bytes shown to the command and not yet taken from the caller */
	int error;      /* why the caller's descriptor gave no more, or 0 at its end */
	char *chunk;
	size_t at, len;
};

/* From the command to the caller's descriptor, to a capture, or away. */
struct output {
	int from;           /* our end of the pipe, or the pty; -1 when it is over */
	struct outer_fd to; /* fd -1: keep or discard */
	bool pty;
	bool keep;     /* the caller wants the capture */
	bool capped;   /* head to the descriptor, tail held until the end */
	bool draining; /* everything inside is dead */
	bool last;     /* the tail is being written */
	size_t left;   /* draining: what the pipe still holds */
	size_t pass;   /* capped: what the head still takes */
	int64_t rest_until;
	struct capture kept;
	struct overheard heard; /* the last that came, whoever it was for */
	int error;              /* why the caller's descriptor took no more; EPIPE is not a fault */
	char *chunk;
	size_t at, len;
};

enum stream { STREAM_IN, STREAM_OUT, STREAM_ERR, STREAM_COUNT };

struct streams {
	int inside[STREAM_COUNT]; /* what the command gets; -1: the sandbox's own /dev/null */
	struct stdin_feed feed;
	struct output pumps[2]; /* STREAM_OUT - 1, STREAM_ERR - 1 */
};

struct stream_wish {
	int fds[STREAM_COUNT]; /* descriptor, RUN_NULL or RUN_CAPTURE */
	int64_t limit;         /* bytes an output stream, or LIMIT_NONE */
	bool watched;          /* every byte must pass through us: there is an idle time-out */
	bool terminal;         /* streams_attach() follows when the pty is there */
};

/* On failure nothing stays open; streams_done() is allowed then too. */
int streams_open(struct streams *s, const struct stream_wish *given, struct err *e);

/* The command has its copies now. */
void streams_started(struct streams *s);

/* Takes the pty's master over. */
int streams_attach(struct streams *s, int master, struct err *e);

/* Poll slots: the feed uses two, each pump one. */
#define STREAM_SLOTS 4
void streams_poll(const struct streams *s, int64_t now, struct pollfd slots[STREAM_SLOTS]);

/* Moves what the slots say can move; true when output came or went. */
bool streams_step(struct streams *s, int64_t now, const struct pollfd slots[STREAM_SLOTS]);

/* True while a reader outside holds the command's output up. */
bool streams_held(const struct streams *s);

/* The earliest end of a rest that is still to come, or -1. */
int64_t streams_wake(const struct streams *s, int64_t now);

/* After everything inside is dead: takes what is left in the pipes.  True when
 * some of it still waits for a reader outside (streams_poll, streams_step). */
bool streams_drain(struct streams *s);

void streams_done(struct streams *s);

/* ---- pieces, one file each ---- */

/* How long to look away from a terminal that another job has, or from a pty
 * that no process has open: neither can be polled without spinning. */
#define RELAY_REST_MS 100

void outer_fd_init(struct outer_fd *s, int fd, int mode);
void outer_fd_done(struct outer_fd *s);
ssize_t outer_fd_read(const struct outer_fd *s, char *data, size_t len);
ssize_t outer_fd_write(const struct outer_fd *s, const char *data, size_t len);

/* After a failed call: nothing is wrong, it just cannot be now. */
bool outer_fd_try_later(void);

#define FEED_NONE ((struct stdin_feed){.from.fd = -1, .to = -1, .unread = -1})
void stdin_feed_poll(const struct stdin_feed *f, int64_t now, struct pollfd *from,
		     struct pollfd *to);
void stdin_feed_step(struct stdin_feed *f, int64_t now, short from, short to);
void stdin_feed_end(struct stdin_feed *f);
void stdin_feed_done(struct stdin_feed *f);

#define OUTPUT_NONE ((struct output){.from = -1, .to.fd = -1, .left = SIZE_MAX})
void output_poll(const struct output *p, int64_t now, struct pollfd *slot);
bool output_step(struct output *p, int64_t now, short seen);
bool output_drain(struct output *p);
void output_done(struct output *p);

/* Bytes that reached neither the caller's descriptor nor the capture. */
uint64_t output_dropped(const struct output *p);

/* Moves the caller's position back over what the command left unread: held
 * bytes of ours and what lies in the pipe, but never more than given. */
void stdin_feed_give_back(int source, int pipe, size_t held, uint64_t given);

/* A second description of the same pipe or terminal, so that its flags are our
 * own; -1 when the descriptor does not allow that access, or it cannot be. */
int outer_fd_reopen(int fd, int flags);

#endif
