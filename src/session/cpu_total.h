/* SPDX-License-Identifier: Apache-2.0 */
/* The processor time of a session: of all its processes, also of those that have ended.
 *
 * A sandbox in a control group of its own (cgroup v2) has it in cpu.stat, exactly.  Elsewhere it is
 * sampled: each live process beneath the supervisor has its own time, and that of the children that
 * it has waited for.  The time of a child whose parent ignores SIGCHLD is in neither after its end.
 * So the total is kept between two samples, and grows by what is new:
 *
 *   - the own time of processes since the last sample;
 *   - the time of children that were waited for since then, less the time of the processes that are
 *     gone, which was counted while they ran.
 *
 * It is a lower bound: a process that lives between two samples, and whose parent ignores SIGCHLD,
 * is missing. */
#ifndef CORRAL_SESSION_CPU_TOTAL_H
#define CORRAL_SESSION_CPU_TOTAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct cpu_process;

/* Zeroed at first; cpu_total_done() frees it. */
struct cpu_total {
	int64_t ms;
	bool by_cgroup;           /* else sampled */
	int64_t ticks;            /* the same as ms, sampled */
	struct cpu_process *seen; /* by the last sample, in the order of their pids */
	size_t nseen;
	/* Of processes that the last sample did not find, and whose parent had no such time yet. */
	int64_t owed;
};

/* Where /proc and the file system of cgroup v2 are mounted. */
struct cpu_places {
	const char *proc, *cgroup;
};

/* Takes a sample.  -1: the supervisor, or its sandbox, is gone, or memory is out; *t is as before.
 */
int cpu_total_read(const struct cpu_places *places, pid_t supervisor, struct cpu_total *t);
void cpu_total_done(struct cpu_total *t);

#endif
