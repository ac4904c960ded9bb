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

#endif
