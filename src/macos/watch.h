/* SPDX-License-Identifier: Apache-2.0 */
/* Waits for a command, enforces its limits and ends its processes. */
#ifndef CORRAL_MACOS_WATCH_H
#define CORRAL_MACOS_WATCH_H

#include "base/err.h"
#include "plan/plan.h"
#include "run/capture.h"

#include <sys/types.h>

enum macos_ending {
	ENDING_EXITED, /* or killed by a signal of its own */
	ENDING_TIMEOUT,
	ENDING_IDLE,   /* no output for too long */
	ENDING_MEMORY, /* of the sum of its processes, sampled */
	ENDING_PROCESSES,
	ENDING_UNMEASURED, /* the kernel gave no list of processes: a limit was not enforced */
};

struct macos_outcome {
	enum macos_ending ending;
	int status; /* of wait(2) */
	int64_t duration_ms, cpu_ms, max_memory;
	bool survivors; /* some processes could not be killed */
};

/* Waits for the command, with its output on the two descriptors (-1: not captured); kills every
 * process of the run before it returns. */
int macos_watch(const struct plan *plan, pid_t pid, const int output[2], struct capture captures[2],
		struct macos_outcome *ret, struct err *e);

#endif
