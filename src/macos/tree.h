/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of a run on macOS, which has no pid namespace and no cgroup: the descendants of the
 * first one, the members of its session, and every process that was one of these before. */
#ifndef CORRAL_MACOS_TREE_H
#define CORRAL_MACOS_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* More are not followed, and the run ends: nothing could end them later. */
#define TREE_MAX 4096

/* A pid may be used again: the start time distinguishes two processes. */
struct member {
	pid_t pid;
	uint64_t started_us;
};

struct tree {
	pid_t first;
	struct member members[TREE_MAX];
	size_t count;
	bool full;
};

/* A living process, as the kernel lists it. */
struct process {
	pid_t pid, parent, session;
	uint64_t started_us;
};

struct tree_usage {
	uint64_t memory; /* bytes, of all living ones */
	uint64_t cpu_ns; /* of all that were seen, with their waited-for children */
	size_t processes;
};

/* Adds the new processes of a list of all, and drops those that are not in it; never `self`. */
void tree_update(struct tree *t, const struct process *all, size_t n, pid_t self);

/* Lists all processes, and measures those of the run; -1 when the kernel gives no list. */
int tree_sample(struct tree *t, struct tree_usage *ret);

/* SIGKILL to every process, again until none is left or it was tried often; false: some are. */
bool tree_kill(struct tree *t);

/* A signal to each, once. */
void tree_signal(struct tree *t, int signal);

#endif
