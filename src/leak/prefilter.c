/* SPDX-License-Identifier: Apache-2.0 */
/* The prefilter: finds four successive bytes that a kind or a value must contain.
 *
 * A bitmap has one bit for each hash of four folded bytes.  The portable search looks up every
 * position.  With AVX2 or AVX-512, lookups in registers (as in Hyperscan's Teddy) first reduce 64
 * positions to the few candidates whose four bytes are all in the sets of a bucket.
 *
 * Should:   find every window, and be fast on text without secrets.
 * Must not: read beyond the text.
 * Fails:    never: a false hit costs time. */
#include "leak/scan.h"

#include "leak/processor.h"

#include <string.h>

static inline bool in_bitmap(const struct leak_tables *t, uint32_t folded) {
	uint32_t h = leak_hash(folded);

	return t->bitmap[h / 64] >> (h % 64) & 1;
}

/* Positions of a block fit in 16 bits, and are written up to 64 at a time. */
#define BLOCK ((size_t)4096)
#define HITS_MAX (BLOCK + 64)

/* Without a branch for each position: which ones are hits is hard to predict. */
static size_t block_portable(const struct leak_tables *t, const unsigned char *data, size_t len,
			     uint16_t *out) {
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		out[n] = (uint16_t)i;
		n += in_bitmap(t, leak_load(data + i) | LEAK_FOLD);
	}
	return n;
}

void leak_prefilter_add(struct leak_tables *t, const unsigned char window[LEAK_WINDOW]) {
	uint32_t h = leak_hash(leak_load(window) | LEAK_FOLD);

	t->bitmap[h / 64] |= UINT64_C(1) << (h % 64);
	for (size_t k = 0; k < LEAK_WINDOW; k++) {
		struct leak_nibbles *n = &t->nibbles[0][k];
		n->lo[window[k] & 15] |= 1;
		n->hi[window[k] >> 4] |= 1;
		t->low6[0][k][window[k] & 63] |= 1;
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

/* Appends the positions of the bits.  Eight at a time without a branch for each: how many bits are
 * set is hard to predict. */
AVX2 static inline size_t flatten(uint64_t bits, size_t base, uint16_t *out) {
	size_t n = (size_t)__builtin_popcountll(bits);

	for (size_t done = 0; done < n; done += 8) {
		for (size_t i = 0; i < 8; i++) {
			out[done + i] = (uint16_t)(base + _tzcnt_u64(bits));
			bits = _blsr_u64(bits);
		}
	}
	return n;
}

/* Keeps the candidates whose four bytes are in the bitmap. */
static inline size_t keep_hits(const struct leak_tables *t, const unsigned char *data, size_t n,
			       uint16_t *hits) {
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		uint16_t at = hits[i];
		hits[kept] = at;
		kept += in_bitmap(t, leak_load(data + at) | LEAK_FOLD);
	}
	return kept;
}

AVX2 static size_t block_avx2(const struct leak_tables *t, const unsigned char *data, size_t len,
			      uint16_t *out) {
	size_t n = 0;

	for (size_t i = 0; i < len; i += STEP) {
		n += flatten(starts_at(t, data + i), i, out + n);
	}
	return keep_hits(t, data, n, out);
}

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vbmi,avx512vbmi2,popcnt")))

/* The bits of a group for the 64 starts from p on.  VPERMB uses the low six bits of a byte. */
#define GROUP(g)                                                                                   \
	_mm512_ternarylogic_epi64(_mm512_permutexvar_epi8(v0, t[g][0]),                            \
				  _mm512_permutexvar_epi8(v1, t[g][1]),                            \
				  _mm512_and_si512(_mm512_permutexvar_epi8(v2, t[g][2]),           \
						   _mm512_permutexvar_epi8(v3, t[g][3])),          \
				  0x80) /* the AND of all three */

_Static_assert(LEAK_GROUPS == 3 && LEAK_WINDOW == 4, "starts_at_512() has three groups of four");

/* As starts_at(), with the 64 starts in one register. */
AVX512 static inline uint64_t starts_at_512(__m512i t[LEAK_GROUPS][LEAK_WINDOW],
					    const unsigned char *p) {
	__m512i v0 = _mm512_loadu_si512(p), v1 = _mm512_loadu_si512(p + 1),
		v2 = _mm512_loadu_si512(p + 2), v3 = _mm512_loadu_si512(p + 3);
	__m512i any = _mm512_or_si512(_mm512_or_si512(GROUP(0), GROUP(1)), GROUP(2));

	return _mm512_test_epi8_mask(any, any);
}

/* Appends the positions of the bits, 32 at a time. */
AVX512 static inline size_t flatten_512(uint64_t bits, size_t base, uint16_t *out) {
	static const unsigned char counting[64] = {
		0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
		16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
		32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47,
		48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};
	const __m512i add = _mm512_set1_epi16((short)base);
	__m512i at = _mm512_maskz_compress_epi8(bits, _mm512_loadu_si512(counting));
	size_t n = (size_t)__builtin_popcountll(bits);

	_mm512_storeu_si512(
		out, _mm512_add_epi16(add, _mm512_cvtepu8_epi16(_mm512_castsi512_si256(at))));
	if (n > 32) {
		__m256i rest = _mm512_extracti64x4_epi64(at, 1);
		_mm512_storeu_si512(out + 32, _mm512_add_epi16(add, _mm512_cvtepu8_epi16(rest)));
	}
	return n;
}

AVX512 static size_t block_avx512(const struct leak_tables *tables, const unsigned char *data,
				  size_t len, uint16_t *out) {
	__m512i t[LEAK_GROUPS][LEAK_WINDOW];
	size_t n = 0;

	memcpy(t, tables->low6, sizeof t);
	for (size_t i = 0; i < len; i += STEP) {
		n += flatten_512(starts_at_512(t, data + i), i, out + n);
	}
	return keep_hits(tables, data, n, out);
}
#endif

enum leak_simd leak_prefilter_choose(void) {
	unsigned has = processor_features();

	return (has & PROCESSOR_AVX512) != 0 ? LEAK_AVX512
	       : (has & PROCESSOR_AVX2) != 0 ? LEAK_AVX2
					     : LEAK_PORTABLE;
}

/* Finds the hits among the positions 0 to len-1 of the data; four bytes are there at each. */
typedef size_t block_fn(const struct leak_tables *t, const unsigned char *data, size_t len,
			uint16_t *out);

struct part {
	const unsigned char *data; /* of the whole text */
	size_t from, to;           /* the positions that are searched */
};

static void search(const struct leak_tables *t, block_fn *block, const struct part *part,
		   const struct leak_hits *to) {
	uint16_t hits[HITS_MAX];

	for (size_t at = part->from; at < part->to; at += BLOCK) {
		size_t size = part->to - at < BLOCK ? part->to - at : BLOCK;
		size_t n = block(t, part->data + at, size, hits);
		if (n > 0) {
			to->fn(to->arg, at, hits, n);
		}
	}
}

void leak_prefilter(const struct leak_scanner *scanner, const struct leak_text *text, size_t from,
		    struct leak_hits to) {
	if (text->len < from + LEAK_WINDOW) {
		return;
	}
	size_t end = text->len - LEAK_WINDOW + 1;
#ifdef __x86_64__
	static block_fn *const blocks[] = {block_portable, block_avx2, block_avx512};
	size_t whole = from + (end - from - 1) / STEP * STEP; /* each step reads three bytes more */

	if (scanner->simd != LEAK_PORTABLE) {
		struct part steps = {text->data, from, whole};
		search(scanner->tables, blocks[scanner->simd], &steps, &to);
		from = whole;
	}
#endif
	search(scanner->tables, block_portable, &(struct part){text->data, from, end}, &to);
}
