/* Limits without a control group: processes that measure a run and kill it.
 *
 *   supervisor ──┬── pid 1 inside, or the outer warden ── the command
 *                ├── sampler of memory and processes
 *                └── sampler of disk space
 *
 * Theory.  Where this user may make no control group, nothing in the kernel bounds the
 * memory of several processes together, the number of processes without a user namespace,
 * or what a tree of files takes.  So a process outside the sandbox measures, and kills pid 1
 * inside or the outer warden with SIGKILL when a limit is exceeded: the rest of the run
 * ends with it (linux/init.c, linux/warden.h).  It stands outside, beside the supervisor,
 * because nothing of the command can signal, trace or stop it there, /proc shows every
 * process there, and a file system that hangs delays neither pid 1's clock nor the broker.
 *
 * Invariants:
 *  - a run without such a limit starts no sampler;
 *  - a sampler ends with the process that it watches, whatever happens to the supervisor;
 *  - a run whose sampler has ended without a verdict is ended (OVERRUN_UNMEASURED).
 *
 * Not used: RLIMIT_AS and RLIMIT_DATA, because Go, Java, Node and the sanitizers reserve
 * addresses by the gigabyte, and thread stacks count with their full size; SIGSTOP and
 * SIGCONT in turns to slow a run down, because programs and their parents see both. */
#ifndef CORRAL_LINUX_SAMPLER_H
#define CORRAL_LINUX_SAMPLER_H

#include "base/err.h"
#include "linux/run_state.h"
#include "plan/plan.h"

#include <sys/types.h>

struct disk_growth;

enum { SAMPLER_USE, SAMPLER_DISK, SAMPLERS };

/* Their pidfds; -1: not started. */
struct samplers {
	int pidfd[SAMPLERS];
};

#define SAMPLERS_NONE ((struct samplers){.pidfd = {-1, -1}})

/* Of a run that has just been started.  growth: what disk_growth_begin() measured; NULL without
 * a limit of disk space. */
struct sampled_run {
	const struct plan *plan;
	struct run_state *fate;
	int pidfd;
	pid_t pid;
	struct disk_growth *growth;
};

int samplers_start(const struct sampled_run *run, struct samplers *ret, struct err *e);

/* One of them has ended while the run goes on: says so, unless it has given its verdict. */
void samplers_lost(struct run_state *fate);

/* Kills and reaps them. */
void samplers_end(struct samplers *s);

#endif
