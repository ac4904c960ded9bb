/* SPDX-License-Identifier: Apache-2.0 */
/* The limits of a run on macOS, against its times and a sample of its processes. */
#ifndef CORRAL_MACOS_LIMITS_H
#define CORRAL_MACOS_LIMITS_H

#include "macos/tree.h"
#include "macos/watch.h"

/* Of a monotonic clock. */
struct macos_times {
	int64_t began_ms, heard_ms; /* heard: the last output */
	int64_t now_ms;
};

/* The limit that is exceeded; ENDING_EXITED for none.  use is NULL when nothing was measured; full:
 * more processes than can be followed. */
enum macos_ending macos_limits(const struct plan *plan, const struct macos_times *t,
			       const struct tree_usage *use, bool full);

/* The time between SIGTERM and SIGKILL. */
int64_t macos_grace_ms(const struct plan *plan);

#endif
