/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes, times, counts and processors as a user writes them.
 *
 * The first byte chooses the key, the rest is the text.  A number that is taken
 * is the one that the text says, by an arithmetic of our own in 128 bits, lies
 * in the key's range, and is the same when it is printed and read again. */
#include "fuzz.h"

#include "base/auto.h"
#include "base/str.h"
#include "policy/internal.h"

#include <ctype.h>

__extension__ typedef __int128 wide;

static const struct {
	enum key_type type;
	const char *suffix; /* lower case */
	int64_t factor;
} suffixes[] = {
	{TYPE_COUNT, "", 1},
	{TYPE_BYTES, "", 1},
	{TYPE_BYTES, "b", 1},
	{TYPE_BYTES, "k", 1024},
	{TYPE_BYTES, "kb", 1024},
	{TYPE_BYTES, "kib", 1024},
	{TYPE_BYTES, "m", 1048576},
	{TYPE_BYTES, "mb", 1048576},
	{TYPE_BYTES, "mib", 1048576},
	{TYPE_BYTES, "g", 1073741824},
	{TYPE_BYTES, "gb", 1073741824},
	{TYPE_BYTES, "gib", 1073741824},
	{TYPE_BYTES, "t", 1099511627776},
	{TYPE_BYTES, "tb", 1099511627776},
	{TYPE_BYTES, "tib", 1099511627776},
	{TYPE_DURATION, "", 1000},
	{TYPE_DURATION, "ms", 1},
	{TYPE_DURATION, "s", 1000},
	{TYPE_DURATION, "m", 60000},
	{TYPE_DURATION, "h", 3600000},
};

/* Digits saturate far above every range. */
static const char *digits(const char *s, wide *ret) {
	const wide plenty = (wide)1 << 80; /* times ten and the largest factor still fits */
	for (*ret = 0; *s >= '0' && *s <= '9'; s++) {
		*ret = *ret > plenty ? *ret : *ret * 10 + (*s - '0');
	}
	return s;
}

static bool suffix_is(const char *text, const char *suffix) {
	for (; *text != '\0' && tolower((unsigned char)*text) == *suffix; text++, suffix++) {
	}
	return *text == '\0' && *suffix == '\0';
}

static bool expect_unit(const struct key *k, const char *text, wide *ret) {
	wide n;
	const char *rest = digits(text, &n);
	for (size_t i = 0; rest != text && i < ARRAY_LEN(suffixes); i++) {
		if (suffixes[i].type == k->type && suffix_is(rest, suffixes[i].suffix)) {
			*ret = n * suffixes[i].factor;
			return true;
		}
	}
	return false;
}

static bool expect_thousandths(const char *text, wide *ret) {
	wide whole, part = 0;
	const char *rest = digits(text, &whole);
	size_t places = 3;
	if (rest == text) {
		return false;
	}
	if (*rest == '.') {
		const char *end = digits(rest + 1, &part);
		if (end == rest + 1 || end > rest + 4) {
			return false;
		}
		places -= (size_t)(end - rest - 1);
		rest = end;
	}
	while (places-- > 0 && part != 0) {
		part *= 10;
	}
	*ret = whole * 1000 + part;
	return *rest == '\0';
}

/* What the text means for this key; false when it means nothing. */
static bool expect(const struct key *k, const char *text, int64_t *ret) {
	wide n;
	if (k->none_allowed && streq(text, "none")) {
		*ret = LIMIT_NONE;
		return true;
	}
	bool read = k->type == TYPE_CPUS ? expect_thousandths(text, &n) : expect_unit(k, text, &n);
	if (!read || n < k->min || n > k->max) {
		return false;
	}
	*ret = (int64_t)n;
	return true;
}

static bool is_number(const struct key *k) {
	return k->type == TYPE_COUNT || k->type == TYPE_BYTES || k->type == TYPE_DURATION ||
	       k->type == TYPE_CPUS;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	struct input in = {data, size};
	const struct key *k = &keys[input_byte(&in) % KEY_COUNT];
	auto_free char *text = input_rest(&in);
	struct arena a;
	struct err e = {0};
	struct value v = {0}, again = {0};
	char printed[32];
	int64_t want = 0;

	arena_init(&a);
	const struct where w = {.a = &a, .cwd = "/ws", .base = "/ws", .home = "/home/ann"};
	int done = value_from_text(&w, k, text, &v, &e);
	if (is_number(k)) {
		HOLDS((done == 0) == expect(k, text, &want));
	}
	if (done != 0) {
		HOLDS(e.kind == ERR_USAGE);
	} else if (is_number(k)) {
		HOLDS(v.num == want);
		const char *words = number_value(k, v.num, printed, sizeof printed);
		HOLDS(value_from_text(&w, k, words, &again, &e) == 0 && again.num == v.num);
	}
	arena_done(&a);
	return 0;
}
