/* SPDX-License-Identifier: Apache-2.0 */
/* Parses and formats numbers with units: sizes ("4G"), times ("500ms"), processors ("1.5").
 *
 * Should:   parse its own output to the same number.
 * Must not: round, or check a range; value.c does.
 * Fails:    closed: a sign, a space, an unknown unit or an overflow is an error. */
#include "policy/internal.h"

#include "base/str.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <strings.h>

struct unit {
	const char *name;
	int64_t factor;
};

/* Largest first: number_value() takes the first that divides. */
static const struct unit byte_units[] = {
	{"T", (int64_t)1 << 40},
	{"TB", (int64_t)1 << 40},
	{"TiB", (int64_t)1 << 40},
	{"G", 1 << 30},
	{"GB", 1 << 30},
	{"GiB", 1 << 30},
	{"M", 1 << 20},
	{"MB", 1 << 20},
	{"MiB", 1 << 20},
	{"K", 1 << 10},
	{"KB", 1 << 10},
	{"KiB", 1 << 10},
	{"", 1},
	{"B", 1},
	{NULL, 0},
};

static const struct unit time_units[] = {
	{"h", 3600000}, {"m", 60000}, {"s", 1000},
	{"ms", 1},      {"", 1000},   {"d", 86400000}, /* behind "h": days are printed as hours */
	{NULL, 0},
};

static const struct unit plain_units[] = {{"", 1}, {NULL, 0}};

static const struct unit *units_of(const struct key *k) {
	return k->type == TYPE_BYTES      ? byte_units
	       : k->type == TYPE_DURATION ? time_units
					  : plain_units;
}

static const char *number_with_unit(const struct unit *units, int64_t num, char *out, size_t cap) {
	const struct unit *u = units;
	while (num == 0 ? u->factor != 1 : num % u->factor != 0) {
		u++;
	}
	(void)snprintf(out, cap, "%" PRId64 "%s", num / u->factor, u->name);
	return out;
}

const char *number_value(const struct key *k, int64_t num, char *out, size_t cap) {
	if (k->type == TYPE_BOOL) {
		return num != 0 ? "true" : "false";
	}
	if (k->type == TYPE_ENUM) {
		assert(k->choices != NULL); /* test_policy checks every row of the table */
		return k->choices[num];
	}
	if (num == LIMIT_NONE) {
		return "none";
	}
	if (k->type != TYPE_CPUS) {
		return number_with_unit(units_of(k), num, out, cap);
	}
	int len = snprintf(out, cap, "%" PRId64 ".%03" PRId64, num / 1000, num % 1000);
	while (len > 0 && out[len - 1] == '0') {
		out[--len] = '\0';
	}
	if (len > 0 && out[len - 1] == '.') {
		out[--len] = '\0';
	}
	return out;
}

/* Digits only: no sign, no space.  False when there are none or too many. */
static bool read_digits(const char **p, int64_t *ret) {
	int64_t n = 0;
	const char *start = *p;
	for (; **p >= '0' && **p <= '9'; (*p)++) {
		if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, **p - '0', &n)) {
			return false;
		}
	}
	*ret = n;
	return *p > start;
}

static bool read_with_unit(const struct unit *units, const char *text, int64_t *ret) {
	int64_t n;
	if (!read_digits(&text, &n)) {
		return false;
	}
	for (; units->name != NULL; units++) {
		if (strcasecmp(units->name, text) == 0) {
			return !__builtin_mul_overflow(n, units->factor, ret);
		}
	}
	return false;
}

/* Thousandths: at most three digits after the point, so nothing is rounded. */
static bool read_thousandths(const char *text, int64_t *ret) {
	int64_t whole, part = 0;
	if (!read_digits(&text, &whole)) {
		return false;
	}
	if (*text == '.') {
		const char *start = ++text;
		if (!read_digits(&text, &part) || text - start > 3) {
			return false;
		}
		for (ptrdiff_t n = text - start; n < 3; n++) {
			part *= 10;
		}
	}
	return *text == '\0' && !__builtin_mul_overflow(whole, 1000, &whole) &&
	       !__builtin_add_overflow(whole, part, ret);
}

bool number_read(const struct key *k, const char *text, int64_t *ret) {
	return k->type == TYPE_CPUS ? read_thousandths(text, ret)
				    : read_with_unit(units_of(k), text, ret);
}
