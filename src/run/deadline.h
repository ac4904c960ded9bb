/* SPDX-License-Identifier: Apache-2.0 */
/* The supervisor's deadlines, in milliseconds of clock_ms(); -1 is never.
 *
 * pid 1 enforces time-outs; these are for a pid 1 that no longer answers. */
#ifndef CORRAL_RUN_DEADLINE_H
#define CORRAL_RUN_DEADLINE_H

#include "plan/plan.h"

#include <stdint.h>

/* Time for pid 1 after ORDER_END: its grace period, and a second to kill all processes and
 * report. */
int64_t deadline_of_end(const struct plan *plan);

/* The deadline of a run that begins now. */
int64_t deadline_of_run(const struct plan *plan, int64_t now);

/* *at becomes the earlier one. */
void deadline_sooner(int64_t *at, int64_t candidate);

/* The time-out of poll(2) until at. */
int deadline_poll_ms(int64_t at, int64_t now);

#endif
