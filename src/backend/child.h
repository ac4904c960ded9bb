/* SPDX-License-Identifier: Apache-2.0 */
/* The first process of a run with its channel, records and helpers, for its supervisor.
 *
 * struct child is each build's own, and the rows of one build share it; so do these functions,
 * which the linker finds (linux/child.c).  A supervisor has room for one and a pointer into it, and
 * looks into no struct child. */
#ifndef CORRAL_BACKEND_CHILD_H
#define CORRAL_BACKEND_CHILD_H

#include "backend/backend.h"

#include <poll.h>

#define CHILD_ROOM 384

struct journal;
struct ledger;

/* Room for the struct child of any build, in memory of the supervisor, which writes to the pages
 * around it after the clone in any case: another page would be copied then. */
struct child_room {
	_Alignas(max_align_t) unsigned char bytes[CHILD_ROOM];
};

/* ---- by the row that spawns it ---- */

/* *ret points into the room, which must not move until child_finish() or child_leave(). */
int child_spawn(const struct backend *b, struct arena *a, const struct spawn_request *r,
		struct child_room *room, struct child **ret, struct err *e);
int child_supervise(const struct child *c, struct report *ret, int *ret_fd);
void child_finish(struct child *c, struct usage *ret);

/* ---- while it runs ---- */

/* Becomes readable when the first process has ended. */
int child_pidfd(const struct child *c);

/* The stamps of the run; NULL: not wanted. */
struct timings *child_timings(const struct child *c);

/* How far the run got. */
struct run_state_copy child_state(const struct child *c);

/* Events of one poll(2). */
enum child_event {
	CHILD_REPORTS = 1,    /* reports may be waiting */
	CHILD_ENDED = 2,      /* the first process has ended: no report follows those waiting */
	CHILD_UNMEASURED = 4, /* a sampler of limits has ended; child_unmeasured() */
};

#define CHILD_SLOTS 6
void child_poll(const struct child *c, struct pollfd slots[CHILD_SLOTS]);

/* Serves the gate's questions and changes of resolv.conf, and returns the other events. */
unsigned child_step(struct child *c, const struct pollfd slots[CHILD_SLOTS]);

/* No report says why a sampler has ended: it did not end the run, so the limit is no longer
 * enforced, and the run state says so. */
void child_unmeasured(const struct child *c);

/* Follows files that the host replaces: when it is time; the time on the clock of `now`, -1:
 * never. */
void child_look(const struct child *c, int64_t now);
int64_t child_wake(const struct child *c);

/* The descriptor of REPORT_VIEW, which is the child's from now on. */
void child_take_view(const struct child *c, int view);

/* Answers REPORT_PEER; closes master. */
void child_give_peer(const struct child *c, int master, int flags);

/* The questions of the broker and of the gate for --ask; -1: none.  Borrowed. */
int child_ask(const struct child *c);
int child_ask_hosts(const struct child *c);

/* exec: the number of a command of a session, 0: of the run.  Async-signal-safe; -1 with errno. */
int child_order(const struct child *c, enum order_kind kind, uint64_t exec, int value);

/* ---- records ---- */

/* The logs of broker and gate in memory shared with the supervisor; complete when all sandboxed
 * processes are dead.  Each may be NULL. */
struct records {
	struct journal *journal;
	struct ledger *ledger, *refusals;
};

/* Borrowed; valid until the child is finished. */
struct records child_records(const struct child *c);

/* The caller's from now on, which frees them (run/records.h). */
struct records child_take_records(struct child *c);

/* ---- the end ---- */

/* Whether child_leave() may end the run, after REPORT_EXIT: there is no sampler to reap, and if the
 * caller wants a complete result, no gate to wait for and a usage that was counted. */
bool child_may_leave(const struct child *c, bool complete);

/* Like child_finish() without killing and waiting, for a caller that exits next. */
void child_leave(struct child *c, struct usage *ret);

/* ---- of a session ---- */

/* The processes that the OOM killer killed so far; 0 without a limit of memory. */
int64_t child_oom_kills(const struct child *c);

/* The number of commands with processes. */
size_t child_commands(const struct child *c);

/* The limit for which a sampler killed the processes of this command; OVERRUN_NONE: none did. */
enum overrun child_overrun(const struct child *c, uint64_t exec, int64_t *ret_value);

/* ---- its usage ---- */

struct meter;

/* Counts the processes of the run and their memory; NULL: this host does not say, or out of memory.
 * Ends before the child. */
struct meter *meter_new(const struct child *c);
void meter_free(struct meter *m); /* accepts NULL */

/* Without the sandbox's own processes, but with their memory.  False: not known; m may be NULL. */
bool meter_read(struct meter *m, uint64_t *ret_processes, uint64_t *ret_bytes);

#endif
