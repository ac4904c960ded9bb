/* Which names an address was given for: the resolver's answers, remembered.
 *
 * Two names may share an address, so an address has a list of them. */
#ifndef CORRAL_GATE_DNS_NAMES_H
#define CORRAL_GATE_DNS_NAMES_H

#include "base/hostname.h"
#include "net/judge.h"

#define DNS_NAMES_MAX 4096 /* pairs of address and name; the oldest is forgotten first */
#define DNS_NAMES_BUCKETS 1024

struct dns_names_pair {
	struct ip ip;
	uint16_t next; /* 1 + index in the bucket's chain; 0: last */
	bool used;
	char name[HOSTNAME_MAX + 1];
	struct alias_ports but; /* at which it may not be reached */
};

struct dns_names {
	uint16_t buckets[DNS_NAMES_BUCKETS]; /* 1 + index */
	uint32_t at;                         /* the next to be written */
	struct dns_names_pair pairs[DNS_NAMES_MAX];
};

/* In zeroed memory nothing was given yet. */
void dns_names_add(struct dns_names *g, const struct ip *ip, const char *name,
		   const struct alias_ports *but);

/* The next name after *at, which begins with 0; NULL at the end. */
const char *dns_names_next(const struct dns_names *g, const struct ip *ip, size_t *at);

/* The rule by which the name that was told last, with this `at`, is denied at this port; NULL. */
const struct net_rule *dns_names_deny(const struct dns_names *g, size_t at, uint16_t port);

#endif
