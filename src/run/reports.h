/* What pid 1 has told so far. */
#ifndef CORRAL_RUN_REPORTS_H
#define CORRAL_RUN_REPORTS_H

#include "run/run.h"

#include <poll.h>

struct reports {
	bool begun;   /* the command's execve succeeded */
	bool ended;   /* pid 1 told its end: nothing else is left inside */
	bool over;    /* nothing more will be told */
	bool failed;  /* err says why nothing ran, or why supervision ended */
	bool stopped; /* the command stopped or continued; cleared by who acts on it */
	bool halted;  /* which of the two */
	int pty;      /* the master, until somebody takes it; -1 */
	struct ending end;
	struct err err;
};

void reports_init(struct reports *s);
void reports_done(struct reports *s);

/* Reads every report that is waiting. */
void reports_read(struct reports *s, const struct child *c);

/* The descriptors on which every wait for a child waits: channel, first process, the gate's
 * line, samplers. */
#define REPORTS_SLOTS (3 + SAMPLERS)
void reports_poll(const struct child *c, struct pollfd slots[REPORTS_SLOTS]);
void reports_step(struct reports *s, struct child *c, const struct pollfd slots[REPORTS_SLOTS]);

/* Completes the story by what the run's processes wrote down, when all have ended. */
void reports_settle(struct reports *s, const struct run_state_copy *f);

/* 0 when the command ran; else *e says why it did not. */
int reports_check(const struct reports *s, struct err *e);

#endif
