/* SPDX-License-Identifier: Apache-2.0 */
/* The resolver's cache of look-up results, least recently used out first. */
#ifndef CORRAL_GATE_DNS_CACHE_H
#define CORRAL_GATE_DNS_CACHE_H

#include "gate/dns/resolver.h"

/* Searched linearly: small, so that this costs about a microsecond. */
struct cache_slot {
	uint32_t hash;
	int64_t until; /* 0: free */
	uint64_t used; /* value of `uses` at the last use */
};

struct cache {
	uint64_t uses;
	struct cache_slot slots[RESOLVER_CACHE];
	char names[RESOLVER_CACHE][HOSTNAME_MAX + 1];
	struct resolved found[RESOLVER_CACHE];
};

/* A copy with the remaining TTL; false: not in the cache, or expired. */
bool cache_get(struct cache *c, const char *name, int64_t now, struct resolved *ret);

void cache_put(struct cache *c, const char *name, const struct resolved *found, int64_t until);

void cache_forget(struct cache *c); /* all of it */

#endif
