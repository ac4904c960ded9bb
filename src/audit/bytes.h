/* SPDX-License-Identifier: Apache-2.0 */
/* Searches and copies of bytes, eight at a time, inline: a log has a million lines, each with ten
 * short members, and musl's memchr(3), memcmp(3) and memcpy(3) cost more than the work itself
 * there.
 *
 * A byte of `word ^ pattern` is zero where the bytes are equal.  (x - 0x01…) & ~x & 0x80… has its
 * lowest bit in the first zero byte of x; higher bits may be wrong, so only the lowest is used.
 *
 * Should:   read no byte outside of the range that the caller names.
 * Must not: allocate.
 * Fails:    never. */
#ifndef CORRAL_AUDIT_BYTES_H
#define CORRAL_AUDIT_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define BYTES_ONES 0x0101010101010101u
#define BYTES_TOPS 0x8080808080808080u

static inline uint64_t bytes_load(const char *at) {
	uint64_t word;
	memcpy(&word, at, sizeof word);
	return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? word : __builtin_bswap64(word);
}

static inline uint64_t bytes_zero(uint64_t x) {
	return (x - BYTES_ONES) & ~x & BYTES_TOPS;
}

/* The first position from `i` on with the byte `a` or `b`; len when there is none. */
static inline size_t bytes_find(const char *t, size_t i, size_t len, const char either[2]) {
	const uint64_t a = BYTES_ONES * (unsigned char)either[0];
	const uint64_t b = BYTES_ONES * (unsigned char)either[1];

	for (; len - i >= sizeof a; i += sizeof a) {
		uint64_t word = bytes_load(t + i);
		uint64_t found = bytes_zero(word ^ a) | bytes_zero(word ^ b);
		if (found != 0) {
			return i + (size_t)__builtin_ctzll(found) / 8;
		}
	}
	while (i < len && t[i] != either[0] && t[i] != either[1]) {
		i++;
	}
	return i;
}

/* The position of the next newline; len when there is none. */
static inline size_t bytes_line_end(const char *t, size_t len) {
	const uint64_t newline = BYTES_ONES * '\n';
	size_t i = 0;

	for (; len - i >= 4 * sizeof newline; i += 4 * sizeof newline) {
		uint64_t found = 0;
		for (size_t k = 0; k < 4; k++) {
			found |= bytes_zero(bytes_load(t + i + k * sizeof newline) ^ newline);
		}
		if (found != 0) {
			break;
		}
	}
	return bytes_find(t, i, len, "\n\n");
}

/* The last byte `c`; NULL when there is none.  Not every C library has memrchr(3). */
static inline const char *bytes_last(const char *t, char c, size_t len) {
	while (len > 0 && t[len - 1] != c) {
		len--;
	}
	return len == 0 ? NULL : t + len - 1;
}

/* True when every byte is printable ASCII. */
static inline bool bytes_are_plain(const char *t, size_t len) {
	const uint64_t low = BYTES_ONES * 0x20;
	size_t i = 0;

	for (; len - i >= sizeof low; i += sizeof low) {
		uint64_t x = bytes_load(t + i);
		/* At least 0x7f, or less than 0x20.  A carry comes from a byte that is found
		 * itself. */
		if (((x | (x + BYTES_ONES) | ((x - low) & ~x)) & BYTES_TOPS) != 0) {
			return false;
		}
	}
	for (; i < len; i++) {
		if ((unsigned char)t[i] < 0x20 || (unsigned char)t[i] >= 0x7f) {
			return false;
		}
	}
	return true;
}

/* The first 16 bytes of a text as two words, with zeros after its end. */
struct bytes_key {
	uint64_t low, high;
};

static inline struct bytes_key bytes_key(const char *t, size_t len) {
	struct bytes_key key = {0};

	if (len >= 8) {
		key.low = bytes_load(t);
		/* The last eight bytes of a text with up to 16, or the second eight. */
		size_t more = len < 16 ? len - 8 : 8;
		if (more > 0) {
			key.high = bytes_load(t + more) >> (64 - 8 * more);
		}
		return key;
	}
	for (size_t i = 0; i < len; i++) {
		key.low |= (uint64_t)(unsigned char)t[i] << (8 * i);
	}
	return key;
}

/* The same where 16 bytes can be read. */
static inline struct bytes_key bytes_key_within(const char *t, size_t len) {
	uint64_t low = bytes_load(t), high = bytes_load(t + 8);

	if (len <= 8) {
		return (struct bytes_key){len == 0 ? 0 : low << (64 - 8 * len) >> (64 - 8 * len),
					  0};
	}
	return (struct bytes_key){low, high << (128 - 8 * len) >> (128 - 8 * len)};
}

static inline bool bytes_equal(const char *a, const char *b, size_t len) {
	size_t i = 0;

	for (; len - i >= 8; i += 8) {
		if (bytes_load(a + i) != bytes_load(b + i)) {
			return false;
		}
	}
	for (; i < len; i++) {
		if (a[i] != b[i]) {
			return false;
		}
	}
	return true;
}

/* Copies and returns the end of the copy. */
static inline char *bytes_copy(char *to, const char *from, size_t len) {
	size_t i = 0;

	for (; len - i > 8; i += 8) {
		memcpy(to + i, from + i, 8);
	}
	if (len >= 8) {
		memcpy(to + len - 8, from + len - 8, 8); /* some bytes a second time */
		return to + len;
	}
	for (; i < len; i++) {
		to[i] = from[i];
	}
	return to + len;
}

#endif
