/* SPDX-License-Identifier: Apache-2.0 */
/* The attributes of this process that a command inherits from it, for the key of the pool
 * (linux/parked.h, J1). */
#ifndef CORRAL_LINUX_HERITAGE_H
#define CORRAL_LINUX_HERITAGE_H

#include "base/buf.h"

/* Appends all of them; -1 if one cannot be read, or is one that cannot be compared: a seccomp
 * filter. */
int heritage_read(struct buf *out);

#endif
