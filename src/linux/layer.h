/* A layer turns one part of the plan into kernel state.
 *
 * prepare() runs in the parent and may allocate; enter() runs in the child
 * between clone and exec, where only system calls are allowed: no malloc, no
 * lock, no stdio, no NSS.  No layer calls another; layers.c holds the order. */
#ifndef CORRAL_LINUX_LAYER_H
#define CORRAL_LINUX_LAYER_H

#include "base/arena.h"
#include "base/err.h"
#include "plan/plan.h"

#include <linux/filter.h>
#include <sys/types.h>

struct run_state;
struct journal;
struct wire_peers;

/* What the parent got ready for the child.  Pointers stay valid after clone:
 * the child has a copy of the parent's memory. */
struct kit {
	const struct plan *plan;
	const struct host *host;
	struct arena *arena;

	/* scratch */
	int lock_fd; /* of the run's directory, or of its changes; -1: none */

	/* wardens */
	struct run_state *fate; /* shared with the parent */
	int warden_fd;          /* pidfd of the warden or supervisor above; -1: none */

	/* user */
	char uid_map[64], gid_map[64];

	/* network */
	char echo_groups[32]; /* first and last group that may open echo sockets */

	/* mounts */
	bool follow; /* somebody outside wants the mount namespace */
	/* where the changes of an overlay go; -1: none */
	int cow_upper, cow_work;

	/* mounts, directory */
	mode_t umask; /* the caller's, found when it was put aside */

	/* landlock */
	int ruleset_fd; /* -1: none */
	int scope_fd;   /* a second one, that parts the guard from its warden and the command
			 * from its guard; -1: none */
	int circle_fd;  /* a third one, around the outer warden and all below it; -1: none */

	/* seccomp */
	struct sock_fprog filter; /* len 0: none */
	int listener_fd;          /* what the filter asks arrives here; -1 before, and without */

	/* fds: descriptors that survive; the child numbers 0..nfds-1 in this order */
	int *fds;
	size_t nfds;
	int channel_fd; /* kept above them, close-on-exec */

	/* broker */
	struct journal *journal;  /* shared with the parent; NULL: none */
	int gate_fd;              /* the channel to the gate; -1: none */
	struct wire_peers *peers; /* shared with the gate */
	struct ledger *refusals;  /* shared with the parent; NULL: there is no gate */

	/* terminal */
	bool want_pty;
	uint16_t rows, cols;

	/* exec */
	char *const *argv;
	char *const *envp;
	char *const *candidates; /* absolute paths to try, NULL-terminated */
	char **shell_argv; /* /bin/sh, slot for the path, arguments: for scripts without "#!" */
	bool rehearse;     /* everything but execve */
	bool attended;     /* REPORT_PEER will be answered */
	bool killable;     /* a caller that waits for an answer is woken by death alone */
	bool tell_start;   /* report the start at once: somebody waits for it */
	volatile bool start_failed; /* set by the command's process, which shares pid 1's memory */

	/* limits */
	unsigned char *processors; /* mask of those that the command is pinned to; NULL: none */
	size_t processors_len;

	/* cgroup */
	int cgroup_fd;       /* v2: for CLONE_INTO_CGROUP; -1: none */
	const int *join_fds; /* v1: to each of these the child writes "0" */
	size_t njoin_fds;
	bool waits;     /* for ORDER_JOIN: systemd moves the first process before set-up */
	int scope_join; /* which came with it; join_fds is this one then */
};

struct layer {
	const char *name;
	bool namespaces;                              /* for the namespaces engine alone */
	int (*prepare)(struct kit *k, struct err *e); /* parent; NULL when there is nothing to do */
	int (*warden)(struct kit *k,
		      struct err *e);               /* the outer warden, before it makes the rest */
	int (*enter)(struct kit *k, struct err *e); /* child; NULL likewise */
	int (*guard)(struct kit *k, struct err *e); /* the guard, when its warden has made it */
	int (*start)(struct kit *k, struct err *e); /* the command's process, before execve */
	void (*done)(struct kit *k);                /* parent, after the clone or on failure */
};

/* The order, in layers.c; NULL-terminated. */
extern const struct layer *const layers[];

extern const struct layer layer_scratch, layer_idmap, layer_cgroup, layer_inherited, layer_mounts,
	layer_network, layer_hostname, layer_quotas, layer_terminal, layer_directory, layer_limits,
	layer_capabilities, layer_landlock, layer_descriptors, layer_seccomp;

#endif
