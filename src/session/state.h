/* SPDX-License-Identifier: Apache-2.0 */
/* The states of a session, and the table of its transitions.
 *
 * Should:   be the only place that decides which state follows.
 * Must not: perform the transition: session/store.c records it, session/live.c acts. */
#ifndef CORRAL_SESSION_STATE_H
#define CORRAL_SESSION_STATE_H

#include <stdbool.h>

enum session_state {
	SESSION_CREATED,  /* recorded; no process yet */
	SESSION_STARTING, /* its supervisor sets the sandbox up */
	SESSION_RUNNING,  /* commands can be executed */
	SESSION_STOPPING, /* its processes are being ended */
	SESSION_STOPPED,  /* ended as requested, or by its time-out */
	SESSION_FAILED,   /* could not start, or its supervisor or the daemon died */
	SESSION_STATES
};

enum session_event {
	EVENT_START, /* the daemon starts the supervisor */
	EVENT_READY, /* the sandbox exists */
	EVENT_STOP,  /* a client, the time-out or the end of the daemon ends it */
	EVENT_ENDED, /* the supervisor exited after a stop */
	EVENT_BROKE, /* the supervisor failed or died by itself, or the daemon died */
	SESSION_EVENTS
};

/* The state that follows; false: the event is not possible in this state. */
bool state_next(enum session_state from, enum session_event event, enum session_state *ret);

/* "CREATED", … */
const char *state_name(enum session_state state);

/* -1: not the name of a state. */
int state_by_name(const char *name);

/* STOPPED and FAILED: no event is possible. */
bool state_is_final(enum session_state state);

#endif
