/* SPDX-License-Identifier: Apache-2.0 */
/* The event feed: its subscribers, and the inotify watches of the time with subscribers. */
#ifndef CORRAL_SESSION_OVERVIEW_EVENTS_H
#define CORRAL_SESSION_OVERVIEW_EVENTS_H

#include "session/daemon_loop.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct daemon;
struct overview_subscriber;

struct overview_feed {
	struct overview_subscriber *first;
	struct overview_subscriber *next; /* of a delivery: changed by an unsubscribe */
	struct watch watch;               /* inotify; its descriptor is -1 without subscribers */
	int64_t due;                      /* of the next look at the records; 0: nothing changed */
	int64_t output_due;               /* of the next look at the output */
	unsigned changed;                 /* records that inotify has reported */
	json_int_t last_seq;              /* of the audit log; -1: not known */
	json_t *alive;                    /* the ids of plain runs that were alive */
};

bool overview_is_watched(const struct daemon *d);

/* Gives an event to every subscriber; steals the value, which may be NULL. */
void overview_event(struct daemon *d, const char *kind, json_t *value);

/* A command was started: its output is looked at soon. */
void overview_output_soon(struct daemon *d);

/* The pending copies have changed. */
void overview_pending_changed(struct daemon *d);

/* Reads the records that changed; returns the next deadline, CLOCK_MONOTONIC, or 0. */
int64_t overview_check(struct daemon *d, int64_t now);

/* Ends the watches and frees the lists. */
void overview_end(struct daemon *d);

#endif
