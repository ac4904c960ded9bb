/* Which names an address was given for: the resolver's answers, remembered.
 *
 * Two names may share an address, so an address has a list of them. */
#ifndef CORRAL_GATE_GIVEN_H
#define CORRAL_GATE_GIVEN_H

#include "base/hostname.h"
#include "gate/judge.h"

#define GIVEN_MAX 4096 /* pairs of address and name; the oldest is forgotten first */
#define GIVEN_BUCKETS 1024

struct given_pair {
	struct ip ip;
	uint16_t next; /* 1 + index in the bucket's chain; 0: last */
	bool used;
	char name[HOSTNAME_MAX + 1];
	struct alias_ports but; /* at which it may not be reached */
};

struct given {
	uint16_t buckets[GIVEN_BUCKETS]; /* 1 + index */
	uint32_t at;                     /* the next to be written */
	struct given_pair pairs[GIVEN_MAX];
};

/* In zeroed memory nothing was given yet. */
void given_add(struct given *g, const struct ip *ip, const char *name,
	       const struct alias_ports *but);

/* The next name after *at, which begins with 0; NULL at the end. */
const char *given_name(const struct given *g, const struct ip *ip, size_t *at);

/* The rule by which the name that was told last, with this `at`, is denied at this port; NULL. */
const struct net_rule *given_deny(const struct given *g, size_t at, uint16_t port);

#endif
