/* SPDX-License-Identifier: Apache-2.0 */
/* The resolver's cache: an LRU table of look-up results.
 *
 * Should:   keep RESOLVER_CACHE names, each until its TTL ends.
 * Must not: allocate.
 * Fails:    with a miss: the resolver queries the name servers again. */
#include "gate/dns/cache.h"

#include "base/hash.h"

#include <string.h>

static uint32_t hash_of(const char *name) {
	return hash_fnv32(HASH_FNV32, name, strlen(name));
}

/* Its index, or RESOLVER_CACHE. */
static size_t find(const struct cache *c, const char *name, uint32_t hash) {
	size_t i = 0;
	while (i < RESOLVER_CACHE && (c->slots[i].until == 0 || c->slots[i].hash != hash ||
				      strcmp(c->names[i], name) != 0)) {
		i++;
	}
	return i;
}

bool cache_get(struct cache *c, const char *name, int64_t now, struct resolved *ret) {
	size_t i = find(c, name, hash_of(name));
	if (i == RESOLVER_CACHE) {
		return false;
	}
	struct cache_slot *slot = &c->slots[i];
	if (slot->until <= now) {
		slot->until = 0;
		return false;
	}
	slot->used = ++c->uses;
	*ret = c->found[i];
	ret->v4.ttl = ret->v6.ttl = (uint32_t)((slot->until - now + 999) / 1000);
	return true;
}

/* A free slot, or the least recently used one. */
static size_t slot_to_replace(const struct cache *c) {
	size_t best = 0;
	for (size_t i = 0; i < RESOLVER_CACHE; i++) {
		if (c->slots[i].until == 0) {
			return i;
		}
		best = c->slots[i].used < c->slots[best].used ? i : best;
	}
	return best;
}

void cache_forget(struct cache *c) {
	for (size_t i = 0; i < RESOLVER_CACHE; i++) {
		c->slots[i].until = 0;
	}
}

void cache_put(struct cache *c, const char *name, const struct resolved *found, int64_t until) {
	uint32_t hash = hash_of(name);
	size_t len = strlen(name), i = find(c, name, hash);
	if (len > HOSTNAME_MAX || until <= 0) {
		return;
	}
	i = i < RESOLVER_CACHE ? i : slot_to_replace(c);
	c->slots[i] = (struct cache_slot){.hash = hash, .until = until, .used = ++c->uses};
	memcpy(c->names[i], name, len + 1);
	c->found[i] = *found;
}
