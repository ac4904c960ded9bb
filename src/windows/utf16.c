/* SPDX-License-Identifier: Apache-2.0 */
/* Converts text between UTF-8 and UTF-16.
 *
 * Should:   convert every Unicode text both ways without a change.
 * Must not: replace a text that it cannot convert: two names could become one.
 * Fails:    closed: text that is not UTF-8 and surrogates without a partner are errors. */
#include "windows/utf16.h"

#include "base/str.h"

#include <stdlib.h>

#define PAIR_FIRST 0x10000UL
#define HIGH 0xD800U
#define LOW 0xDC00U
#define AFTER_LOW 0xE000U

/* The code point of a sequence that str_utf8_length() accepted. */
static unsigned long decode(const unsigned char *p, size_t n) {
	static const unsigned char lead[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
	unsigned long code = p[0] & lead[n];

	for (size_t i = 1; i < n; i++) {
		code = code << 6 | (p[i] & 0x3FU);
	}
	return code;
}

/* Writes the units to out, unless it is NULL. */
static size_t convert(const char *text, uint16_t *out) {
	const unsigned char *p = (const unsigned char *)text;
	size_t left = strlen(text), units = 0;

	while (left > 0) {
		size_t n = str_utf8_length(p, left);
		if (n == 0) {
			return SIZE_MAX;
		}
		unsigned long code = decode(p, n);
		bool pair = code >= PAIR_FIRST;
		if (out != NULL && pair) {
			out[units] = (uint16_t)(HIGH + ((code - PAIR_FIRST) >> 10));
			out[units + 1] = (uint16_t)(LOW + ((code - PAIR_FIRST) & 0x3FF));
		} else if (out != NULL) {
			out[units] = (uint16_t)code;
		}
		units += pair ? 2 : 1;
		p += n;
		left -= n;
	}
	return units;
}

size_t utf16_length(const char *text) {
	return convert(text, NULL);
}

uint16_t *utf16_new(const char *text, size_t *ret_units) {
	size_t units = convert(text, NULL);
	uint16_t *out = units == SIZE_MAX ? NULL : calloc(units + 1, sizeof *out);

	if (out == NULL) {
		return NULL;
	}
	(void)convert(text, out); /* the same count as before */
	if (ret_units != NULL) {
		*ret_units = units;
	}
	return out;
}

static void put_code(struct buf *out, unsigned long code) {
	unsigned char bytes[4];
	size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < PAIR_FIRST ? 3 : 4;
	static const unsigned char lead[] = {0, 0, 0xC0, 0xE0, 0xF0};

	for (size_t i = n; i-- > 1;) {
		bytes[i] = (unsigned char)(0x80 | (code & 0x3F));
		code >>= 6;
	}
	bytes[0] = (unsigned char)(lead[n] | code);
	buf_add(out, bytes, n);
}

bool utf16_text(const uint16_t *units, size_t n, struct buf *out) {
	for (size_t i = 0; i < n; i++) {
		unsigned long code = units[i];
		if (code >= HIGH && code < AFTER_LOW) {
			bool pair = code < LOW && i + 1 < n && units[i + 1] >= LOW &&
				    units[i + 1] < AFTER_LOW;
			if (!pair) {
				return false;
			}
			code = PAIR_FIRST + ((code - HIGH) << 10) + (units[++i] - LOW);
		}
		put_code(out, code);
	}
	return true;
}

size_t utf16_count(const uint16_t *units) {
	size_t n = 0;
	while (units[n] != 0) {
		n++;
	}
	return n;
}
