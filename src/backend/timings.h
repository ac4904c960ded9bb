/* SPDX-License-Identifier: Apache-2.0 */
/* Time stamps of one run, in memory that the supervisor shares with its processes.
 *
 * A stamp is the moment at which a step ended.  A run whose caller does not want them has no such
 * memory, and timings_stamp() then reads no clock. */
#ifndef CORRAL_BACKEND_TIMINGS_H
#define CORRAL_BACKEND_TIMINGS_H

#include "base/err.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* More than a backend has layers. */
#define STEP_LAYERS 24

/* In the order of a run.  The steps of a layer have its index added. */
enum step {
	STEP_BEGIN,   /* the call of corral_run() or corral_spawn() */
	STEP_PROBE,   /* facts of the host */
	STEP_POLICY,  /* policy files and options */
	STEP_PLAN,    /* the vault and the plan */
	STEP_CHECK,   /* command rules, secrets in the arguments */
	STEP_RETRY,   /* attempts that the host refused, each with a new plan */
	STEP_RECORDS, /* private home, the entry of `corral ps`, the audit log */
	STEP_STREAMS, /* pipes or pty */
	STEP_PREPARE, /* prepare() of the layers, cgroup, gate */
	STEP_CLONE,   /* until the first process runs */
	STEP_SIGNALS, /* signal dispositions */
	STEP_WARDENS, /* without namespaces: the outer warden */
	STEP_ENTER,   /* enter() of a layer */
	STEP_SERVER = STEP_ENTER + STEP_LAYERS, /* the state of pid 1, or inner warden and guard */
	STEP_FORK,                              /* until the command's process runs */
	STEP_START,                             /* start() of a layer */
	STEP_EXECVE = STEP_START + STEP_LAYERS,
	STEP_COMMAND, /* until pid 1 or the guard has reaped the command */
	STEP_END,     /* the command's descendants are killed */
	STEP_REPORT,  /* until the supervisor has read REPORT_EXIT */
	STEP_FINISH,  /* wait for pid 1 and the gate, usage, cgroup */
	STEP_RESULT,  /* refusals, created files, the audit record */
	STEP_COUNT
};

struct timings {
	_Atomic int64_t at[STEP_COUNT]; /* CLOCK_MONOTONIC, ns; 0: the run has no such step */
};

/* Stamps STEP_BEGIN. */
int timings_new(struct timings **ret, struct err *e);
void timings_free(struct timings *t); /* accepts NULL */

/* Async-signal-safe; a system call only where the vDSO cannot read the clock. */
void timings_take(struct timings *t, size_t step);

static inline void timings_stamp(struct timings *t, size_t step) {
	if (t != NULL) {
		timings_take(t, step);
	}
}

/* Stamps STEP_RETRY and forgets the steps of the attempt before it; accepts NULL. */
void timings_retry(struct timings *t);

/* The name of a step, and of a layer's step the word before the layer's name, else "". */
const char *timings_name(size_t step, const char **ret_word);

/* The name of a layer of this build's backend by its index, for timings_name(); "": there is none.
 */
const char *timings_layer(size_t index);

#endif
