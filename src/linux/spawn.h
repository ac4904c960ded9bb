/* One child in its own namespaces, and the channel between it and us.
 *
 * The child that clone3() makes becomes pid 1 inside (without a pid namespace: the outer
 * warden, above the guard, see linux/warden.h): it enters every layer,
 * starts the command with vfork semantics, reaps, forwards signals, enforces
 * the wall clock, and reports on the channel.  The channel is a SOCK_SEQPACKET
 * pair, so a message is whole or not there, and its end is the lifeline: when
 * the supervisor dies for any reason, pid 1 reads end-of-file and everything
 * inside dies with it. */
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

/* From pid 1 to the supervisor. */
enum report_kind {
	REPORT_ERROR = 1, /* err: nothing runs */
	REPORT_PTY,       /* the pty's master travels with this message */
	REPORT_STARTED,   /* the command's execve succeeded; a short one reports only its end */
	REPORT_STOPPED,   /* terminal runs: the command stopped or continued; status says which */
	REPORT_PEER, /* a terminal's one end travels with this; status is open(2)'s flags for the
		      * other, which ORDER_PEER brings */
	REPORT_VIEW, /* the mount namespace travels with this, for linux/follow.c */
	REPORT_EXIT, /* status is wait(2)'s; timed_out: the wall clock ended it; nothing but
		      * pid 1 is left inside */
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
	ORDER_END,        /* TERM to everything, grace, then the end */
	ORDER_PEER,       /* value: 0, and the descriptor travels with it; or -errno */
	ORDER_JOIN,       /* the run's cgroup.procs travels with it; only before set-up */
};

struct order {
	uint32_t kind;
	int32_t value;
};

/* Of a directory for a run's changes, ready to be used. */
struct cow_fds {
	int upper, work;
	int lock; /* the first process keeps it as long as it lives */
};

struct spawn_request {
	const struct plan *plan;
	const struct host *host;
	char *const *argv;
	int fds[3];          /* stdin, stdout, stderr for the command; ignored with terminal */
	const int *more_fds; /* numbered from 3 inside */
	size_t nmore_fds;
	const struct cow_fds *cow; /* for MOUNT_COW; NULL when the plan has none */
	bool terminal;
	uint16_t rows, cols;
	bool rehearse;   /* go through all of it and end where the command would begin */
	bool attended;   /* somebody reads the reports while the command runs */
	bool tell_start; /* report the start at once; else after a moment, or with the end */
};

struct cgroup;
struct follow;
struct journal;
struct ledger;

struct child {
	int pidfd;    /* of pid 1, or of the outer warden */
	pid_t pid;    /* its number, as we see it */
	int channel;  /* ours; non-blocking */
	bool wardens; /* there is no pid namespace: linux/warden.h */
	struct run_state *fate;
	struct cgroup *cgroup;   /* NULL when none */
	struct scope scope;      /* of systemd, in which the group is; or SCOPE_NONE */
	struct follow *follow;   /* files that are followed when the host replaces them; NULL */
	struct journal *journal; /* of what the command made that lasts; NULL when none */
	struct ledger *ledger;   /* of what the gate decided; NULL without a gate */
	struct ledger *refusals; /* of what pid 1 or the guard refused for want of it; likewise */
	struct gatekeeper gate;
	struct samplers samplers; /* of limits that no control group holds */
	const char *run_dir;      /* the plan's, to be removed at the end; NULL when none */
};

/* Starts the command; the first report has not been read yet.  On failure
 * nothing is left behind. */
int spawn_start(struct arena *a, const struct spawn_request *r, struct child *ret, struct err *e);

/* Reads one report; 1 when there was one, 0 when none is waiting, -1 when the
 * channel has ended.  *ret_fd receives the pty's master with REPORT_PTY, else -1. */
int spawn_read(const struct child *c, struct report *ret, int *ret_fd);

/* Answers REPORT_PEER; takes the descriptor that came with it. */
void spawn_give_peer(const struct child *c, int master, int flags);

/* Async-signal-safe. */
int spawn_order(const struct child *c, enum order_kind kind, int value);

/* -1 in a figure: not known. */
struct usage {
	int64_t cpu_ms;
	int64_t max_rss_kb;
	int64_t processes_peak;
	bool oom;               /* the kernel killed for memory in our cgroup */
	bool processes_limited; /* the pids controller refused a fork */
	struct run_state_copy
		fate; /* what the run's processes wrote down, after all of them ended */
};

/* Kills whatever is left inside, reaps the process that was started, reads the usage,
 * removes the cgroup and closes the descriptors.  Safe to call once, in any state. */
void spawn_finish(struct child *c, struct usage *ret);

/* The same without waiting, for a process that ends next and a sandbox that has
 * reported its end: pid 1 is alone then, and is on its way out.  The kernel
 * takes a tenth of a command's time to dismantle namespaces. */
void spawn_leave(struct child *c);

#endif
