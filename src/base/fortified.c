/* SPDX-License-Identifier: Apache-2.0 */
/* glibc functions that Debian's static libraries call and musl does not have.
 *
 * The libraries are compiled with _FORTIFY_SOURCE, which replaces some calls by checked
 * ones, and since glibc 2.38 with C23's strtoll().  The build compiles this file only
 * with a C library other than glibc.
 *
 * Should:   check the bound that the compiler passed, then call the plain function.
 * Must not: be called by our own code.
 * Fails:    closed: a bound that does not hold ends the process, as in glibc. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The names are reserved for glibc, which this file replaces.
 * NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */
int __snprintf_chk(char *out, size_t cap, int flag, size_t size, const char *format, ...);
int __vsnprintf_chk(char *out, size_t cap, int flag, size_t size, const char *format, va_list ap);
int __sprintf_chk(char *out, int flag, size_t size, const char *format, ...);
char *__strncpy_chk(char *out, const char *from, size_t len, size_t size);
void __explicit_bzero_chk(void *out, size_t len, size_t size);
long long __isoc23_strtoll(const char *text, char **ret_end, int base);
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */

static void check(size_t len, size_t size) {
	if (len > size) {
		abort();
	}
}

int __vsnprintf_chk(char *out, size_t cap, int flag, size_t size, const char *format, va_list ap) {
	(void)flag;
	check(cap, size);
	return vsnprintf(out, cap, format, ap);
}

int __snprintf_chk(char *out, size_t cap, int flag, size_t size, const char *format, ...) {
	va_list ap;
	va_start(ap, format);
	int n = __vsnprintf_chk(out, cap, flag, size, format, ap);
	va_end(ap);
	return n;
}

int __sprintf_chk(char *out, int flag, size_t size, const char *format, ...) {
	va_list ap;
	(void)flag;
	va_start(ap, format);
	int n = vsnprintf(out, size, format, ap);
	va_end(ap);
	check(n < 0 ? 0 : (size_t)n + 1, size);
	return n;
}

char *__strncpy_chk(char *out, const char *from, size_t len, size_t size) {
	check(len, size);
	return strncpy(out, from, len);
}

void __explicit_bzero_chk(void *out, size_t len, size_t size) {
	check(len, size);
	explicit_bzero(out, len);
}

/* jansson passes base 10, for which C17 and C23 agree. */
long long __isoc23_strtoll(const char *text, char **ret_end, int base) {
	return strtoll(text, ret_end, base);
}
