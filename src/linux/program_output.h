/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a program of the host for one of its settings, and caches the output. */
#ifndef CORRAL_LINUX_PROGRAM_OUTPUT_H
#define CORRAL_LINUX_PROGRAM_OUTPUT_H

#include "plan/host.h"

/* Implements `ask` of struct host; ctx is the directory of Corral's state, or NULL. */
bool program_output(const void *ctx, const struct program_query *q, struct buf *out);

#endif
