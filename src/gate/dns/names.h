/* SPDX-License-Identifier: Apache-2.0 */
/* The names that the sandbox's resolver returned each address for.
 *
 * connect(2) has an address only; its names decide which rule applies.  Two names may share an
 * address, so an address has a list of names. */
#ifndef CORRAL_GATE_DNS_NAMES_H
#define CORRAL_GATE_DNS_NAMES_H

#include "base/hostname.h"
#include "net/judge.h"

#define DNS_NAMES_MAX 4096 /* pairs of address and name; the oldest is overwritten first */
#define DNS_NAMES_BUCKETS 1024

struct dns_names_pair {
	struct ip ip;
	uint16_t next; /* 1 + index in the bucket's chain; 0: last */
	bool used;
	char name[HOSTNAME_MAX + 1];
	struct alias_ports denied; /* rules of net.deny for single ports of its aliases */
};

struct dns_names {
	uint16_t buckets[DNS_NAMES_BUCKETS]; /* 1 + index */
	uint32_t at;                         /* number of pairs written */
	struct dns_names_pair pairs[DNS_NAMES_MAX];
};

/* Zeroed memory is an empty table. */
void dns_names_add(struct dns_names *g, const struct ip *ip, const char *name,
		   const struct alias_ports *denied);

/* The next name of the address after *at, which begins with 0; NULL at the end. */
const char *dns_names_next(const struct dns_names *g, const struct ip *ip, size_t *at);

/* at: as dns_names_next() left it.  The rule that denies that name at this port; NULL. */
const struct net_rule *dns_names_deny(const struct dns_names *g, size_t at, uint16_t port);

#endif
