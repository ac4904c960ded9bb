/* SPDX-License-Identifier: Apache-2.0 */
/* Clones the sandbox's first process, talks to it over a channel, and ends it.
 *
 * The first process is pid 1 of a new pid namespace, or the outer warden where there is
 * none (linux/warden.h).  Supervisor and first process hold one end each of a
 * SOCK_SEQPACKET socket pair: reports go up, orders go down, and end-of-file means that
 * the other side died.  spawn.c explains the whole sequence.
 *
 * Invariants of the engine:
 *  E1  a layer that fails stops the run; nothing is skipped;
 *  E2  between clone3(2) and execve(2) the child makes system calls and nothing else;
 *  E3  set-up follows no symlink: sources by canonical path, targets beneath the new root,
 *      both with RESOLVE_NO_SYMLINKS, and a source is compared with the file that was
 *      planned;
 *  E4  every mount is nosuid, nodev (device nodes: noexec) and private, down to its last
 *      submount;
 *  E5  the command starts with descriptors that its caller named, and no other;
 *  E6  nothing inside outlives the command, the time-out, the supervisor, or any one or two
 *      of the sandbox's own processes for longer than a second, and the reason that the
 *      result gives is true;
 *  E7  a run leaves no process, mount, cgroup or file behind, and nothing in the workspace
 *      that the command did not write; nor when its processes were killed, except for the
 *      control group and mount points in its private home, which the next run removes. */
#ifndef CORRAL_LINUX_SPAWN_H
#define CORRAL_LINUX_SPAWN_H

#include "base/arena.h"
#include "base/err.h"
#include "linux/run_state.h"
#include "linux/gate_process.h"
#include "linux/sampler.h"
#include "linux/scope.h"
#include "plan/plan.h"

#include <stdint.h>
#include <sys/types.h>
#include <termios.h>

/* From pid 1 to the supervisor. */
enum report_kind {
	REPORT_ERROR = 1, /* err is set; no command runs */
	REPORT_PTY,     /* carries the pty's master, or a session's ptmx (O_PATH), in SCM_RIGHTS */
	REPORT_STARTED, /* execve succeeded; not sent when the command ends within 50 ms */
	REPORT_STOPPED, /* terminal runs: the command stopped or continued; status is wait(2)'s */
	REPORT_PEER,    /* carries a pty master whose slave pid 1 cannot open; status has open(2)'s
			 * flags; ORDER_PEER returns the slave */
	REPORT_VIEW,    /* carries the mount namespace's descriptor, for linux/follow.c */
	REPORT_EXIT,    /* status is wait(2)'s; timed_out: the wall clock ended the command; only
			 * pid 1 is left in the sandbox */
};

struct report {
	uint32_t kind;
	int32_t status;
	uint32_t timed_out;
	struct err err;
};

/* From the supervisor to pid 1. */
enum order_kind {
	ORDER_SIGNAL = 1, /* value: signal for the command's process group */
	ORDER_END,        /* SIGTERM to every process, after the grace period SIGKILL */
	ORDER_PEER,       /* value: 0, with the pty slave in SCM_RIGHTS; or -errno */
	ORDER_JOIN,       /* the run's cgroup.procs in SCM_RIGHTS; only before set-up */
	/* Of a session (linux/warm.h): */
	ORDER_EXEC_SIGNAL, /* value: signal for the process group of command `exec` */
	ORDER_EXEC_TREE,   /* value: signal for every process of its tree; one attempt */
	ORDER_EXEC_FREEZE, /* SIGKILL for its tree, with the session stopped meanwhile */
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

struct secrets;

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

struct cgroup;
struct follow;
struct journal;
struct ledger;
struct warm_state;

struct child {
	int pidfd;    /* of the first process: pid 1, or the outer warden */
	pid_t pid;    /* its pid in the caller's pid namespace */
	int channel;  /* the supervisor's end */
	int ask;      /* the questions of the broker (linux/ask.h); -1: none */
	bool wardens; /* there is no pid namespace: linux/warden.h */
	bool adopted; /* by a process that is not its parent: linux/parked.h */
	int memory;   /* of a parked one: run state and journal; -1: none */
	struct run_state *run_state;
	struct timings *timings; /* the caller's; NULL: not wanted */
	struct cgroup *cgroup;   /* NULL: none */
	struct scope scope;      /* systemd's scope around the cgroup; SCOPE_NONE: none */
	struct follow *follow;   /* remounts files that the host replaces; NULL: none */
	struct journal *journal; /* lasting files that the command created; NULL: none */
	struct warm_state *warm; /* a session's; NULL: none */
	struct ledger *ledger;   /* the gate's decisions; NULL without a gate */
	struct ledger *refusals; /* connects that pid 1 or the guard refused because the gate was
				  * not reachable; NULL without a gate */
	struct gate_process gate;
	struct samplers samplers; /* enforce the limits that have no cgroup controller */
	const char *run_dir;      /* removed at the end; NULL: none */
};

/* Clones the first process and returns without reading a report: the set-up may still fail
 * with REPORT_ERROR.  On failure no process, cgroup or directory is left behind. */
int spawn_start(struct arena *a, const struct spawn_request *r, struct child *ret, struct err *e);

/* Reads one report: 1, 0 when none is queued, -1 at end-of-file.  *ret_fd receives the
 * descriptor that came with REPORT_PTY, REPORT_PEER or REPORT_VIEW, else -1. */
int spawn_read(const struct child *c, struct report *ret, int *ret_fd);

/* Answers REPORT_PEER with ORDER_PEER; closes master. */
void spawn_give_peer(const struct child *c, int master, int flags);

/* Async-signal-safe. */
int spawn_order(const struct child *c, enum order_kind kind, int value);

/* The same for a command of a session. */
int spawn_order_exec(const struct child *c, enum order_kind kind, uint64_t exec, int value);

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

/* Kills every process that is left in the sandbox, reaps the first one, reads the usage,
 * removes the cgroup and closes the descriptors.  Safe to call once, in any state. */
void spawn_finish(struct child *c, struct usage *ret);

/* Like spawn_finish() without killing and waiting: for a caller that exits next, after
 * REPORT_EXIT, when only pid 1 is left and it exits by itself.  The usage is the one that pid 1
 * counted, if the request wanted it.  The kernel needs a tenth of a short command's time to tear
 * the namespaces down. */
void spawn_leave(struct child *c, struct usage *ret);

/* Only where the filter sends every call that creates a name to the broker, or every execve(2). */
bool spawn_keeps_journal(const struct plan *plan);

/* Frees the memory that supervisor and child shared; for spawn.c, spawn_end.c and
 * parked_give.c. */
void spawn_free_records(struct child *c);

#endif
