/* Tells the gate when the host's resolv.conf or hosts file has changed (gate/dns/update.h). */
#ifndef CORRAL_LINUX_RESOLV_WATCH_H
#define CORRAL_LINUX_RESOLV_WATCH_H

#include "gate/dns/update.h"

#include <poll.h>
#include <time.h>

enum teller_file { TELLER_RESOLV_CONF, TELLER_HOSTS, TELLER_FILES };

/* Which file it was, and in which state. */
struct teller_stamp {
	uint64_t dev, ino;
	int64_t size;
	struct timespec written, changed;
};

struct teller {
	int line;                   /* to the gate, whose life hangs on it; -1: there is none */
	bool unheard;               /* the gate is gone */
	struct dns_update *news;    /* shared with it */
	const struct net_plan *net; /* what the gate has known from the start; outlives this */
	struct {
		bool told;    /* the text in `news` is what it knows */
		bool settled; /* nothing to read while the stamp is the same */
		struct teller_stamp stamp;
	} files[TELLER_FILES];
};

#define TELLER_NONE ((struct teller){.line = -1})

/* For every wait while the gate lives. */
void resolv_watch_poll(const struct teller *t, struct pollfd *slot);
void resolv_watch_step(struct teller *t, const struct pollfd *slot);

#endif
