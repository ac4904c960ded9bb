/* SPDX-License-Identifier: Apache-2.0 */
/* The leak scanner for requests that leave through the gate in plain HTTP (scan.net, T4). */
#ifndef CORRAL_RUN_NET_TAP_H
#define CORRAL_RUN_NET_TAP_H

#include "gate/scan.h"
#include "run/leak_tap.h"

struct net_request;

struct net_tap {
	struct leak_watch watch;      /* source NULL: not scanned */
	struct net_request *requests; /* SCAN_SLOTS, allocated with the first question; or NULL */
};

/* Answers the gate's questions on this socket; arg is the tap. */
void net_tap_serve(void *arg, int line);

void net_tap_done(struct net_tap *t);

#endif
