/* SPDX-License-Identifier: Apache-2.0 */
/* FNV-1a, 32 and 64 bits, for tables and cache keys.
 *
 * Should:   spread short keys evenly, without a set-up.
 * Must not: decide anything about security: an attacker can choose keys that collide.  Names that
 *           separate users' data are made with SHA-256.
 * Fails:    never. */
#ifndef CORRAL_BASE_HASH_H
#define CORRAL_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_FNV32 2166136261U
#define HASH_FNV64 0xcbf29ce484222325U

/* Continues a hash; the first call gets HASH_FNV32 or HASH_FNV64. */
static inline uint32_t hash_fnv32(uint32_t hash, const void *data, size_t len) {
	const unsigned char *p = data;
	for (size_t i = 0; i < len; i++) {
		hash = (hash ^ p[i]) * 16777619U;
	}
	return hash;
}

static inline uint64_t hash_fnv64(uint64_t hash, const void *data, size_t len) {
	const unsigned char *p = data;
	for (size_t i = 0; i < len; i++) {
		hash = (hash ^ p[i]) * 0x100000001b3U;
	}
	return hash;
}

#endif
