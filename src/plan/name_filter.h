/* SPDX-License-Identifier: Apache-2.0 */
/* A set of the names in a directory, without the names: a Bloom filter of one hash.
 *
 * Should:   answer "not there" for most names that are not there.
 * Must not: answer "not there" for a name that was added.
 * Fails:    never: a set with many names answers "maybe" for every name. */
#ifndef CORRAL_PLAN_NAME_FILTER_H
#define CORRAL_PLAN_NAME_FILTER_H

#include "base/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 2048 bits: of 100 names, one of 20 others is mistaken for one of them. */
#define NAME_FILTER_WORDS 32

struct name_filter {
	uint64_t words[NAME_FILTER_WORDS];
};

static inline void name_filter_add(struct name_filter *s, const char *name, size_t len) {
	uint32_t hash = hash_fnv32(HASH_FNV32, name, len);
	s->words[(hash >> 6) % NAME_FILTER_WORDS] |= (uint64_t)1 << (hash & 63);
}

static inline bool name_filter_may_have(const struct name_filter *s, const char *name, size_t len) {
	uint32_t hash = hash_fnv32(HASH_FNV32, name, len);
	return (s->words[(hash >> 6) % NAME_FILTER_WORDS] >> (hash & 63) & 1) != 0;
}

#endif
