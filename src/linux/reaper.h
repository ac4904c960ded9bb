/* SPDX-License-Identifier: Apache-2.0 */
/* Kills and reaps every process that a command has started. */
#ifndef CORRAL_LINUX_REAPER_H
#define CORRAL_LINUX_REAPER_H

#include "base/err.h"
#include "plan/plan.h"

struct reaper {
	bool kill_all; /* kill(-1) reaches the processes of the run and no other */
	int children;  /* otherwise: /proc/thread-self/children; -1: none */
};

int reaper_init(struct reaper *r, const struct plan *plan, struct err *e);

/* Signals every process of the run but ourselves: without kill_all only the children that
 * exist now. */
void reaper_signal(const struct reaper *r, int signal);

/* reaper_init() for the outer warden, which is a subreaper already.  Without kill_all and
 * without CONFIG_PROC_CHILDREN it signals no process; then the inner warden or the guard
 * kills them. */
void reaper_init_outer(struct reaper *r, const struct plan *plan);

/* Kills and reaps until no process is left, except those in uninterruptible sleep. */
void reaper_end(const struct reaper *r);

/* The same, but returns after ms: a killed process that is left then is in uninterruptible
 * sleep, waiting for a device, and ends when that returns. */
void reaper_end_within(const struct reaper *r, int ms);

/* Reaps until no child is left (true) or ms have passed.  SIGCHLD must be blocked. */
bool reaper_collect(int ms);

#endif
