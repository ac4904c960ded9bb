/* SPDX-License-Identifier: Apache-2.0 */
/* Formats and reads RFC 3339 times without the C library's time zones.
 *
 * Should:   be exact for every day of the Gregorian calendar.
 * Must not: depend on the locale or on TZ.
 * Fails:    a text that is not a time is -1. */
#include "base/rfc3339.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#define DAY_MS ((int64_t)24 * 3600 * 1000)

/* Days since 1970-01-01.  A year begins in March here, so that the leap day is its last. */
static int64_t days_of(int year, int month, int day) {
	int64_t y = month <= 2 ? year - 1 : year;
	int64_t era = (y >= 0 ? y : y - 399) / 400;
	int64_t of_era = y - era * 400;
	int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
	return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static void date_of(int64_t days, int *year, int *month, int *day) {
	int64_t z = days + 719468;
	int64_t era = (z >= 0 ? z : z - 146096) / 146097;
	int64_t of_era = z - era * 146097;
	int64_t y = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
	int64_t of_year = of_era - (365 * y + y / 4 - y / 100);
	int64_t m = (5 * of_year + 2) / 153;
	*day = (int)(of_year - (153 * m + 2) / 5 + 1);
	*month = (int)(m < 10 ? m + 3 : m - 9);
	*year = (int)(y + era * 400 + (*month <= 2));
}

static void put_number(char *out, int n, int digits) {
	for (int i = digits - 1; i >= 0; i--) {
		out[i] = (char)('0' + n % 10);
		n /= 10;
	}
}

void rfc3339_text(int64_t ms, char ret[RFC3339_LENGTH + 1]) {
	int year, month, day;
	int64_t days = (ms >= 0 ? ms : ms - (DAY_MS - 1)) / DAY_MS;
	int rest = (int)(ms - days * DAY_MS);

	date_of(days, &year, &month, &day);
	memcpy(ret, "0000-00-00T00:00:00.000Z", RFC3339_LENGTH + 1);
	put_number(ret, year < 0 || year > 9999 ? 0 : year, 4);
	put_number(ret + 5, month, 2);
	put_number(ret + 8, day, 2);
	put_number(ret + 11, rest / 3600000, 2);
	put_number(ret + 14, rest / 60000 % 60, 2);
	put_number(ret + 17, rest / 1000 % 60, 2);
	put_number(ret + 20, rest % 1000, 3);
}

/* The text in the form "2026-11-17T09:30:00.250Z", completed from the template. */
static bool complete(const char *text, char out[RFC3339_LENGTH + 1]) {
	size_t len = strlen(text);

	memcpy(out, "0000-00-00T00:00:00.000Z", RFC3339_LENGTH + 1);
	if (len > 0 && text[len - 1] == 'Z' && len > 11) {
		len--;
	}
	if (len != 10 && len != 16 && len != 19 && len != 23) {
		return false;
	}
	for (size_t i = 0; i < len; i++) {
		bool fits = isdigit((unsigned char)out[i]) ? isdigit((unsigned char)text[i])
							   : text[i] == out[i];
		if (!fits) {
			return false;
		}
		out[i] = text[i];
	}
	return true;
}

static int number_at(const char *text, int digits) {
	int n = 0;

	for (int i = 0; i < digits; i++) {
		n = n * 10 + (text[i] - '0');
	}
	return n;
}

int rfc3339_read(const char *text, int64_t *ret_ms) {
	char full[RFC3339_LENGTH + 1], again[RFC3339_LENGTH + 1];

	if (!complete(text, full)) {
		return -1;
	}
	int64_t days = days_of(number_at(full, 4), number_at(full + 5, 2), number_at(full + 8, 2));
	int64_t seconds = (int64_t)number_at(full + 11, 2) * 3600 +
			  (int64_t)number_at(full + 14, 2) * 60 + number_at(full + 17, 2);
	int64_t ms = days * DAY_MS + seconds * 1000 + number_at(full + 20, 3);
	/* The 30th of February, the 25th hour: they format as another time. */
	rfc3339_text(ms, again);
	if (strcmp(full, again) != 0) {
		return -1;
	}
	*ret_ms = ms;
	return 0;
}
