/* Names whose answer is still true: the least recently used is forgotten first. */
#ifndef CORRAL_GATE_DNS_CACHE_H
#define CORRAL_GATE_DNS_CACHE_H

#include "gate/dns/resolver.h"

/* Looked through as a whole: small, so that this costs about a microsecond. */
struct cache_slot {
	uint32_t hash;
	int64_t until; /* 0: free */
	uint64_t used; /* when, counted in uses */
};

struct cache {
	uint64_t uses;
	struct cache_slot slots[RESOLVER_CACHE];
	char names[RESOLVER_CACHE][HOSTNAME_MAX + 1];
	struct names_found found[RESOLVER_CACHE];
};

/* A copy, its ttl what is left of it; false when it is not known at this time. */
bool cache_get(struct cache *c, const char *name, int64_t now, struct names_found *ret);

void cache_put(struct cache *c, const char *name, const struct names_found *found, int64_t until);

void cache_forget(struct cache *c); /* all of it */

#endif
