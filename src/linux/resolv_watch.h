/* SPDX-License-Identifier: Apache-2.0 */
/* Sends changes of the host's resolv.conf and hosts file to the gate (gate/dns/update.h). */
#ifndef CORRAL_LINUX_RESOLV_WATCH_H
#define CORRAL_LINUX_RESOLV_WATCH_H

#include "gate/dns/update.h"

#include <poll.h>
#include <time.h>

enum teller_file { TELLER_RESOLV_CONF, TELLER_HOSTS, TELLER_FILES };

/* The identity and state of a file. */
struct teller_stamp {
	uint64_t dev, ino;
	int64_t size;
	struct timespec written, changed;
};

struct teller {
	int line;                   /* socket to the gate, which ends with it; -1: no gate */
	bool gate_ended;            /* the gate has ended */
	struct dns_update *news;    /* shared with it */
	const struct net_plan *net; /* the texts that the gate started with; outlives this */
	struct {
		bool sent;    /* the gate has the text in `news` */
		bool settled; /* no need to read while the stamp is the same */
		struct teller_stamp stamp;
	} files[TELLER_FILES];
};

#define TELLER_NONE ((struct teller){.line = -1})

/* For every poll(2) while the gate runs. */
void resolv_watch_poll(const struct teller *t, struct pollfd *slot);
void resolv_watch_step(struct teller *t, const struct pollfd *slot);

#endif
