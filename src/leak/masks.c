/* SPDX-License-Identifier: Apache-2.0 */
/* Classifies 64 bytes at once: base64 characters, '%', '\', NUL.
 *
 * Should:   return the same masks on every processor.
 * Must not: use an instruction that the processor lacks: the choice is made at run time, without
 *           IFUNC, which a static program of musl does not have.
 * Fails:    never. */
#include "leak/view.h"

#include "leak/processor.h"

#include <string.h>

static bool is_base64(unsigned char c) {
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '+' || c == '/' || c == '-' || c == '_';
}

void leak_masks_portable(const unsigned char *data, struct leak_masks *ret) {
	struct leak_masks m = {0};

	for (unsigned i = 0; i < 64; i++) {
		m.base64 |= (uint64_t)is_base64(data[i]) << i;
		m.percent |= (uint64_t)(data[i] == '%') << i;
		m.backslash |= (uint64_t)(data[i] == '\\') << i;
		m.nul |= (uint64_t)(data[i] == 0) << i;
	}
	*ret = m;
}

#ifdef __x86_64__
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2")))

/* A byte is in the class when the entries of its two halves have a bit in common:
 * 1 hi 4,6: lo 1-F; 2 hi 5,7: lo 0-A; 4 hi 3: lo 0-9; 8 hi 2: lo B,D,F; 16 hi 5: lo F. */
AVX2 static uint32_t base64_mask(__m256i v) {
	const __m256i lo = _mm256_setr_epi8(
		2 | 4, 1 | 2 | 4, 1 | 2 | 4, 1 | 2 | 4, 1 | 2 | 4, 1 | 2 | 4, 1 | 2 | 4, 1 | 2 | 4,
		1 | 2 | 4, 1 | 2 | 4, 1 | 2, 1 | 8, 1, 1 | 8, 1, 1 | 8 | 16, 2 | 4, 1 | 2 | 4,
		1 | 2 | 4, 1 | 2 | 4, 1 | 2 | 4, 1 | 2 | 4, 1 | 2 | 4, 1 | 2 | 4, 1 | 2 | 4,
		1 | 2 | 4, 1 | 2, 1 | 8, 1, 1 | 8, 1, 1 | 8 | 16);
	const __m256i hi = _mm256_setr_epi8(0, 0, 8, 4, 1, 2 | 16, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0,
					    0, 8, 4, 1, 2 | 16, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0);
	const __m256i low4 = _mm256_set1_epi8(15);
	__m256i a = _mm256_shuffle_epi8(lo, _mm256_and_si256(v, low4));
	__m256i b = _mm256_shuffle_epi8(hi, _mm256_and_si256(_mm256_srli_epi16(v, 4), low4));
	__m256i none = _mm256_cmpeq_epi8(_mm256_and_si256(a, b), _mm256_setzero_si256());

	return ~(uint32_t)_mm256_movemask_epi8(none);
}

AVX2 static uint32_t equal_mask(__m256i v, char c) {
	return (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(v, _mm256_set1_epi8(c)));
}

AVX2 void leak_masks_avx2(const unsigned char *data, struct leak_masks *ret) {
	__m256i a, b;

	memcpy(&a, data, sizeof a);
	memcpy(&b, data + 32, sizeof b);
	ret->base64 = base64_mask(a) | (uint64_t)base64_mask(b) << 32;
	ret->percent = equal_mask(a, '%') | (uint64_t)equal_mask(b, '%') << 32;
	ret->backslash = equal_mask(a, '\\') | (uint64_t)equal_mask(b, '\\') << 32;
	ret->nul = equal_mask(a, 0) | (uint64_t)equal_mask(b, 0) << 32;
}
#endif

leak_masks_fn *leak_masks_choose(void) {
#ifdef __x86_64__
	if ((processor_features() & PROCESSOR_AVX2) != 0) {
		return leak_masks_avx2;
	}
#endif
	return leak_masks_portable;
}
