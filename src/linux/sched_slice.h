/* How soon the scheduler runs a process after it wakes. */
#ifndef CORRAL_LINUX_SCHED_SLICE_H
#define CORRAL_LINUX_SCHED_SLICE_H

/* For a process that sleeps until it has to end the run.  System calls only. */
void sched_slice_shorten(void);

#endif
