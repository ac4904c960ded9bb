/* SPDX-License-Identifier: Apache-2.0 */
/* The copy of a directory that a session gets when it is created (--copy).
 *
 * The commands of the session write to the copy, not to the original.  The copy is in a
 * directory beside the session's socket, and goes with the session. */
#ifndef CORRAL_SESSION_COPY_H
#define CORRAL_SESSION_COPY_H

#include "corral.h"

#include "session/daemon.h"

#include <limits.h>

/* An agent's instructions, tools and settings are a few megabytes; the runtime directory is often
 * in memory. */
#define COPY_BYTES_MAX ((uint64_t)64 * 1024 * 1024)
#define COPY_ENTRIES_MAX 10000U
#define COPY_DEPTH_MAX 64U

struct copy_report {
	char path[PATH_MAX]; /* of the copy */
	char text[1024];     /* for the session's activity; ASCII */
};

/* `dir` is relative to the current directory; `policy` is that of the session. */
int copy_make(const struct supervised *with, const struct corral_policy *policy, const char *dir,
	      struct copy_report *ret, struct corral_error *err);

#endif
