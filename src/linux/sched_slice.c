/* SPDX-License-Identifier: Apache-2.0 */
/* Sets the shortest scheduler slice for this process (sched_setattr).
 *
 * Theory.  Under a fork bomb hundreds of processes are runnable on each processor, and a
 * process that wakes up waits about a second for its turn.  Linux 6.12 orders waking tasks
 * by the length of their slice (EEVDF), so a task with a short one runs next.  With
 * CONFIG_SCHED_AUTOGROUP the scheduler treats every session as one entity, so this helps only
 * a process that is alone in its session: init.c starts the command in another one.
 *
 * Should:   set the shortest slice.
 * Must not: be called before the command is started: a slice is inherited.
 * Fails:    open: before Linux 6.12 the run ends later under such a load. */
#include "linux/sched_slice.h"

#include "linux/kernel_api.h"

/* The shortest that the kernel accepts. */
#define SLICE_NS 100000U

void sched_slice_shorten(void) {
	struct sched_attributes attr = {.size = sizeof attr};

	if (syscall(SYS_sched_getattr, 0, &attr, sizeof attr, 0U) == 0) {
		attr.runtime = SLICE_NS;
		(void)syscall(SYS_sched_setattr, 0, &attr, 0U); /* slower without */
	}
}
