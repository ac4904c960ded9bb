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

#define AVX2 __attribute__((target("avx2,bmi,popcnt")))

#define STEP 64U

AVX2 static inline __m256i twice(const unsigned char table[16]) {
	__m128i half;

	memcpy(&half, table, sizeof half);
	return _mm256_broadcastsi128_si256(half);
}

/* One position of a window, for 32 starts: the low and high halves of the bytes. */
struct halves {
	__m256i lo, hi;
};

AVX2 static inline struct halves halves_at(const unsigned char *p) {
	const __m256i low4 = _mm256_set1_epi8(15);
	__m256i v;

	memcpy(&v, p, sizeof v);
	return (struct halves){_mm256_and_si256(v, low4),
			       _mm256_and_si256(_mm256_srli_epi16(v, 4), low4)};
}

AVX2 static inline __m256i buckets(__m256i lo, __m256i hi, const struct halves *h) {
	return _mm256_and_si256(_mm256_shuffle_epi8(lo, h->lo), _mm256_shuffle_epi8(hi, h->hi));
}

/* Bits of the 64 starts from p on where all four bytes are in the sets of a bucket. */
AVX2 static inline uint64_t starts_at(const struct leak_tables *t, const unsigned char *p) {
	const __m256i zero = _mm256_setzero_si256();
	struct halves a[LEAK_WINDOW], b[LEAK_WINDOW];
	__m256i any_a = zero, any_b = zero;

	for (size_t k = 0; k < LEAK_WINDOW; k++) {
		a[k] = halves_at(p + k);
		b[k] = halves_at(p + 32 + k);
	}
	for (size_t g = 0; g < LEAK_GROUPS; g++) {
		__m256i in_a = _mm256_set1_epi8(-1), in_b = in_a;
		for (size_t k = 0; k < LEAK_WINDOW; k++) {
			__m256i lo = twice(t->nibbles[g][k].lo), hi = twice(t->nibbles[g][k].hi);
			in_a = _mm256_and_si256(in_a, buckets(lo, hi, &a[k]));
			in_b = _mm256_and_si256(in_b, buckets(lo, hi, &b[k]));
		}
		any_a = _mm256_or_si256(any_a, in_a);
		any_b = _mm256_or_si256(any_b, in_b);
	}
	uint32_t none_a = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(any_a, zero));
	uint32_t none_b = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(any_b, zero));
	return ~(none_a | (uint64_t)none_b << 32);
}

#define BLOCK ((size_t)4096)

/* Appends the positions of the bits.  Eight at a time without a branch for each: how many bits are
 * set is hard to predict. */
AVX2 static inline size_t flatten(uint64_t bits, uint32_t base, uint32_t *out) {
	size_t n = (size_t)__builtin_popcountll(bits);

	for (size_t done = 0; done < n; done += 8) {
		for (size_t i = 0; i < 8; i++) {
			out[done + i] = base + (uint32_t)_tzcnt_u64(bits);
			bits = _blsr_u64(bits);
		}
	}
	return n;
}

AVX2 static size_t block(const struct leak_tables *t, const unsigned char *data, size_t len,
			 uint32_t *out) {
	size_t n = 0, kept = 0;

	for (size_t i = 0; i < len; i += STEP) {
		n += flatten(starts_at(t, data + i), (uint32_t)i, out + n);
	}
	for (size_t i = 0; i < n; i++) {
		uint32_t at = out[i];
		out[kept] = at;
		kept += in_bitmap(t, leak_load(data + at) | LEAK_FOLD);
	}
	return kept;
}

AVX2 static void avx2(const struct leak_tables *t, const unsigned char *data, size_t from,
		      size_t len, leak_hit_fn *fn, void *arg) {
	uint32_t hits[BLOCK + 8];
	size_t i = from;

	while (i + STEP + LEAK_WINDOW <= len) {
		size_t left = (len - LEAK_WINDOW - i) / STEP * STEP;
		size_t size = left < BLOCK ? left : BLOCK;
		size_t n = block(t, data + i, size, hits);
		for (size_t k = 0; k < n; k++) {
			fn(arg, i + hits[k], leak_load(data + i + hits[k]) | LEAK_FOLD);
		}
		i += size;
	}
	portable(t, data, i, len, fn, arg);
}
#endif

bool leak_prefilter_avx2(void) {
#ifdef __x86_64__
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
	       __builtin_cpu_supports("popcnt");
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
