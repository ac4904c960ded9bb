/* What pid 1 has told so far. */
#ifndef CORRAL_RUN_STORY_H
#define CORRAL_RUN_STORY_H

#include "run/run.h"

#include <poll.h>

struct story {
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

void story_init(struct story *s);
void story_done(struct story *s);

/* Reads every report that is waiting. */
void story_read(struct story *s, const struct child *c);

/* The descriptors on which every wait for a child waits: channel, first process, the gate's
 * line, samplers. */
#define STORY_SLOTS (3 + SAMPLERS)
void story_poll(const struct child *c, struct pollfd slots[STORY_SLOTS]);
void story_step(struct story *s, struct child *c, const struct pollfd slots[STORY_SLOTS]);

/* Completes the story by what the run's processes wrote down, when all have ended. */
void story_settle(struct story *s, const struct fate_copy *f);

/* 0 when the command ran; else *e says why it did not. */
int story_check(const struct story *s, struct err *e);

#endif
