/* SPDX-License-Identifier: Apache-2.0 */
/* Warm sandboxes: a sandbox that is set up once, and in which commands are started by a fork.
 *
 *   supervisor ──clone3──> pid 1 ──> zygote ──clone(VM|PARENT)──> leader ──vfork──> command
 *        │                   ▲                                      │                 └── …
 *        │  orders           │ leaders are its children             │ exit status
 *        ├── request, descriptors ──> a waiting leader              ▼
 *        └────────────────────────────────────── a socket for each command
 *
 * Without namespaces the guard, below its wardens, has the place of pid 1.
 *
 * 1. Set-up is that of a run (linux/spawn.c), up to the process that would execute the command.
 *    That process has entered every layer; it clones the zygote, which inherits them, the seccomp
 *    filter included.  So one listener serves all commands, and the broker is that of a run.
 * 2. A request is argv, environment, directory and rlimits, with the command's descriptors and the
 *    end of a socket that is its own (SCM_RIGHTS).  A leader reads it: the zygote has cloned some
 * in advance, which wait for a request.  Each serves one, and the zygote clones the next, so that a
 *    leader has nothing of an earlier command.
 * 3. The leader is a child subreaper: processes that the command leaves behind become its
 *    children, after setsid(2) and double forks too.  So a command's tree is the leader's
 *    descendants.  The leader starts the command, sends its exit status, and stays until the last
 *    of them has ended.
 * 4. Pid 1 signals trees on the supervisor's order, by a list of /proc; to kill one, its leader
 *    kills its children, too.  Pid 1 reaps leaders, and does all that it does in a run.  When the
 * zygote or a leader is killed, it ends the session.
 *
 * Zygote and leaders share one memory, so that a clone copies no page tables, and they make raw
 * system calls (base/raw_call.h).  The slots lie in memory that supervisor, pid 1, zygote and
 * leaders share.
 *
 * Invariants of sessions:
 *  Z1  a command of a session has entered every layer that the command of a run has entered;
 *  Z2  the zygote executes requests of the supervisor only: its socket is close-on-exec, and
 *      neither zygote nor leader is dumpable, so no command can take it, trace them or read their
 *      memory;
 *  Z3  a command starts with the descriptors that its request names, and no other;
 *  Z4  the end that a result reports is the command's own: no process of the sandbox has its
 *      status socket but the leader;
 *  Z5  a kill of one command's tree reaches all its processes, and no process of another command;
 *  Z6  when zygote or leader are killed the session ends, and commands that were running are
 *      reported as lost;
 *  Z7  no process of a session outlives its owner, its pid 1 or its guard;
 *  Z8  a tree that was ordered to be killed is killed until its leader has ended, by pid 1 or the
 *      guard alone: also when the supervisor does not wait for it. */
#ifndef CORRAL_LINUX_WARM_H
#define CORRAL_LINUX_WARM_H

#include "backend/backend.h"
#include "backend/warm.h"
#include "base/err.h"
#include "linux/census.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct kit;
struct order;
struct reaper;

/* Commands of a session whose processes are alive at once.  Each takes 160 KiB of addresses in the
 * zygote. */
#define WARM_SLOTS 512

/* A longer request comes in a memfd. */
#define WARM_INLINE ((size_t)64 * 1024)

/* The number of a leader that waits for a request. */
#define WARM_WAITS UINT64_MAX

/* One command.  The zygote takes a free slot; pid 1 frees it when it has reaped the leader. */
struct warm_slot {
	_Atomic uint64_t exec;  /* number of the command in its session; 0: free; WARM_WAITS */
	_Atomic int32_t leader; /* pid in the sandbox; stored by clone(2) */
	/* The command's pid, which is its process group and session; 0: not started or ended. */
	_Atomic int32_t command;
	/* Pid 1 signals the group: the leader must not reap the command, whose pid the kernel could
	 * reuse. */
	_Atomic uint32_t signalling;
	uint32_t attempts;       /* of pid 1, to kill the tree */
	_Atomic uint64_t doomed; /* the command whose tree has to be killed; 0: none; by pid 1 */
};

/* A sampler has killed the tree of a command (linux/sampler_trees.h). */
struct warm_overrun {
	_Atomic uint64_t exec;  /* its number, written last; 0: none */
	_Atomic uint32_t limit; /* enum overrun */
	_Atomic int64_t value;
};

/* The last of them: each is read when its command ends, which is soon. */
#define WARM_OVERRUNS 64

struct warm_state {
	struct warm_slot slots[WARM_SLOTS];
	struct warm_overrun overruns[WARM_OVERRUNS]; /* of the sampler alone to write */
	_Atomic uint32_t begun;    /* futex: requests that were read, modulo 2^32 */
	_Atomic uint32_t sleepers; /* samplers that wait for the next one */
};

/* ---- supervisor ---- */

int warm_state_new(struct warm_state **ret, struct err *e);
void warm_state_free(struct warm_state *w); /* accepts NULL */

/* ---- in the sandbox; system calls only ---- */

/* A request as it arrives. */
struct warm_inbox {
	struct warm_request request;
	char bytes[WARM_INLINE]; /* behind the request, as the message has them */
};

/* Status socket, memfd, descriptors of the command. */
#define WARM_PASSED_MAX (2 + WARM_FDS_MAX)

/* Waits for the next request: the number of its descriptors, 0 for one that is malformed, or -1
 * when no supervisor is left. */
long warm_receive(int socket, struct warm_inbox *in, int fds[WARM_PASSED_MAX]);

/* The arrays and strings: bytes, or those of the memfd, if it is not -1.  0 or -errno. */
long warm_map(struct warm_inbox *in, int memory, char **ret);

/* Offsets become pointers. */
void warm_relocate(char *data);

/* By a process that entered all layers: clones the zygote and returns its pid.  fd is the
 * zygote's socket. */
pid_t zygote_clone(struct kit *k, int fd, struct err *e);

/* Pid 1 has reaped a child, or the child was stopped; true: the session has to end. */
bool warm_reap(struct warm_state *w, pid_t zygote, pid_t pid, int status);

/* The number of the command that this process leads; 0: it is no leader. */
uint64_t warm_exec_of_leader(struct warm_state *w, pid_t pid);

/* The limit for which a sampler killed the tree of this command; OVERRUN_NONE: it did not. */
enum overrun warm_overrun_of(const struct warm_state *w, uint64_t exec, int64_t *ret_value);

/* The number of slots with a command. */
size_t warm_commands(const struct warm_state *w);

/* A slot has a command now: wakes the samplers that sleep in warm_wait(). */
void warm_begin(struct warm_state *w);

/* Sleeps until a slot has a command, 200 ms at most; true: none has. */
bool warm_wait(struct warm_state *w);

/* Whether the slot is of a command, and not free or of a leader that waits for one. */
static inline bool warm_has_command(const struct warm_slot *s) {
	uint64_t exec = atomic_load(&s->exec);

	return exec != 0 && exec != WARM_WAITS;
}

/* Pid 1 has marked the tree of this command: its leader kills its children, too. */
static inline bool warm_is_doomed(const struct warm_slot *s) {
	uint64_t doomed = atomic_load(&s->doomed);

	return doomed != 0 && doomed == atomic_load(&s->exec);
}

/* The signal by which a leader, which blocks all, learns of the mark; its bit in a set. */
#define WARM_MARKED SIGUSR1
#define WARM_EVENT(signal) (UINT64_C(1) << ((signal)-1))

/* The trees of commands, as pid 1 lists and kills them. */
struct warm_trees {
	int64_t at;           /* the next attempt to kill the marked ones; -1: none is marked */
	struct census census; /* of the session; closed while none is marked */
};

void warm_trees_init(struct warm_trees *t);

/* Executes an order about a command: ORDER_EXEC_SIGNAL or _TREE; with SIGKILL it marks the tree.
 * Does nothing for a command that has ended. */
void warm_execute(struct warm_trees *t, struct warm_state *w, const struct order *o);

/* Kills the marked trees, when an attempt is due. */
void warm_trees_kill(struct warm_trees *t, struct warm_state *w, const struct reaper *r,
		     int64_t now);

#endif
