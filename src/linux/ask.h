/* Asks a program of the host's once, and remembers its answer. */
#ifndef CORRAL_LINUX_ASK_H
#define CORRAL_LINUX_ASK_H

#include "plan/host.h"

/* As struct host's ask; ctx is the directory of Corral's state, or NULL. */
bool host_ask(const void *ctx, const struct program_query *q, struct buf *out);

#endif
