/* SPDX-License-Identifier: Apache-2.0 */
/* The prefilter: finds four successive bytes that a kind or a value must contain.
 *
 * A bitmap has one bit for each hash of four folded bytes.  The portable search looks up every
 * position.  With AVX2 or AVX-512, nibble masks (as in Hyperscan's Teddy) first reduce 64 positions
 * to those where each byte is in a bucket's sets.
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
		     size_t len, struct leak_hits to) {
	for (size_t i = from; i + LEAK_WINDOW <= len; i++) {
		uint32_t folded = leak_load(data + i) | LEAK_FOLD;
		if (in_bitmap(t, folded)) {
			to.fn(to.arg, i, folded);
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

/* Keeps the positions whose four bytes are in the bitmap. */
AVX2 static inline size_t keep_hits(const struct leak_tables *t, const unsigned char *data,
				    size_t n, uint32_t *hits) {
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t at = hits[i];
		hits[kept] = at;
		kept += in_bitmap(t, leak_load(data + at) | LEAK_FOLD);
	}
	return kept;
}

AVX2 static size_t block_avx2(const struct leak_tables *t, const unsigned char *data, size_t len,
			      uint32_t *out) {
	size_t n = 0;

	for (size_t i = 0; i < len; i += STEP) {
		n += flatten(starts_at(t, data + i), (uint32_t)i, out + n);
	}
	return keep_hits(t, data, n, out);
}

#define AVX512 __attribute__((target("avx512f,avx512bw,avx2,bmi,popcnt")))

/* As starts_at(), with the 64 starts in one register. */
AVX512 static inline uint64_t starts_at_512(const struct leak_tables *t, const unsigned char *p) {
	const __m512i low4 = _mm512_set1_epi8(15);
	__m512i lo[LEAK_WINDOW], hi[LEAK_WINDOW], any = _mm512_setzero_si512();

	for (size_t k = 0; k < LEAK_WINDOW; k++) {
		__m512i v = _mm512_loadu_si512(p + k);
		lo[k] = _mm512_and_si512(v, low4);
		hi[k] = _mm512_and_si512(_mm512_srli_epi16(v, 4), low4);
	}
	for (size_t g = 0; g < LEAK_GROUPS; g++) {
		__m512i in = _mm512_set1_epi8(-1);
		for (size_t k = 0; k < LEAK_WINDOW; k++) {
			__m128i a, b;
			memcpy(&a, t->nibbles[g][k].lo, sizeof a);
			memcpy(&b, t->nibbles[g][k].hi, sizeof b);
			/* 0x80: the AND of all three. */
			in = _mm512_ternarylogic_epi64(
				in, _mm512_shuffle_epi8(_mm512_broadcast_i32x4(a), lo[k]),
				_mm512_shuffle_epi8(_mm512_broadcast_i32x4(b), hi[k]), 0x80);
		}
		any = _mm512_or_si512(any, in);
	}
	return _mm512_test_epi8_mask(any, any);
}

AVX512 static size_t block_avx512(const struct leak_tables *t, const unsigned char *data,
				  size_t len, uint32_t *out) {
	size_t n = 0;

	for (size_t i = 0; i < len; i += STEP) {
		n += flatten(starts_at_512(t, data + i), (uint32_t)i, out + n);
	}
	return keep_hits(t, data, n, out);
}

static void simd(const struct leak_scanner *sc, const unsigned char *data, size_t from, size_t len,
		 struct leak_hits to) {
	const struct leak_tables *t = sc->tables;
	uint32_t hits[BLOCK + 8];
	size_t i = from;

	while (i + STEP + LEAK_WINDOW <= len) {
		size_t left = (len - LEAK_WINDOW - i) / STEP * STEP;
		size_t size = left < BLOCK ? left : BLOCK;
		size_t n = (sc->simd == LEAK_AVX512 ? block_avx512 : block_avx2)(t, data + i, size,
										 hits);
		for (size_t k = 0; k < n; k++) {
			to.fn(to.arg, i + hits[k], leak_load(data + i + hits[k]) | LEAK_FOLD);
		}
		i += size;
	}
	portable(t, data, i, len, to);
}
#endif

enum leak_simd leak_prefilter_choose(void) {
#ifdef __x86_64__
	bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
		    __builtin_cpu_supports("popcnt");
	if (avx2 && __builtin_cpu_supports("avx512bw")) {
		return LEAK_AVX512;
	}
	return avx2 ? LEAK_AVX2 : LEAK_PORTABLE;
#else
	return LEAK_PORTABLE;
#endif
}

void leak_prefilter(const struct leak_scanner *scanner, const struct leak_text *text, size_t from,
		    struct leak_hits to) {
#ifdef __x86_64__
	if (scanner->simd != LEAK_PORTABLE) {
		simd(scanner, text->data, from, text->len, to);
		return;
	}
#endif
	portable(scanner->tables, text->data, from, text->len, to);
}
