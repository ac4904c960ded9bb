/* SPDX-License-Identifier: Apache-2.0 */
#include "base/string_functions.h"

#include "test.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LONGEST 200
#define SHIFTS 17

/* Two pages with an inaccessible one behind them: a read or write past the end is a SIGSEGV. */
static unsigned char *guarded(void) {
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	unsigned char *at =
		mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED || mprotect(at + 2 * page, page, PROT_NONE) != 0) {
		return NULL;
	}
	return at + 2 * page; /* the first byte that cannot be accessed */
}

static void number(unsigned char *at, size_t n) {
	for (size_t i = 0; i < n; i++) {
		at[i] = (unsigned char)(i * 7 + 1);
	}
}

static int sign(int n) {
	return (n > 0) - (n < 0);
}

TEST(a_copy_is_exact_at_every_size_and_alignment) {
	unsigned char *from = guarded(), *to = guarded();
	unsigned char expected[LONGEST + SHIFTS + 16];
	REQUIRE(from != NULL && to != NULL);

	for (size_t n = 0; n <= LONGEST; n++) {
		for (size_t shift = 0; shift < SHIFTS; shift++) {
			/* Both end at the guard when shift is 0. */
			number(from - n - shift, n);
			memset(to - n - shift - 16, 0xee, n + 16 + shift);
			memset(expected, 0xee, sizeof expected);
			memcpy(expected + 16, from - n - shift, n);
			CHECK(string_move(to - n - shift, from - n - shift, n) == to - n - shift);
			CHECK(memcmp(to - n - shift - 16, expected, n + 16 + shift) == 0);
		}
	}
}

TEST(areas_that_overlap_are_moved_whole) {
	unsigned char own[3 * LONGEST], expected[3 * LONGEST];

	for (size_t n = 0; n <= LONGEST; n++) {
		for (size_t from = LONGEST - 40; from <= LONGEST + 40; from++) {
			number(own, sizeof own);
			number(expected, sizeof expected);
			memmove(expected + LONGEST, expected + from, n);
			string_move(own + LONGEST, own + from, n);
			REQUIRE(memcmp(own, expected, sizeof own) == 0);
		}
	}
}

TEST(a_fill_touches_its_area_and_nothing_else) {
	unsigned char *end = guarded();
	unsigned char expected[LONGEST + SHIFTS + 16];
	REQUIRE(end != NULL);

	for (size_t n = 0; n <= LONGEST; n++) {
		for (size_t shift = 0; shift < SHIFTS; shift++) {
			unsigned char *at = end - n - shift;
			memset(at - 16, 0xee, n + 16 + shift);
			memset(expected, 0xee, sizeof expected);
			memset(expected + 16, 0x1a5, n); /* the low byte counts */
			CHECK(string_fill(at, 0x1a5, n) == at);
			CHECK(memcmp(at - 16, expected, n + 16 + shift) == 0);
		}
	}
}

TEST(bytes_are_compared_and_found_as_by_libc) {
	unsigned char *a = guarded(), *b = guarded();
	REQUIRE(a != NULL && b != NULL);

	for (size_t n = 0; n <= 70; n++) {
		unsigned char *one = a - n, *other = b - n;
		number(one, n);
		number(other, n);
		CHECK_INT(string_compare_bytes(one, other, n), 0);
		CHECK(string_find_byte(one, 0, n) == NULL);
		for (size_t at = 0; at < n; at++) {
			unsigned char old = other[at];
			CHECK(string_find_byte(one, one[at], n) == memchr(one, one[at], n));
			for (int byte = 0; byte < 256; byte += 51) {
				other[at] = (unsigned char)byte;
				CHECK_INT(sign(string_compare_bytes(one, other, n)),
					  sign(memcmp(one, other, n)));
			}
			other[at] = old;
		}
	}
}

/* A string of `len` bytes whose terminator is the last byte before the guard, less shift. */
static char *text_at(unsigned char *end, size_t len, size_t shift) {
	char *text = (char *)end - len - 1 - shift;
	number((unsigned char *)text, len);
	for (size_t i = 0; i < len; i++) {
		text[i] = (char)(text[i] == 0 ? 1 : text[i]);
	}
	text[len] = '\0';
	return text;
}

TEST(strings_are_measured_and_searched_as_by_libc) {
	unsigned char *end = guarded();
	REQUIRE(end != NULL);

	for (size_t len = 0; len <= 70; len++) {
		for (size_t shift = 0; shift < SHIFTS; shift++) {
			const char *text = text_at(end, len, shift);
			CHECK_INT((int)string_length(text), (int)len);
			CHECK(string_find_or_end(text, 0x1100) == text + len);
			for (int byte = 1; byte < 256; byte += 3) {
				CHECK(string_find_or_end(text, byte) == strchrnul(text, byte));
			}
		}
	}
}

TEST(strings_are_compared_as_by_libc) {
	unsigned char *a = guarded(), *b = guarded();
	REQUIRE(a != NULL && b != NULL);

	for (size_t len = 0; len <= 40; len++) {
		for (size_t shift = 0; shift < SHIFTS; shift++) {
			char *one = text_at(a, len, 0), *other = text_at(b, len, shift);
			CHECK_INT(string_compare(one, other, SIZE_MAX), 0);
			for (size_t at = 0; at < len; at++) {
				char old = other[at];
				for (int byte = 0; byte < 256; byte += 51) {
					other[at] = (char)byte;
					CHECK_INT(sign(string_compare(one, other, SIZE_MAX)),
						  sign(strcmp(one, other)));
					CHECK_INT(sign(string_compare(one, other, at + 1)),
						  sign(strncmp(one, other, at + 1)));
					CHECK_INT(string_compare(one, other, at), 0);
				}
				other[at] = old;
			}
		}
	}
}

TESTS_MAIN
