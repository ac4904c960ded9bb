/* Asks a program of the host's once, and remembers its answer. */
#ifndef CORRAL_LINUX_PROGRAM_OUTPUT_H
#define CORRAL_LINUX_PROGRAM_OUTPUT_H

#include "plan/host.h"

/* As struct host's ask; ctx is the directory of Corral's state, or NULL. */
bool program_output(const void *ctx, const struct program_query *q, struct buf *out);

#endif
