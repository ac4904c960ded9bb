/* Theory.  Under a fork storm hundreds of processes are runnable on each processor, and a
 * process that wakes waits for its turn among them: about a second.  Linux 6.12 orders waking
 * tasks by the length of their slice (EEVDF), so a task that asked for a short one runs next.
 * With CONFIG_SCHED_AUTOGROUP every session is scheduled as one entity, so this helps only a
 * process whose session has nothing else to run: init.c starts the command in its own.
 *
 * Should:   ask for the shortest slice.
 * Must not: be called before the command is started: a slice is inherited.
 * Fails:    open: before Linux 6.12 the run ends later under such a load. */
#include "linux/sched_slice.h"

#include "linux/kernel_api.h"

/* The shortest that the kernel takes. */
#define SLICE_NS 100000U

void sched_slice_shorten(void) {
	struct sched_attributes attr = {.size = sizeof attr};

	if (syscall(SYS_sched_getattr, 0, &attr, sizeof attr, 0U) == 0) {
		attr.runtime = SLICE_NS;
		(void)syscall(SYS_sched_setattr, 0, &attr, 0U); /* slower without */
	}
}
