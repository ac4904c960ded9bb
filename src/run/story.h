/* What pid 1 has told so far. */
#ifndef CORRAL_RUN_STORY_H
#define CORRAL_RUN_STORY_H

#include "run/run.h"

struct story {
	bool begun;   /* the command's execve succeeded */
	bool ended;   /* pid 1 told its end: nothing else is left inside */
	bool over;    /* nothing more will be told */
	bool failed;  /* err says why nothing ran, or why supervision ended */
	bool stopped; /* job control stopped the command; cleared by who acts on it */
	int pty;      /* the master, until somebody takes it; -1 */
	struct ending end;
	struct err err;
};

void story_init(struct story *s);
void story_done(struct story *s);

/* Reads every report that is waiting. */
void story_read(struct story *s, const struct child *c);

/* 0 when the command ran; else *e says why it did not. */
int story_check(const struct story *s, struct err *e);

#endif
