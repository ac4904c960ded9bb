/* SPDX-License-Identifier: Apache-2.0 */
/* The seam between a run and its enforcement: one row of functions for each backend.
 *
 * Above it are policy, plan, streams, time, result and audit.  Below it is one room a backend:
 * src/linux is the kernel of this host; src/docker hands the plan to a container engine; src/macos
 * and src/windows are other builds.  A command and a plan go in; reports, usage and the
 * guarantees of the plan come out.  The build chooses which rows there are (rows_linux.c), the key
 * `backend` which of them a run uses.
 *
 * No type here belongs to an operating system: struct child is each build's own, and child.h has
 * the functions for it.
 *
 * Invariants of the seam:
 *  C1  a run uses the backend that its policy names, or it fails: no row stands in for another;
 *  C2  the report of guarantees is made by the row that runs the command, and says "enforced" only
 *      of a rule that this row enforces. */
#ifndef CORRAL_BACKEND_BACKEND_H
#define CORRAL_BACKEND_BACKEND_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "plan/plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Serves the gate's questions about requests (gate/scan.h), while the gate runs and while it
 * ends. */
struct gate_scanner {
	void (*serve)(void *arg, int line); /* NULL: nothing is scanned */
	void *arg;
};

/* The limit that a sampler found exceeded (linux/sampler.h). */
enum overrun {
	OVERRUN_NONE,
	OVERRUN_MEMORY,     /* value: bytes */
	OVERRUN_PROCESSES,  /* value: processes and threads */
	OVERRUN_DISK,       /* value: bytes added */
	OVERRUN_UNMEASURED, /* the sampler itself ended, so the limit was no longer enforced */
};

/* How far a run got (linux/run_state.h): it outlives every process of the run. */
struct run_state_copy {
	bool begun, ended, finished, timed_out, counted;
	int status;
	int64_t cpu_us, max_rss_kb;
	enum overrun overrun;
	int64_t overrun_value;
};

/* From the first process of a run (pid 1, warden, watcher of a container) to the supervisor. */
enum report_kind {
	REPORT_ERROR = 1, /* err is set; no command runs */
	REPORT_PTY,     /* carries the pty's master, or a session's ptmx (O_PATH), in SCM_RIGHTS */
	REPORT_STARTED, /* execve succeeded; not sent when the command ends within 50 ms */
	REPORT_STOPPED, /* terminal runs: the command stopped or continued; status is wait(2)'s */
	REPORT_PEER,    /* carries a pty master whose slave pid 1 cannot open; status has open(2)'s
			 * flags; ORDER_PEER returns the slave */
	REPORT_VIEW,    /* carries the mount namespace's descriptor, for linux/follow.c; as
			 * REPORT_STARTED not sent when the command ends within 50 ms */
	REPORT_EXIT,    /* status is wait(2)'s; timed_out: the wall clock ended the command; only
			 * pid 1 is left in the sandbox */
};

struct report {
	uint32_t kind;
	int32_t status;
	uint32_t timed_out;
	struct err err;
};

/* From the supervisor to the first process. */
enum order_kind {
	ORDER_SIGNAL = 1, /* value: signal for the command's process group */
	ORDER_END,        /* SIGTERM to every process, after the grace period SIGKILL */
	ORDER_PEER,       /* value: 0, with the pty slave in SCM_RIGHTS; or -errno */
	ORDER_JOIN,       /* the run's cgroup.procs in SCM_RIGHTS; only before set-up */
	/* Of a session (linux/warm.h): */
	ORDER_EXEC_SIGNAL, /* value: signal for the process group of command `exec` */
	ORDER_EXEC_TREE,   /* value: signal for every process of its tree, or of all trees if `exec`
			    * is 0; one attempt, but SIGKILL until none of them is left */
};

struct order {
	uint32_t kind;
	int32_t value;
	uint64_t exec; /* the number of a command of a session; 0: none */
};

/* Directories of a copy-on-write run (overlayfs), opened by the caller. */
struct cow_fds {
	int upper, work;
	int lock; /* flock(2)ed; the first process holds a copy as long as it lives */
};

struct early;
struct secrets;
struct termios;
struct timings;

struct spawn_request {
	const struct plan *plan;
	const struct host *host;
	char *const *argv;
	const struct secrets *secrets; /* the values of the plan's secrets; NULL: none */
	int fds[3];          /* stdin, stdout, stderr for the command; ignored with terminal */
	const int *more_fds; /* become 3, 4, ... of the command */
	size_t nmore_fds;
	const struct cow_fds *cow;   /* for MOUNT_COW; NULL when the plan has none */
	struct timings *timings;     /* stamps of the run; NULL: not wanted */
	struct early *early;         /* the caller's early process (backend/early.h); NULL: none */
	struct gate_scanner scanner; /* for plan->scan_net */
	bool terminal;
	uint16_t rows, cols;
	const struct termios *modes; /* of the pty; NULL: the defaults */
	bool asks;                   /* the caller answers the questions of child.ask */
	bool rehearse;     /* set the sandbox up completely, but do not execve the command */
	bool count_usage;  /* in the run state, for spawn_leave() */
	bool attended;     /* the caller reads REPORT_PEER while the command runs */
	bool report_start; /* send REPORT_STARTED at once, not after 50 ms */
	bool session;      /* no command: a zygote, whose socket is more_fds[0] (linux/warm.h) */
	bool parked;       /* it waits for its command on more_fds[0] (linux/parked.h) */
};

/* A figure of -1 is not known. */
struct usage {
	int64_t cpu_ms;
	int64_t max_rss_kb;
	int64_t processes_peak;
	int64_t oom_kills;               /* processes of our cgroup that the OOM killer killed */
	bool oom;                        /* there was one */
	bool memory_limited;             /* … because of the limit of this cgroup */
	bool processes_limited;          /* the pids controller refused a fork */
	struct run_state_copy run_state; /* read after every process of the run ended */
};

struct child;

struct backend {
	const char *name; /* the word of --backend */
	bool sessions;    /* corral_session_open() and the pool work with it */
	bool early;       /* spawn() takes an early process (backend/early.h) */

	/* The facts about this host that a plan of this policy needs; the caller's own facts (ids,
	 * directories, environment) are there already. */
	int (*probe)(struct arena *a, const struct policy *p, struct host *h, struct err *e);

	/* The plan, with every guarantee as this backend keeps it (C2). */
	int (*prepare)(struct arena *a, const struct policy *p, const struct host *h,
		       struct plan *ret, struct err *e);

	/* Starts the first process and returns without a report.  After a failure nothing is left
	 * behind. */
	int (*spawn)(struct arena *a, const struct spawn_request *r, struct child *ret,
		     struct err *e);

	/* Reads one report of a running command: 1, 0 when none is waiting, -1 when no more will
	 * come.  *ret_fd receives the descriptor that came with it, else -1. */
	int (*supervise)(const struct child *c, struct report *ret, int *ret_fd);

	/* Ends the rest of the run, reads its usage and frees everything.  Safe in any state;
	 * ret may be NULL. */
	void (*finish)(struct child *c, struct usage *ret);

	/* Completes the error of a command that did not start with the end of the output, which is
	 * not the command's then; NULL: the error is complete. */
	void (*explain)(const char *output, size_t len, struct err *e);

	/* One line for `corral status`: the mechanism, and whether this host has it. */
	void (*describe)(const struct policy *p, const struct host *h, struct buf *out);
};

/* The row that the policy's `backend` names; auto: the first of this build.  An error lists the
 * rows of this build (C1). */
int backend_choose(const struct policy *p, const struct backend **ret, struct err *e);

/* The rows of this build, NULL-terminated (rows_linux.c and its neighbours). */
extern const struct backend *const backends[];

/* Each stands in its room. */
extern const struct backend backend_linux, backend_docker, backend_podman;

#endif
