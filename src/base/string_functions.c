/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces musl's string functions by those of string_functions.h.
 *
 * The build compiles this file only with a C library other than glibc, whose functions are
 * faster still, and tells the compiler to make no library call of a loop: it would call the
 * function that the loop implements.  The linker finds these before musl's, for our code, for
 * musl's own and for the libraries.  They make no call, so they are safe between clone and exec.
 *
 * Should:   behave as the C standard says, also for areas that memmove(3) lets overlap.
 * Must not: read a page that the string or area does not reach.
 * Fails:    never. */
#include "base/string_functions.h"

#include <string.h>

void *memmove(void *to, const void *from, size_t n) {
	return string_move(to, from, n);
}

void *memcpy(void *restrict to, const void *restrict from, size_t n) {
	return string_move(to, from, n);
}

void *memset(void *to, int byte, size_t n) {
	return string_fill(to, byte, n);
}

int memcmp(const void *one, const void *other, size_t n) {
	return string_compare_bytes(one, other, n);
}

void *memchr(const void *bytes, int byte, size_t n) {
	return string_find_byte(bytes, byte, n);
}

size_t strlen(const char *text) {
	return string_length(text);
}

/* musl's own name for it, which strcspn(3) and others call.
 * NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */
char *__strchrnul(const char *text, int byte);

char *__strchrnul(const char *text, int byte) {
	return string_not_const(string_find_or_end(text, byte));
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */

char *strchrnul(const char *text, int byte) {
	return __strchrnul(text, byte);
}

char *strchr(const char *text, int byte) {
	const char *found = string_find_or_end(text, byte);
	return *found == (char)byte ? string_not_const(found) : NULL;
}

int strncmp(const char *one, const char *other, size_t n) {
	return string_compare(one, other, n);
}

int strcmp(const char *one, const char *other) {
	return string_compare(one, other, SIZE_MAX);
}
