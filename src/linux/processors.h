/* Pins the command to some processors, where no control group bounds its processor time.
 *
 * Theory.  A process that may run on N processors takes at most N seconds of processor time
 * a second, and so do all its children together: the mask is inherited, and the filter refuses
 * to change it (TRAIT_PINNED).  The kernel keeps it without a sample.  It is coarser than a
 * quota: whole processors only, always the same ones, and the kernel drops the mask when all
 * of them are taken offline. */
#ifndef CORRAL_LINUX_PROCESSORS_H
#define CORRAL_LINUX_PROCESSORS_H

#include "base/arena.h"
#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

/* Keeps `count` of the processors in the mask, beginning at the one numbered `first` or
 * behind it, and around.  Returns how many are left. */
int64_t processors_keep(unsigned char *mask, size_t len, int64_t count, size_t first);

/* A mask of `count` processors among those that this process may use: random ones, so that
 * several runs do not share the first.  NULL when it may not use more than that anyway. */
int processors_choose(struct arena *a, int64_t count, unsigned char **ret, size_t *ret_len,
		      struct err *e);

#endif
