/* SPDX-License-Identifier: Apache-2.0 */
/* Records how far a run got, in memory that its processes share with the supervisor.
 *
 * A report is lost when its sender is killed.  This record outlives every process of the
 * run, so the supervisor never reports "nothing ran" for a command that ran. */
#ifndef CORRAL_LINUX_RUN_STATE_H
#define CORRAL_LINUX_RUN_STATE_H

#include "backend/backend.h"
#include "base/err.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct run_state {
	_Atomic uint32_t begun;     /* the command's process is about to call execve(2) */
	_Atomic uint32_t ended;     /* the command has ended, and status is wait(2)'s */
	_Atomic uint32_t finished;  /* pid 1 or the guard has killed the command's descendants */
	_Atomic uint32_t timed_out; /* the wall clock ended the command */
	_Atomic int32_t status;
	_Atomic uint32_t counted; /* cpu_us and max_rss_kb, of every process of the run */
	_Atomic int64_t cpu_us, max_rss_kb;
	_Atomic int64_t overrun_value; /* written before overrun */
	_Atomic uint32_t overrun;      /* enum overrun: why a sampler killed the run */
};

int run_state_new(struct run_state **ret, struct err *e);
struct run_state_copy run_state_read(const struct run_state *f); /* NULL: all zero */

/* By pid 1 or the guard, when every other process of the run has ended and was reaped: records the
 * usage.  System calls only. */
void run_state_count(struct run_state *s);
void run_state_free(struct run_state *f); /* accepts NULL */

#endif
