/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to the user about refused operations (`--ask`, `--ask-fd`).
 *
 * The broker and the gate send the calls that they would refuse and wait (backend/ask.h).  Calls of
 * the library judge it (struct ask_calls): what no grant could open is denied at once, what an
 * earlier answer covers is granted at once, and the rest becomes a question.  One of two front ends
 * shows it: ask_terminal.c on the caller's terminal, ask_line.c as a line of JSON.
 *
 * Invariants, cited by tests:
 *  Y1  only a valid answer of the user, to the question as it is shown, grants; a time-out, an end
 *      of file, a malformed answer, a full table and every error deny;
 *  Y2  the command cannot read, write or answer a question: it is on the caller's own terminal or
 *      descriptor, and while it is on the terminal neither output nor input is relayed there;
 *  Y3  questions are bounded: ASK_WAITING calls wait, ASK_QUESTIONS_MAX are asked in a run, and an
 *      equal one is asked again only after an answer "once". */
#ifndef CORRAL_RUN_ASK_H
#define CORRAL_RUN_ASK_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "backend/ask.h"

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <termios.h>

#define ASK_QUESTIONS_MAX 100

enum ask_verdict { ASK_DENY, ASK_GRANT, ASK_USER };

enum ask_reply { ASK_REPLY_NONE, ASK_REPLY_DENY, ASK_REPLY_ONCE, ASK_REPLY_RUN, ASK_REPLY_ALWAYS };
const char *ask_reply_name(enum ask_reply r);

/* The object of a question; the library allocates it, and ask_calls.release() frees it. */
struct ask_object {
	const char *op; /* "read", "write", "create", "connect" */
	char *name;     /* the real path; or host name and port */
	bool host;      /* it is a host */
	char *options;  /* of `corral run`, which "run" and "always" stand for */
	char *why;      /* the rule that refuses it, a sentence; or NULL */
	void *held;     /* the library's */
};

struct ask_calls {
	void *arg;
	enum ask_verdict (*consider)(void *arg, const struct ask_question *q,
				     struct ask_object *ret);
	/* For each call that waits for a file: a descriptor, or -errno. */
	int (*perform)(void *arg, const struct ask_object *o, const struct ask_question *q);
	/* Remembers an answer "run" or "always" for later calls; false: it could not be written to
	 * the user's file, and note, of size bytes, says why. */
	bool (*keep)(void *arg, const struct ask_object *o, bool always, char *note, size_t size);
	void (*release)(void *arg, struct ask_object *o);
	/* Gives the mount namespace of the sandbox away. */
	void (*take_view)(void *arg, int view);
};

/* The front end and calls of a run with --ask; NULL in the request of any other. */
struct ask_request {
	int fd;             /* a stream socket; -1: the terminal */
	bool daemon;        /* the socket is one to the daemon */
	int64_t timeout_ms; /* of each question */
	struct ask_calls calls;
};

/* The answers of a run, for its result. */
struct grant {
	const char *op, *name, *options;
	bool host;
	enum ask_reply reply;
	const char *by;   /* "user", "timeout", "error" */
	const char *note; /* or NULL */
	int64_t waited_ms;
	uint64_t count; /* calls that the answer was for */
};

struct grants {
	struct arena arena;
	struct grant *items;
	size_t count, cap;
	uint64_t more;   /* questions that the limits denied */
	bool asked;      /* the run had --ask */
	const char *end; /* why the front end ended before the run; NULL */
};
void ask_grants_done(struct grants *g);

/* ---- front ends ---- */

struct question {
	uint64_t id; /* 1, 2, …; 0: the entry is free */
	struct ask_object object;
	int64_t asked_at, until;
	bool shown;
};

struct asked_answer {
	uint64_t id;
	enum ask_reply reply;
};

enum ask_shown {
	ASK_SHOWN,
	ASK_SHOWN_LATER, /* another job has the terminal */
	ASK_SHOWN_NEVER, /* it cannot be shown, and is denied */
};

struct ask_front;
struct ask_front_calls {
	enum ask_shown (*show)(struct ask_front *f, const struct question *q, int64_t timeout_ms);
	/* reason NULL: it was answered. */
	void (*withdraw)(struct ask_front *f, const struct question *q, const char *reason);
	void (*poll)(const struct ask_front *f, struct pollfd *slot);
	/* 1: an answer; 0: none yet; -1: the front end has failed, *ret_why says how. */
	int (*step)(struct ask_front *f, const struct pollfd *slot, struct asked_answer *ret,
		    const char **ret_why);
	void (*done)(struct ask_front *f);
	bool one; /* one question at a time */
};

/* The most bytes of a typed answer. */
#define ASK_TYPED 16

struct ask_front {
	const struct ask_front_calls *calls;
	int fd;
	struct buf in, out; /* ask_line.c */
	bool daemon;        /* ask_line.c, for its messages */
	/* ask_terminal.c */
	struct termios before;
	bool drawn, spoiled;
	bool piped, unread; /* another program may print the command's output here (ask_output()) */
	int64_t calm_at; /* when its last output is on the terminal; 0: no question waits for it */
	uint64_t id;
	char code[4];
	char typed[ASK_TYPED + 1];
	size_t ntyped;
};

/* fd: a stream socket, borrowed. */
int ask_line_open(struct ask_front *f, int fd, struct err *e);
/* The controlling terminal of the process. */
int ask_terminal_open(struct ask_front *f, struct err *e);

/* Pure, for tests: an answer in a line of JSON without its newline; false: malformed. */
bool ask_line_parse(const char *line, size_t len, struct asked_answer *ret);
/* Pure: the name with every control, direction and invisible character escaped. */
void ask_put_name(struct buf *out, const char *name);

/* ---- a run ---- */

struct ask_waiter {
	uint64_t question; /* 0: the entry is free */
	struct ask_question call;
};

/* Allocated for a run that asks: the calls are large. */
struct ask_tables {
	struct question questions[ASK_WAITING];
	struct ask_waiter waiters[ASK_WAITING];
};

struct asker {
	const struct ask_request *r; /* NULL: the run does not ask */
	struct ask_front front;
	bool failed; /* the front end: everything is denied from now on */
	int channel; /* of the broker; borrowed, as the gate's; -1 */
	int gate;
	struct ask_tables *t; /* NULL: the run does not ask */
	uint64_t asked;       /* questions so far */
	int64_t again_at;     /* when to try to show a question again; -1 */
	uint64_t *denied;     /* hashes of denied objects: they are not asked again */
	size_t ndenied;
	struct grants log;
};

#define ASK_SLOTS 3

/* Opens the front end; before the run starts. */
int ask_begin_run(struct asker *a, const struct ask_request *r, struct err *e);
void ask_attach(struct asker *a, int channel, int gate);

void ask_poll(const struct asker *a, struct pollfd slots[ASK_SLOTS]);
void ask_step(struct asker *a, const struct pollfd slots[ASK_SLOTS], int64_t now);
/* Time-outs, and the next question of the terminal. */
void ask_clock(struct asker *a, int64_t now);
/* When ask_clock() is due; -1: never. */
int64_t ask_due(const struct asker *a);
/* Output goes to a pipe or a socket, and its reader has not taken all of it: before ask_clock(). */
void ask_output(struct asker *a, bool piped, bool unread);
/* A question is on the terminal, or waits for the last output: nothing else is written to the
 * terminal, or to a program that may write to it, and nothing is read from it. */
bool ask_has_terminal(const struct asker *a);
/* ^C: the question on the terminal is denied. */
void ask_interrupt(struct asker *a, int64_t now);
/* Denies all that wait, and restores the terminal.  *ret gets the answers. */
void ask_end_run(struct asker *a, struct grants *ret);

#endif
