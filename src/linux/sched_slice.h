/* SPDX-License-Identifier: Apache-2.0 */
/* Shortens the time from wake-up to running of a process. */
#ifndef CORRAL_LINUX_SCHED_SLICE_H
#define CORRAL_LINUX_SCHED_SLICE_H

/* For a process that sleeps until it must kill the run.  System calls only. */
void sched_slice_shorten(void);

#endif
