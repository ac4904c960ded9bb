/* SPDX-License-Identifier: Apache-2.0 */
/* Sends changes of the host's resolv.conf and hosts file to the gate (gate/dns/update.h). */
#ifndef CORRAL_LINUX_RESOLV_WATCH_H
#define CORRAL_LINUX_RESOLV_WATCH_H

#include "gate/dns/update.h"

#include <poll.h>
#include <time.h>

enum resolv_watch_file { RESOLV_WATCH_RESOLV_CONF, RESOLV_WATCH_HOSTS, RESOLV_WATCH_FILES };

/* The identity and state of a file. */
struct resolv_watch_stamp {
	uint64_t dev, ino;
	int64_t size;
	struct timespec written, changed;
};

struct resolv_watch {
	int line;                   /* socket to the gate, which ends with it; -1: no gate */
	bool gate_ended;            /* the gate has ended */
	struct dns_update *update;  /* shared with it */
	const struct net_plan *net; /* the texts that the gate started with; outlives this */
	struct {
		bool sent;    /* the gate has the text in `update` */
		bool settled; /* no need to read while the stamp is the same */
		struct resolv_watch_stamp stamp;
	} files[RESOLV_WATCH_FILES];
};

#define RESOLV_WATCH_NONE ((struct resolv_watch){.line = -1})

/* For every poll(2) while the gate runs. */
void resolv_watch_poll(const struct resolv_watch *w, struct pollfd *slot);
void resolv_watch_step(struct resolv_watch *w, const struct pollfd *slot);

#endif
