/* SPDX-License-Identifier: Apache-2.0 */
/* Enforces limits.cpus by CPU affinity, where no cgroup limits the processor time.
 *
 * Theory.  A process that may run on N processors uses at most N seconds of processor time
 * per second, and so do all its children together: they inherit the mask, and the seccomp
 * filter refuses to change it (TRAIT_PINNED).  It needs no sampling.  It is coarser than a
 * quota: whole processors only, always the same ones, and the kernel drops the mask when all
 * of them go offline. */
#ifndef CORRAL_LINUX_PROCESSORS_H
#define CORRAL_LINUX_PROCESSORS_H

#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Keeps `count` of the processors in the mask, from number `first` on, with wrap-around.
 * Returns how many are left. */
int64_t processors_keep(unsigned char *mask, size_t len, int64_t count, size_t first);

/* A mask of `count` random processors among those of this process, so that several runs do not
 * all use the first ones.  NULL if this process may not use more than `count`. */
int processors_choose(struct arena *a, int64_t count, unsigned char **ret, size_t *ret_len,
		      struct err *e);

/* The kernel's largest set of processors is 8192. */
#define PROCESSORS_SIZE 1024

/* The CPU affinity mask of a thread. */
struct processors {
	size_t len; /* bytes that the kernel uses; 0: it cannot be read */
	unsigned char mask[PROCESSORS_SIZE];
};

/* Of this thread. */
void processors_read(struct processors *ret);

bool processors_are_several(const struct processors *p);

/* All but one, or one alone. */
void processors_without(struct processors *p, unsigned number);
void processors_only(struct processors *p, unsigned number);

/* A new process often starts on another processor, where it waits for those that run there, or for
 * a halted one to wake up.  Processes that clone each other and then sleep are faster on one.  So
 * the first process stays where it is while it sets the sandbox up, with the processes that it
 * clones.  The mask that they get back is an explicit one: the run does not use a processor that
 * its cgroup gets later.  System calls only; where the kernel refuses, nothing has changed. */
void processors_stay(void);

/* Gives a process, 0: this one, the mask that it had before.  0, or -errno if it has another one
 * and cannot get it.  System calls only. */
long processors_restore(pid_t pid, const struct processors *p);

#endif
