/* SPDX-License-Identifier: Apache-2.0 */
/* A layer turns one part of the plan into kernel state.
 *
 * prepare() runs in the parent and may allocate; enter() runs in the child
 * between clone and exec, where only system calls are allowed: no malloc, no
 * lock, no stdio, no NSS.  No layer calls another; layers.c holds the order. */
#ifndef CORRAL_LINUX_LAYER_H
#define CORRAL_LINUX_LAYER_H

#include "base/arena.h"
#include "base/err.h"
#include "linux/processors.h"
#include "plan/plan.h"

#include <linux/filter.h>
#include <sys/types.h>
#include <termios.h>
#include <unistd.h>

struct early;
struct run_state;
struct timings;
struct journal;
struct wire_peers;
struct secrets;
struct warm_state;

/* Everything that the parent prepared for the child.  Pointers stay valid after clone:
 * the child has a copy of the parent's memory. */
struct kit {
	const struct plan *plan;
	const struct host *host;
	struct arena *arena;

	/* scratch */
	int lock_fd; /* flock(2)ed run directory or copy-on-write directory; -1: none */

	/* wardens */
	struct run_state *run_state; /* shared with the parent */
	struct timings *timings;     /* likewise; NULL: not wanted */
	const struct early *early;   /* which has taken the steps of linux/early.h; NULL: none */
	struct processors affinity;  /* the supervisor's mask, which each process of the run gets
				      * back when its part of the set-up is done */
	int warden_fd;               /* pidfd of the warden or supervisor above; -1: none */

	/* user */
	char uid_map[64], gid_map[64];

	/* network */
	char echo_groups[32]; /* value for net.ipv4.ping_group_range */

	/* mounts */
	bool follow; /* send the mount namespace to the supervisor (linux/follow.c, ask_file.c) */
	int root_fd; /* the new root, until layer pivot has entered it; -1: none */
	int view_fd; /* the mount namespace, until pid 1 sends it; -1: none, or sent */
	/* overlayfs upperdir and workdir; -1: none */
	int cow_upper, cow_work;
	int beneath_fd; /* the workspace's .git beneath the mount that pins it; -1: none */

	/* mounts, directory */
	mode_t umask; /* the caller's; from layer directory on that of the run */

	/* mounts, landlock */
	int *rule_fds; /* for each mount its source or its root, for a rule; -1: not open */

	/* landlock */
	int ruleset_fd; /* the plan's file rules; -1: none */
	int scope_fd;   /* second ruleset: the guard cannot signal its warden, nor the command its
			 * guard; -1: none */
	int circle_fd;  /* third ruleset, entered by the outer warden: signals stay below it;
			 * -1: none */

	/* seccomp */
	struct sock_fprog filter; /* len 0: none */
	int listener_fd;          /* seccomp user notifications; -1: not yet, or no broker */

	/* A layer leaves its descriptors below this number open: layer descriptors closes all with
	 * one call.  0: each is closed at once. */
	int leave_below;

	/* descriptors: these become 0..nfds-1 of the command */
	int *fds;
	size_t nfds;
	int channel_fd; /* nfds, close-on-exec */
	int stale_from; /* descriptors of the set-up from this number on are close-on-exec, and pid
			 * 1 closes them after the command's execve; 0: they are closed */

	/* broker */
	struct journal *journal;  /* shared with the parent; NULL: none */
	int gate_fd;              /* the channel to the gate; -1: none */
	int ask_fd;               /* the channel of --ask to the supervisor; -1: none */
	struct wire_peers *peers; /* shared with the gate */
	struct ledger *refusals;  /* shared with the parent; NULL without a gate */

	/* terminal */
	bool want_pty;
	uint16_t rows, cols;
	const struct termios *modes; /* NULL: the defaults of a pty */

	/* exec */
	char *const *argv;
	char *const *envp;
	const struct secrets *secrets; /* values in envp and in files; NULL: none */
	char *const *candidates;       /* absolute paths to try, NULL-terminated */
	char **shell_argv;          /* sh, slot for the path, arguments: for scripts without "#!" */
	struct warm_state *warm;    /* a session: a zygote instead of the command; NULL: none */
	volatile pid_t zygote;      /* set by the process that clones it */
	bool parked;                /* the command comes later (linux/parked.h) */
	bool rehearse;              /* do not execve the command */
	bool count_usage;           /* pid 1 or the guard records the usage in run_state */
	bool attended;              /* the supervisor answers REPORT_PEER */
	bool killable;              /* SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV is set */
	bool report_start;          /* send REPORT_STARTED at once */
	volatile bool start_failed; /* set by the command's process, which shares pid 1's memory */

	/* limits */
	unsigned char *processors; /* the command's CPU affinity mask; NULL: unchanged */
	size_t processors_len;
	uint64_t processes; /* of the user, at most (layers/limits.c); 0: no limit */

	/* cgroup */
	int cgroup_fd;       /* v2: for CLONE_INTO_CGROUP; -1: none */
	const int *join_fds; /* v1: files to which the child writes "0" */
	size_t njoin_fds;
	bool waits;     /* for ORDER_JOIN: systemd moves the first process before set-up */
	int scope_join; /* which came with it; join_fds is this one then */
};

/* For a descriptor that no layer needs any more; -1 is ignored.  Not for one that is open for
 * writing on a mount that becomes read-only (EBUSY). */
static inline void kit_leave_fd(const struct kit *k, int fd) {
	if (fd >= 0 && fd >= k->leave_below) {
		(void)close(fd); /* nothing useful can be done about a failing close */
	}
}

/* Pid 1, after the command's execve: closes the descriptors from stale_from on, but for its
 * signalfd and the listener, which were opened since.  In layers/descriptors.c. */
void descriptors_close_stale(const struct kit *k, int signals);

/* The same before the clone of the command's process, if that could not open its listener: the
 * signalfd, the last descriptor that was opened, has nearly the number of the command's
 * RLIMIT_NOFILE. */
void descriptors_make_room(struct kit *k, int signals);

struct layer {
	const char *name;
	bool namespaces; /* skipped by the engine without namespaces */
	/* Each may be NULL.  Parent, before the clone: */
	int (*prepare)(struct kit *k, struct err *e);
	/* Outer warden, before it clones the inner one: */
	int (*warden)(struct kit *k, struct err *e);
	/* Child: pid 1, or the process that becomes inner warden and guard: */
	int (*enter)(struct kit *k, struct err *e);
	/* Guard, after the inner warden has cloned it: */
	int (*guard)(struct kit *k, struct err *e);
	/* The command's process, before execve: */
	int (*start)(struct kit *k, struct err *e);
	/* Parent, after the clone or on failure: */
	void (*done)(struct kit *k);
};

/* The order, in layers.c; NULL-terminated. */
extern const struct layer *const layers[];

extern const struct layer layer_scratch, layer_idmap, layer_cgroup, layer_inherited, layer_mounts,
	layer_network, layer_pivot, layer_hostname, layer_quotas, layer_terminal, layer_directory,
	layer_limits, layer_capabilities, layer_landlock, layer_descriptors, layer_seccomp;

#endif
