/* SPDX-License-Identifier: Apache-2.0 */
/* Starts the daemon for a client that found none, if the user has allowed it (daemon.start). */
#ifndef CORRAL_CLIENT_ON_DEMAND_H
#define CORRAL_CLIENT_ON_DEMAND_H

#include "corral.h"

#include "client/places.h"

#include <stdint.h>
#include <sys/types.h>

struct on_demand {
	const struct places *places;
	char idle[32];    /* for --idle-exit */
	pid_t pid;        /* of the daemon that this process has started */
	int64_t deadline; /* CLOCK_MONOTONIC */
};

/* Starts a daemon.  -1: daemon.start is "no", and *err says how to change that. */
int on_demand_begin(struct on_demand *d, const struct places *p, struct corral_error *err);

/* Where no daemon can be reached: the remedy outside, or that of a command of a session. */
const char *on_demand_remedy(const char *outside);

/* Waits a moment until the next attempt to connect; starts another daemon if this one has ended,
 * because the one before it still held the lock.  -1: no daemon starts. */
int on_demand_wait(struct on_demand *d, struct corral_error *err);

#endif
