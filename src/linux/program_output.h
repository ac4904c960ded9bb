/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a program of the host for one of its settings, and caches the output. */
#ifndef CORRAL_LINUX_PROGRAM_OUTPUT_H
#define CORRAL_LINUX_PROGRAM_OUTPUT_H

#include "plan/host.h"

#include <stdint.h>

/* Implements `ask` of struct host; ctx is the directory of Corral's state, or NULL. */
bool program_output(const void *ctx, const struct program_query *q, struct buf *out);

/* Runs argv[0], a path, in the root directory with this environment, for `ms` at most; appends its
 * stdout.  Whether it exited with 0. */
bool program_output_run(const char *const *argv, const char *const *env, int64_t ms,
			struct buf *out);

#endif
