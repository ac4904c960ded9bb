/* SPDX-License-Identifier: Apache-2.0 */
/* A bounded hash table from addresses to the names that the resolver returned them for.
 *
 * Should:   keep each pair once, the newest DNS_NAMES_MAX of them.
 * Must not: lose a pair while there is room, or keep one in two chains.
 * Fails:    closed: an address whose pair was overwritten has no name, so no rule allows it by
 *           name. */
#include "gate/dns/names.h"

#include "base/hash.h"

#include <string.h>

static uint32_t bucket_of(const struct ip *ip) {
	return hash_fnv32(HASH_FNV32, ip->b, sizeof ip->b) % DNS_NAMES_BUCKETS;
}

static void unlink_pair(struct dns_names *g, uint16_t place) {
	uint16_t *link = &g->buckets[bucket_of(&g->pairs[place - 1].ip)];

	while (*link != 0 && *link != place) {
		link = &g->pairs[*link - 1].next;
	}
	if (*link == place) {
		*link = g->pairs[place - 1].next;
	}
}

void dns_names_add(struct dns_names *g, const struct ip *ip, const char *name,
		   const struct alias_ports *denied) {
	size_t at = 0;

	for (const char *known; (known = dns_names_next(g, ip, &at)) != NULL;) {
		if (strcmp(known, name) == 0) {
			g->pairs[at - 1].denied = *denied; /* its aliases may have changed */
			return;
		}
	}
	uint16_t place = (uint16_t)(1 + g->at++ % DNS_NAMES_MAX);
	struct dns_names_pair *pair = &g->pairs[place - 1];
	if (pair->used) {
		unlink_pair(g, place);
	}
	uint16_t *bucket = &g->buckets[bucket_of(ip)];
	size_t len = strlen(name);
	len = len < HOSTNAME_MAX ? len : HOSTNAME_MAX;
	*pair = (struct dns_names_pair){
		.ip = *ip, .used = true, .next = *bucket, .denied = *denied};
	memcpy(pair->name, name, len);
	*bucket = place;
}

const char *dns_names_next(const struct dns_names *g, const struct ip *ip, size_t *at) {
	size_t place = *at == 0 ? g->buckets[bucket_of(ip)] : g->pairs[*at - 1].next;

	while (place != 0 && !ip_same(&g->pairs[place - 1].ip, ip)) {
		place = g->pairs[place - 1].next;
	}
	if (place == 0) {
		return NULL;
	}
	*at = place;
	return g->pairs[place - 1].name;
}

const struct net_rule *dns_names_deny(const struct dns_names *g, size_t at, uint16_t port) {
	const struct alias_ports *denied = &g->pairs[at - 1].denied;

	for (size_t i = 0; i < denied->n; i++) {
		if (denied->rules[i]->port == port) {
			return denied->rules[i];
		}
	}
	return NULL;
}
