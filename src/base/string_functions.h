/* SPDX-License-Identifier: Apache-2.0 */
/* memmove(3), memset(3), strlen(3) and their kin, eight or sixteen bytes at a time.
 *
 * musl copies with `rep movsq`, whose start costs about 35 ns at any size, and compares byte by
 * byte.  A plan makes some ten thousand such calls on strings of 10 to 80 bytes.
 *
 * A function for strings may read up to seven bytes behind the terminator, but only in a page
 * that the string reaches: it cannot fault.  Not for a sanitized build, which would report it. */
#ifndef CORRAL_BASE_STRING_FUNCTIONS_H
#define CORRAL_BASE_STRING_FUNCTIONS_H

#include <stddef.h>
#include <stdint.h>

/* Unaligned and of any type; the compiler makes one instruction of a load or store. */
typedef uint16_t any16 __attribute__((may_alias, aligned(1)));
typedef uint32_t any32 __attribute__((may_alias, aligned(1)));
typedef uint64_t any64 __attribute__((may_alias, aligned(1)));
typedef uint64_t any128 __attribute__((vector_size(16), may_alias, aligned(1)));

/* memchr(3) and strchr(3) take a const pointer and return one that is not. */
static inline void *string_not_const(const void *p) {
	union {
		const void *in;
		void *out;
	} both = {.in = p};
	return both.out;
}

#define EACH_BYTE (UINT64_MAX / 255) /* 0x0101…01 */
#define SMALLEST_PAGE 4096

/* At most 16 bytes: the first and the last ones, which overlap where n is no power of two.
 * All are loaded before one is stored, so the areas may overlap. */
static inline void string_move_small(unsigned char *to, const unsigned char *from, size_t n) {
	if (n >= 8) {
		uint64_t head = *(const any64 *)from, tail = *(const any64 *)(from + n - 8);
		*(any64 *)to = head;
		*(any64 *)(to + n - 8) = tail;
	} else if (n >= 4) {
		uint32_t head = *(const any32 *)from, tail = *(const any32 *)(from + n - 4);
		*(any32 *)to = head;
		*(any32 *)(to + n - 4) = tail;
	} else if (n >= 2) {
		uint16_t head = *(const any16 *)from, tail = *(const any16 *)(from + n - 2);
		*(any16 *)to = head;
		*(any16 *)(to + n - 2) = tail;
	} else if (n == 1) {
		*to = *from;
	}
}

/* The direction is such that no byte is overwritten before it was read. */
static inline void *string_move(void *dest, const void *source, size_t n) {
	unsigned char *to = dest;
	const unsigned char *from = source;

	if (n <= 16) {
		string_move_small(to, from, n);
		return dest;
	}
	any128 head = *(const any128 *)from, tail = *(const any128 *)(from + n - 16);
	if ((uintptr_t)to - (uintptr_t)from >= n) {
		for (size_t at = 0; at + 16 < n; at += 16) {
			*(any128 *)(to + at) = *(const any128 *)(from + at);
		}
		*(any128 *)(to + n - 16) = tail;
		return dest;
	}
	for (size_t left = n; left > 16; left -= 16) {
		*(any128 *)(to + left - 16) = *(const any128 *)(from + left - 16);
	}
	*(any128 *)to = head;
	return dest;
}

static inline void *string_fill(void *dest, int byte, size_t n) {
	unsigned char *to = dest;
	uint64_t word = EACH_BYTE * (unsigned char)byte;

	if (n >= 16) {
		any128 wide = {word, word};
		for (size_t at = 0; at + 16 < n; at += 16) {
			*(any128 *)(to + at) = wide;
		}
		*(any128 *)(to + n - 16) = wide;
	} else if (n >= 8) {
		*(any64 *)to = word;
		*(any64 *)(to + n - 8) = word;
	} else if (n >= 4) {
		*(any32 *)to = (uint32_t)word;
		*(any32 *)(to + n - 4) = (uint32_t)word;
	} else if (n >= 2) {
		*(any16 *)to = (uint16_t)word;
		*(any16 *)(to + n - 2) = (uint16_t)word;
	} else if (n == 1) {
		*to = (unsigned char)byte;
	}
	return dest;
}

/* Whether eight bytes from here on lie in one page. */
static inline int word_in_page(const unsigned char *p) {
	return (uintptr_t)p % SMALLEST_PAGE <= SMALLEST_PAGE - 8;
}

/* The lowest bit that is set belongs to the first byte of the word that is 0: little-endian. */
static inline uint64_t has_zero(uint64_t word) {
	return (word - EACH_BYTE) & ~word & (EACH_BYTE << 7);
}

static inline size_t first_byte(uint64_t bits) {
	return (size_t)__builtin_ctzll(bits) / 8;
}

static inline int string_compare_bytes(const void *one, const void *other, size_t n) {
	const unsigned char *a = one, *b = other;

	for (; n >= 8; a += 8, b += 8, n -= 8) {
		uint64_t differs = *(const any64 *)a ^ *(const any64 *)b;
		if (differs != 0) {
			size_t at = first_byte(differs);
			return a[at] - b[at];
		}
	}
	for (; n > 0; a++, b++, n--) {
		if (*a != *b) {
			return *a - *b;
		}
	}
	return 0;
}

/* The first of `byte` or 0 in text, which has one of them. */
static inline const char *string_find_or_end(const char *text, int byte) {
	const unsigned char *at = (const unsigned char *)text;
	unsigned char wanted = (unsigned char)byte;
	uint64_t mask = EACH_BYTE * wanted;

	for (; !word_in_page(at); at++) {
		if (*at == wanted || *at == 0) {
			return (const char *)at;
		}
	}
	for (;;) {
		uint64_t word = *(const any64 *)at;
		uint64_t found = has_zero(word) | has_zero(word ^ mask);
		if (found != 0) {
			return (const char *)at + first_byte(found);
		}
		at += 8 - (uintptr_t)at % 8; /* an aligned word lies in one page */
	}
}

static inline size_t string_length(const char *text) {
	return (size_t)(string_find_or_end(text, 0) - text);
}

static inline void *string_find_byte(const void *bytes, int byte, size_t n) {
	const unsigned char *at = bytes;
	unsigned char wanted = (unsigned char)byte;
	uint64_t mask = EACH_BYTE * wanted;

	for (; n >= 8; at += 8, n -= 8) {
		uint64_t found = has_zero(*(const any64 *)at ^ mask);
		if (found != 0) {
			return string_not_const(at + first_byte(found));
		}
	}
	for (; n > 0; n--, at++) {
		if (*at == wanted) {
			return string_not_const(at);
		}
	}
	return NULL;
}

/* At most n bytes, up to the terminator. */
static inline int string_compare(const char *one, const char *other, size_t n) {
	const unsigned char *a = (const unsigned char *)one, *b = (const unsigned char *)other;

	while (n > 0) {
		if (!word_in_page(a) || !word_in_page(b)) {
			if (*a != *b || *a == 0) {
				return *a - *b;
			}
			a++;
			b++;
			n--;
			continue;
		}
		uint64_t word = *(const any64 *)a;
		uint64_t ends = (word ^ *(const any64 *)b) | has_zero(word);
		if (ends != 0) {
			size_t at = first_byte(ends);
			return at < n ? a[at] - b[at] : 0;
		}
		if (n <= 8) {
			return 0;
		}
		a += 8;
		b += 8;
		n -= 8;
	}
	return 0;
}

#endif
