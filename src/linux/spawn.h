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
 *      control group and mount points in its private home, which the next run removes.
 *  E8  the early process and the network process (linux/early.h), which share the supervisor's
 *      memory, make raw system calls only, write to their own struct and stacks alone, and block
 *      every signal; they take only steps of layers that no plan changes, none that changes the
 *      shared memory's attributes, and execute nothing; they end with the thread that started
 *      them.  The command has the supervisor's CPU affinity mask before it is executed.  A run
 *      without these processes, or to which the kernel refused a namespace, runs all the same;
 *      one of whose processes was killed ends; and no first process is cloned twice. */
#ifndef CORRAL_LINUX_SPAWN_H
#define CORRAL_LINUX_SPAWN_H

#include "backend/backend.h"
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

struct cgroup;
struct follow;
struct journal;
struct ledger;
struct warm_state;

struct child {
	const struct backend *backend; /* whose spawn() made it; set by child_spawn() */
	int pidfd;                     /* of the first process: pid 1, or the outer warden */
	pid_t pid;                     /* its pid in the caller's pid namespace */
	int channel;                   /* the supervisor's end */
	int ask;                       /* the questions of the broker (backend/ask.h); -1: none */
	bool wardens;                  /* there is no pid namespace: linux/warden.h */
	bool inner;                    /* pid 1 has placeholders to remove: broker/placeholder.h */
	bool adopted;                  /* by a process that is not its parent: linux/parked.h */
	int memory;                    /* of a parked one: run state and journal; -1: none */
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
	const struct container_run
		*container; /* of a container engine (docker/container.h); NULL */
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
