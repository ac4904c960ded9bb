/* SPDX-License-Identifier: Apache-2.0 */
/* Runs one command from start to result: streams, terminal, time, signals.
 *
 * Should:   relay or capture every byte, end when the command ends, leave the
 *           caller's descriptors, terminal modes and signal mask as they were.
 * Must not: wait for end-of-file on a pipe that a background child holds
 *           (when pid 1 is dead, all its processes are);
 *           hand a terminal, a socket, a device or a regular file to the command.
 * Fails:    closed: when supervision cannot be set up, the child is killed.
 *
 * Invariants of supervision:
 *  S1  corral_run() never hands a terminal, socket, device or regular file of the caller's
 *      to the command; it relays the bytes;
 *  S2  the caller's signal mask, terminal modes and descriptors are as before when the run
 *      ends. */
#ifndef CORRAL_RUN_RUN_H
#define CORRAL_RUN_RUN_H

#include "backend/backend.h"
#include "backend/child.h"
#include "base/arena.h"
#include "base/err.h"
#include "plan/plan.h"
#include "run/ask.h"
#include "run/capture.h"
#include "run/created.h"
#include "run/denials.h"
#include "run/hint.h"
#include "run/leak_tap.h"
#include "run/netlog.h"

#include <stdbool.h>
#include <stdint.h>

#define RUN_NULL (-1)
#define RUN_CAPTURE (-2)

/* Called once while the first process sets the sandbox up: work that only the result needs. */
struct run_meanwhile {
	void (*work)(void *arg); /* NULL: none */
	void *arg;
};

struct early;

struct run_request {
	const struct backend *backend;
	const struct plan *plan;
	const struct policy *policy; /* of the plan: hints name its origins */
	const struct host *host;
	char *const *argv;
	const struct secrets *secrets; /* the values of the plan's secrets; NULL: none */
	int in, out, err;              /* descriptor, RUN_NULL, or (out, err) RUN_CAPTURE */
	const int *more_fds;
	size_t nmore_fds;
	const struct cow_fds *cow;       /* for the plan's MOUNT_COW; NULL when it has none */
	struct timings *timings;         /* stamps of the run; NULL: not wanted */
	struct early *early;             /* the caller's early process; NULL: none */
	const struct leak_source *leaks; /* for plan->scan_*; NULL: nothing is scanned */
	const struct ask_request *ask;   /* --ask; NULL: nothing is asked */
	int cancel;                /* 0: none; a descriptor that becomes readable: end the run */
	struct output_watch watch; /* of captured streams */
	int pool;                  /* 0: none; a connection to a keeper (linux/parked.h) */
	struct run_meanwhile meanwhile;
	bool terminal; /* implies forward: a signal must not leave the terminal raw */
	bool forward;
	bool live;     /* err is a terminal: draw the live line there (live.h) */
	bool rehearse; /* set the sandbox up, but do not execute the command */
	bool session;  /* run_start(): a zygote instead of the command (run/session.h) */
	bool last;     /* the caller exits next: do not wait for the teardown of the sandbox */
};

enum reason {
	REASON_EXIT,
	REASON_SIGNAL,
	REASON_TIMEOUT,
	REASON_IDLE,
	REASON_OOM,
	REASON_LIMIT,     /* CPU time, file size, or a sampled limit: run_state.overrun */
	REASON_CANCELLED, /* by a signal to the supervisor */
	REASON_LEAK,      /* scan.output or scan.net is kill, and the command let a secret out */
	REASON_LOST,      /* a process of the sandbox was killed, which ended the command */
};

struct outcome {
	enum reason reason;
	int exit_code; /* -1 when it did not exit */
	int signal;    /* 0 when none */
	int64_t duration_ms;
	char *out, *err; /* malloc'ed, NUL-terminated; NULL when not captured */
	size_t out_len, err_len;
	uint64_t out_dropped, err_dropped;
	int stream_errors[3]; /* errno of the caller's descriptor that lost bytes, or 0 */
	struct usage usage;
	struct advice advice; /* after a failure: the rule that probably refused it */
	struct created created;
	struct denials denials;
	struct grants grants;
	struct netlog network;
	struct leak_log leaks;
	bool leaks_scanned; /* the whole output was scanned */
	bool warm;          /* in a sandbox of the pool */
};

/* Runs to the end.  0: the command ran, *ret is the outcome.  -1: it did
 * not run, *e has the reason (ERR_NOT_FOUND, ERR_NO_EXEC, ERR_SETUP). */
int run_command(struct arena *a, const struct run_request *r, struct outcome *ret, struct err *e);

/* In two steps, for corral_spawn and corral_wait: the command inherits the descriptors
 * themselves, without a relay.  Plan, policy and host must outlive the command. */
struct running {
	struct child_room room;
	struct child *child; /* in room: this struct must not move */
	const struct plan *plan;
	const struct policy *policy;
	const struct host *host;
	int64_t started_ms;
	int ptmx; /* of a session, O_PATH, in its devpts; -1: the host's /dev/ptmx */
};
int run_start(struct arena *a, const struct run_request *r, struct running *ret, struct err *e);

/* Waits for the end; r is invalid afterwards, also after an error. */
int run_wait(struct running *r, struct outcome *ret, struct err *e);

/* The files that the run left, and the calls that it was refused. */
void outcome_read_journal(struct outcome *o, const struct plan *plan, const struct policy *policy,
			  const struct host *host, const struct journal_part *part);

void outcome_done(struct outcome *o);
const char *outcome_reason_name(enum reason r);

/* How a command ended, as pid 1 reported it. */
struct ending {
	int status;     /* wait(2)'s */
	bool timed_out; /* the wall clock ended it */
	bool forced;    /* the supervisor ended it, for `force` */
	enum reason force;
	bool lost; /* no report: a process of the sandbox was killed */
};

/* After a failure of the command: the rule that probably refused it, guessed from the last bytes of
 * stderr and stdout, or from a refusal that broker or gate recorded. */
void outcome_advise(struct outcome *o, const struct plan *plan, const struct policy *policy,
		    const struct journal *j, struct output_tail *const tails[2]);

/* Whether the run has a limit of setrlimit(2) for this resource. */
bool outcome_limited(const struct plan *plan, int resource);

/* Usage, reason, exit code and signal. */
void outcome_fill(struct outcome *o, const struct ending *end, const struct usage *u,
		  const struct plan *plan);
/* The signal that ended the command, or a process of it: the OOM killer's may leave the first
 * process, which exits then; 0: none. */
int outcome_signal(const struct outcome *o);

/* The reason of an ending. */
enum reason outcome_reason(const struct ending *end, const struct usage *u,
			   const struct plan *plan);

#endif
