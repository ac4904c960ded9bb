/* SPDX-License-Identifier: Apache-2.0 */
/* The prefilter: finds four successive bytes that a kind or a value must contain.
 *
 * A bitmap has one bit for each hash of four folded bytes.  The portable search looks up every
 * position.  With AVX2, nibble masks (as in Hyperscan's Teddy) first reduce 32 positions at once to
 * those where each byte is in a bucket's sets.
 *
 * Should:   find every window, and be fast on text without secrets.
 * Must not: read beyond the text.
 * Fails:    never: a false hit costs time. */
#include "leak/scan.h"

#include <string.h>

static inline bool in_bitmap(const struct leak_tables *t, uint32_t folded) {
	uint32_t h = leak_hash(folded);

	return t->bitmap[h / 64] >> (h % 64) & 1;
}

static void portable(const struct leak_tables *t, const unsigned char *data, size_t from,
		     size_t len, leak_hit_fn *fn, void *arg) {
	for (size_t i = from; i + LEAK_WINDOW <= len; i++) {
		uint32_t folded = leak_load(data + i) | LEAK_FOLD;
		if (in_bitmap(t, folded)) {
			fn(arg, i, folded);
		}
	}
}

void leak_prefilter_add(struct leak_tables *t, const unsigned char window[LEAK_WINDOW]) {
	uint32_t h = leak_hash(leak_load(window) | LEAK_FOLD);

	t->bitmap[h / 64] |= UINT64_C(1) << (h % 64);
	for (size_t k = 0; k < LEAK_WINDOW; k++) {
		struct leak_nibbles *n = &t->nibbles[0][k];
		n->lo[window[k] & 15] |= 1;
		n->hi[window[k] >> 4] |= 1;
	}
}

#ifdef __x86_64__
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2,bmi")))

struct masks {
	__m256i lo[LEAK_GROUPS][LEAK_WINDOW], hi[LEAK_GROUPS][LEAK_WINDOW];
};

AVX2 static __m256i twice(const unsigned char table[16]) {
	__m128i half;

	memcpy(&half, table, sizeof half);
	return _mm256_broadcastsi128_si256(half);
}

AVX2 static void avx2(const struct leak_tables *t, const unsigned char *data, size_t from,
		      size_t len, leak_hit_fn *fn, void *arg) {
	const __m256i low4 = _mm256_set1_epi8(15), zero = _mm256_setzero_si256();
	struct masks m;
	size_t i = from;

	for (size_t g = 0; g < LEAK_GROUPS; g++) {
		for (size_t k = 0; k < LEAK_WINDOW; k++) {
			m.lo[g][k] = twice(t->nibbles[g][k].lo);
			m.hi[g][k] = twice(t->nibbles[g][k].hi);
		}
	}
	for (; i + 32 + LEAK_WINDOW <= len; i += 32) {
		__m256i lo[LEAK_WINDOW], hi[LEAK_WINDOW], any = zero;
		for (size_t k = 0; k < LEAK_WINDOW; k++) {
			__m256i v;
			memcpy(&v, data + i + k, sizeof v);
			lo[k] = _mm256_and_si256(v, low4);
			hi[k] = _mm256_and_si256(_mm256_srli_epi16(v, 4), low4);
		}
		for (size_t g = 0; g < LEAK_GROUPS; g++) {
			__m256i in = _mm256_and_si256(_mm256_shuffle_epi8(m.lo[g][0], lo[0]),
						      _mm256_shuffle_epi8(m.hi[g][0], hi[0]));
			for (size_t k = 1; k < LEAK_WINDOW; k++) {
				in = _mm256_and_si256(in, _mm256_shuffle_epi8(m.lo[g][k], lo[k]));
				in = _mm256_and_si256(in, _mm256_shuffle_epi8(m.hi[g][k], hi[k]));
			}
			any = _mm256_or_si256(any, in);
		}
		uint32_t hits = ~(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(any, zero));
		for (; hits != 0; hits &= hits - 1) {
			size_t at = i + (size_t)__builtin_ctz(hits);
			uint32_t folded = leak_load(data + at) | LEAK_FOLD;
			if (in_bitmap(t, folded)) {
				fn(arg, at, folded);
			}
		}
	}
	portable(t, data, i, len, fn, arg);
}
#endif

bool leak_prefilter_avx2(void) {
#ifdef __x86_64__
	return __builtin_cpu_supports("avx2");
#else
	return false;
#endif
}

void leak_prefilter(const struct leak_scanner *scanner, const unsigned char *data, size_t from,
		    size_t len, leak_hit_fn *fn, void *arg) {
#ifdef __x86_64__
	if (scanner->avx2) {
		avx2(scanner->tables, data, from, len, fn, arg);
		return;
	}
#endif
	portable(scanner->tables, data, from, len, fn, arg);
}
