/* SPDX-License-Identifier: Apache-2.0 */
/* A session: one sandbox, in which commands are started and waited for (linux/warm.h).
 *
 * Should:   let several threads start commands and wait for them at once.
 * Must not: need a thread of its own: each wait serves the session as well.
 * Fails:    closed: a command of a session that has ended is lost, and no other is started. */
#ifndef CORRAL_RUN_SESSION_H
#define CORRAL_RUN_SESSION_H

#include "backend/journal.h"
#include "backend/warm.h"
#include "run/net_watch.h"
#include "run/reports.h"
#include "run/run.h"

#include <pthread.h>
#include <stdatomic.h>

/* Descriptors of the next command, made while another one runs: -1: none. */
struct session_spare {
	int ours, leaders; /* its status socket */
	int wake;
};

struct session {
	struct running running; /* its plan has no time-out: each command has its own */
	int requests;           /* the zygote's socket; -1 after the end */
	pthread_mutex_t lock;   /* of the fields below, of running and of the order of requests */
	uint64_t count;         /* commands so far */
	struct session_exec *first; /* those that were started and not released */
	struct session_spare spare;
	struct reports reports;
	bool over; /* its processes have ended, or are ending */
};

/* One command, as its caller wants it. */
struct session_command {
	struct warm_command warm;
	int in, out, err; /* as of struct run_request; RUN_CAPTURE for session_run() */
	const int *more_fds;
	size_t nmore_fds;
	int64_t timeout_ms, idle_ms, output_bytes; /* LIMIT_NONE: none */
	uint64_t key;                    /* the caller's, for session_kill_key(); 0: none */
	const struct leak_source *leaks; /* for plan->scan_output; NULL: nothing is scanned */
	uint16_t rows, cols;             /* with warm.terminal, for session_run() only */
	const struct termios *modes;     /* likewise; NULL: those of a new pty */
	struct output_watch watch;       /* of captured streams, in session_run() */
	struct net_listener net;         /* of the gate's decisions, in session_run() */
	void (*sent)(void *arg);         /* session_run() has sent it to the zygote; or NULL */
	void *sent_arg;
	/* session_run() has the outcome, and has not yet closed what the command needed; or NULL */
	void (*ended)(void *arg);
	void *ended_arg;
	void (*ready)(void *arg); /* ready_fd is readable, or session_run() waits for a reader */
	void *ready_arg;
	int ready_fd;
};

struct session_exec {
	struct session *session;
	struct session_exec *next; /* in the session's list */
	uint64_t number, key;
	int status; /* the caller's end of the status socket */
	int wake;   /* eventfd: session_kill() was called */
	int master; /* of its pty; -1: none */
	struct warm_message message;
	int64_t began, timeout_ms;
	struct warm_report report;
	bool reported;  /* the command has ended, or did not start */
	bool gone;      /* no process of its tree is left */
	bool ending;    /* SIGTERM was sent, or its end is near: the tree is killed at kill_at */
	bool timed_out; /* why it was ended */
	_Atomic int killed; /* likewise: enum reason; -1 */
	int64_t kill_at;    /* the next attempt to kill the tree; -1: none */
	int64_t give_up;    /* then the rest is left: it is in uninterruptible sleep */
	unsigned attempts;
	int64_t oom_kills; /* in the session before it */
	struct journal_part part;
	struct netlog before; /* the gate's decisions before it */
};

/* request.plan is copied without its time-outs; the rest of the request must outlive the session.
 */
int session_open(struct arena *a, const struct run_request *r, struct session *ret, struct err *e);

/* Kills every process of the session, and waits for their end. */
void session_close(struct session *s, struct usage *ret);

/* Starts a command; streams are its descriptors 0 to 2, or -1 for /dev/null.  Returns without
 * waiting for its start. */
int session_start(struct session *s, const struct session_command *c, const int streams[3],
		  struct session_exec *ret, struct err *e);

/* Makes the descriptors of the next command, if there are none: while a command runs, because then
 * no caller waits for this thread. */
void session_prepare_next(struct session *s);

/* Waits for its end, and releases it, also on failure.  -1: it did not start. */
int session_wait(struct session_exec *x, struct outcome *ret, struct err *e);

/* Both, with the streams relayed as corral_run() does. */
int session_run(struct session *s, const struct session_command *c, struct outcome *ret,
		struct err *e);

/* Kills the tree without waiting for it, and releases the command. */
void session_abandon(struct session_exec *x);

/* From any thread, while another waits. */
int session_signal(const struct session_exec *x, int number);
void session_kill(struct session_exec *x, enum reason why);

/* Kills the trees of all commands with this key; their number.  From any thread, at any time. */
size_t session_kill_key(struct session *s, uint64_t key);

/* Sets the size of the terminals of all commands with this key; their number. */
size_t session_resize_key(struct session *s, uint64_t key, uint16_t rows, uint16_t cols);

/* A new pty in the session's devpts. */
int session_pty_open(const struct session *s, const struct session_command *c, int *ret_master,
		     int *ret_slave, struct err *e);

/* Takes a command out of the session's list. */
void session_forget(struct session_exec *x);

/* For the thread that waits: kills the tree in its next turn. */
void session_kill_for(struct session_exec *x, enum reason why);

/* Signals every process of all commands; the number of commands with processes. */
int session_signal_all(const struct session *s, int number);
size_t session_commands(const struct session *s);

/* For poll(2): session_alive() serves its events.  Returns when it has to be called without one;
 * -1: never. */
int64_t session_poll(struct session *s, struct pollfd slots[CHILD_SLOTS]);

/* Whether the session still accepts commands; reads its reports. */
bool session_alive(struct session *s);

#endif
