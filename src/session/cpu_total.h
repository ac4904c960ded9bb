/* SPDX-License-Identifier: Apache-2.0 */
/* The processor time of a session: of all its processes, also of those that have ended.
 *
 * A sandbox in a control group of its own (cgroup v2) has it in cpu.stat, exactly.  Elsewhere it is
 * sampled: the sum over the live processes beneath the supervisor of their own time and of the time
 * of the children that they have waited for.  A process whose parent ignores SIGCHLD is missing in
 * that sum after its end, so a sample is a lower bound. */
#ifndef CORRAL_SESSION_CPU_TOTAL_H
#define CORRAL_SESSION_CPU_TOTAL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct cpu_total {
	int64_t ms;
	bool by_cgroup; /* else sampled */
};

/* Where /proc and the file system of cgroup v2 are mounted. */
struct cpu_places {
	const char *proc, *cgroup;
};

/* -1: the supervisor, or its sandbox, is gone. */
int cpu_total_read(const struct cpu_places *places, pid_t supervisor, struct cpu_total *ret);

#endif
