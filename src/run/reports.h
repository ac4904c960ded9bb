/* SPDX-License-Identifier: Apache-2.0 */
/* The reports that pid 1 has sent so far. */
#ifndef CORRAL_RUN_REPORTS_H
#define CORRAL_RUN_REPORTS_H

#include "run/run.h"

#include <poll.h>

struct reports {
	bool begun;   /* the command's execve succeeded */
	bool ended;   /* pid 1 reported the end: no other process is left in the sandbox */
	bool over;    /* no more reports will come */
	bool failed;  /* err is set: nothing ran, or supervision failed */
	bool stopped; /* the command stopped or continued; the reader clears it */
	bool halted;  /* stopped: true; continued: false */
	int pty;      /* the master, until it is attached, or a session's ptmx; -1 */
	int view;     /* the mount namespace, for --ask, until it is taken; -1 */
	struct ending end;
	struct err err;
};

void reports_init(struct reports *s);
void reports_done(struct reports *s);

/* Reads every report that is waiting. */
void reports_read(struct reports *s, const struct child *c);

/* After child_poll() and poll(2). */
void reports_step(struct reports *s, struct child *c, const struct pollfd slots[CHILD_SLOTS]);

/* poll(2).  0, with no events after a signal; -1: supervision has failed. */
int reports_wait(struct reports *s, struct pollfd *slots, nfds_t count, int timeout);

/* Completes the reports from the shared run state, when all processes have ended. */
void reports_settle(struct reports *s, const struct run_state_copy *f);

/* 0 when the command ran; else *e has the reason. */
int reports_check(const struct reports *s, struct err *e);

#endif
