/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of a match beyond its pattern: checksums, entropy, the structure of a JWT.
 *
 * Should:   refuse a match that has the form of a secret and cannot be one.
 * Must not: read outside of the match.
 * Fails:    open: a secret whose checksum is wrong is no secret. */
#include "leak/match.h"

#include <string.h>

/* ---- CRC-32 in base 62 ---- */

static uint32_t crc32(const unsigned char *data, size_t len) {
	uint32_t crc = ~0U;

	for (size_t i = 0; i < len; i++) {
		crc ^= data[i];
		for (int bit = 0; bit < 8; bit++) {
			crc = crc >> 1 ^ (0xEDB88320U & (0U - (crc & 1)));
		}
	}
	return ~crc;
}

#define CRC_DIGITS 6
#define CRC_COVERS 30

/* The last 6 characters are the CRC-32 of the 30 before, in base 62 with the digits first. */
static bool crc_holds(const unsigned char *match, size_t len) {
	static const char digits[] =
		"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

	if (len < CRC_DIGITS + CRC_COVERS) {
		return false;
	}
	uint32_t crc = crc32(match + len - CRC_DIGITS - CRC_COVERS, CRC_COVERS);
	for (size_t i = 1; i <= CRC_DIGITS; i++) {
		if (match[len - i] != (unsigned char)digits[crc % 62]) {
			return false;
		}
		crc /= 62;
	}
	return true;
}

/* ---- JWT ---- */

static int sextet(unsigned char c) {
	static const char alphabet[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	const char *found = c == '\0' ? NULL : strchr(alphabet, c);

	return found == NULL ? -1 : (int)(found - alphabet);
}

/* Three parts; the first decodes to the beginning of a JSON object that has "alg". */
static bool jwt_holds(const unsigned char *match, size_t len) {
	char header[512];
	size_t n = 0, dots = 0, head = len;
	unsigned bits = 0, have = 0;

	for (size_t i = 0; i < len; i++) {
		dots += match[i] == '.';
		head = match[i] == '.' && dots == 1 ? i : head;
	}
	for (size_t i = 0; i < head && n < sizeof header - 1; i++) {
		int v = sextet(match[i]);
		if (v < 0) {
			return false;
		}
		bits = bits << 6 | (unsigned)v;
		have += 6;
		if (have >= 8) {
			have -= 8;
			header[n++] = (char)(bits >> have & 0xff);
		}
	}
	header[n] = '\0';
	return dots >= 2 && header[0] == '{' && strstr(header, "\"alg\"") != NULL;
}

/* ---- Luhn, entropy ---- */

static bool luhn_holds(const unsigned char *match, size_t len) {
	unsigned sum = 0, n = 0;

	for (size_t i = len; i-- > 0;) {
		if (match[i] < '0' || match[i] > '9') {
			continue;
		}
		unsigned d = (unsigned)(match[i] - '0') * (1 + n % 2);
		sum += d > 9 ? d - 9 : d;
		n++;
	}
	return n > 0 && sum % 10 == 0;
}

/* Without libm, which the library does not need otherwise.  x > 0. */
static double log2_of(double x) {
	double log = 0, bit = 1;

	while (x >= 2) {
		x /= 2;
		log++;
	}
	while (x < 1) {
		x *= 2;
		log--;
	}
	for (int i = 0; i < 40; i++) {
		bit /= 2;
		x *= x;
		if (x >= 2) {
			x /= 2;
			log += bit;
		}
	}
	return log;
}

static double entropy(const unsigned char *data, size_t len) {
	unsigned counts[256] = {0};
	double bits = 0;

	for (size_t i = 0; i < len; i++) {
		counts[data[i]]++;
	}
	for (size_t c = 0; c < 256; c++) {
		if (counts[c] > 0) {
			double p = (double)counts[c] / (double)len;
			bits -= p * log2_of(p);
		}
	}
	return bits;
}

bool leak_check_holds(const struct leak_kind *kind, const unsigned char *text,
		      const struct leak_span *span) {
	const unsigned char *match = text + span->start;
	size_t len = span->end - span->start;

	switch (kind->check) {
	case LEAK_CHECK_NONE:
		return true;
	case LEAK_CHECK_GITHUB_CRC32:
	case LEAK_CHECK_NPM_CRC32:
		return crc_holds(match, len);
	case LEAK_CHECK_JWT:
		return jwt_holds(text + span->secret, span->secret_end - span->secret);
	case LEAK_CHECK_LUHN:
		return luhn_holds(match, len);
	case LEAK_CHECK_ENTROPY:
		return entropy(text + span->secret, span->secret_end - span->secret) >=
		       kind->entropy;
	}
	return true;
}
