/* SPDX-License-Identifier: Apache-2.0 */
/* Limits without a cgroup: processes that measure a run and kill it.
 *
 *   supervisor ──┬── pid 1 of the sandbox, or the outer warden ── the command
 *                ├── sampler of memory and processes
 *                └── sampler of disk space
 *
 * Theory.  If this user cannot create a cgroup, the kernel limits neither the total memory
 * of several processes, nor the number of processes without a user namespace, nor the size
 * of a file tree.  So a process outside the sandbox measures them, and sends SIGKILL to pid 1
 * of the sandbox or the outer warden when a limit is exceeded: the rest of the run ends with
 * it (linux/init.c, linux/warden.h).  It runs outside, as a child of the supervisor, because
 * the command cannot signal, trace or stop it there, /proc shows every process there, and a
 * file system that hangs delays neither pid 1's timers nor the broker.  In a session it kills the
 * processes of one command, if that is enough (linux/sampler_trees.h), and the sampler of memory
 * and processes sleeps while no command runs: then nothing there can use more.
 *
 * Invariants:
 *  - a run without such a limit starts no sampler;
 *  - a sampler ends with the process that it watches, also without the supervisor;
 *  - a run ends if its sampler has ended without a result (OVERRUN_UNMEASURED).
 *
 * Not used: RLIMIT_AS and RLIMIT_DATA, because Go, Java, Node and the sanitizers reserve
 * gigabytes of address space, and thread stacks count with their full size; alternating
 * SIGSTOP and SIGCONT to slow a run down, because programs and their parents see both. */
#ifndef CORRAL_LINUX_SAMPLER_H
#define CORRAL_LINUX_SAMPLER_H

#include "base/err.h"
#include "linux/run_state.h"
#include "plan/plan.h"

#include <sys/types.h>

struct disk_growth;
struct warm_state;

enum { SAMPLER_USE, SAMPLER_DISK, SAMPLERS };

/* Their pidfds; -1: not started. */
struct samplers {
	int pidfd[SAMPLERS];
};

#define SAMPLERS_NONE ((struct samplers){.pidfd = {-1, -1}})

/* A run that has just been started.  growth: the result of disk_growth_begin(); NULL without
 * limits.disk. */
struct sampled_run {
	const struct plan *plan;
	struct run_state *run_state;
	int pidfd;
	pid_t pid;
	struct disk_growth *growth;
	struct warm_state *warm; /* a session's; NULL: none */
};

int samplers_start(const struct sampled_run *run, struct samplers *ret, struct err *e);

/* A sampler has ended during the run: records OVERRUN_UNMEASURED, unless it recorded a result. */
void samplers_lost(struct run_state *run_state);

/* Kills and reaps them. */
void samplers_end(struct samplers *s);

#endif
