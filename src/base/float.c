/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a decimal number as in the C locale.
 *
 * Should:   read "1.5" as three halves, also in a program that called setlocale(3).
 * Must not: change the locale of the process: other threads use it.
 * Fails:    out of memory it reads by the locale of the process. */
#include "base/float.h"

#include <locale.h>
#include <stdlib.h>

#ifdef __APPLE__
#include <xlocale.h>
#endif
#ifdef _WIN32
#define locale_t _locale_t
#define strtod_l _strtod_l
#define freelocale _free_locale
#define PLAIN_LOCALE() _create_locale(LC_ALL, "C")
#else
#define PLAIN_LOCALE() newlocale(LC_ALL_MASK, "C", (locale_t)0)
#endif

double float_read(const char *digits) {
	locale_t plain = PLAIN_LOCALE();
	if (plain == (locale_t)0) {
		return strtod(digits, NULL); /* out of memory, the run ends */
	}
	double d = strtod_l(digits, NULL, plain);
	freelocale(plain);
	return d;
}
