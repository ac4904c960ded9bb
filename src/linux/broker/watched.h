/* SPDX-License-Identifier: Apache-2.0 */
/* Records attempts to read, execute or find a file that the sandbox does not show. */
#ifndef CORRAL_LINUX_BROKER_WATCHED_H
#define CORRAL_LINUX_BROKER_WATCHED_H

#include "data/denial_ops.h"
#include "linux/broker/call.h"

/* Lets the call pass (K1: nothing is checked), then records its path if no mount shows it. */
long watched_pass(const struct call *c, int dirfd, uint64_t address, enum denial_op op);

#endif
