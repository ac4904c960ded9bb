/* SPDX-License-Identifier: Apache-2.0 */
/* Parses and prints IP addresses and networks.
 *
 * Should:   accept every spelling that a resolver, browser or library takes for an IPv4
 *           address, so that none of them passes as a name.
 * Must not: allocate or call anything but memory functions: the gate parses hostile bytes
 *           with it.
 * Fails:    closed: a text with anything besides the address is an error. */
#include "base/ip.h"

#include <string.h>

static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

struct ip ip_from4(const uint8_t four[4]) {
	struct ip ip;

	memcpy(ip.b, mapped, sizeof mapped);
	memcpy(ip.b + sizeof mapped, four, 4);
	return ip;
}

bool ip_is4(const struct ip *ip) {
	return memcmp(ip->b, mapped, sizeof mapped) == 0;
}

bool ip_same(const struct ip *a, const struct ip *b) {
	return memcmp(a->b, b->b, sizeof a->b) == 0;
}

static struct ip from_number(uint32_t n) {
	const uint8_t four[4] = {(uint8_t)(n >> 24), (uint8_t)(n >> 16), (uint8_t)(n >> 8),
				 (uint8_t)n};
	return ip_from4(four);
}

/* The digit's value, or 16. */
static unsigned digit_value(char c) {
	if (c >= '0' && c <= '9') {
		return (unsigned)(c - '0');
	}
	if (c >= 'a' && c <= 'f') {
		return (unsigned)(c - 'a') + 10;
	}
	if (c >= 'A' && c <= 'F') {
		return (unsigned)(c - 'A') + 10;
	}
	return 16;
}

/* All of s in this base, at most max. */
static bool read_number(const char *s, size_t len, unsigned base, uint64_t max, uint64_t *ret) {
	uint64_t n = 0;

	for (size_t i = 0; i < len; i++) {
		unsigned d = digit_value(s[i]);
		if (d >= base) {
			return false;
		}
		n = n * base + d;
		if (n > max) {
			return false;
		}
	}
	*ret = n;
	return true;
}

/* ---- IPv4 ---- */

/* A number without leading zeros. */
static bool read_decimal(const char *s, size_t len, uint64_t max, uint64_t *ret) {
	return len > 0 && (len == 1 || s[0] != '0') && read_number(s, len, 10, max, ret);
}

static size_t part_length(const char *s, size_t len) {
	const char *dot = memchr(s, '.', len);
	return dot == NULL ? len : (size_t)(dot - s);
}

static bool parse4(const char *s, size_t len, struct ip *ret) {
	uint32_t all = 0;

	for (size_t part = 0; part < 4; part++) {
		size_t n = part_length(s, len);
		uint64_t value;
		if (!read_decimal(s, n, 255, &value) || (part < 3) != (n < len)) {
			return false;
		}
		all = all << 8 | (uint32_t)value;
		s += n + (part < 3);
		len -= n + (part < 3);
	}
	*ret = from_number(all);
	return true;
}

/* Hexadecimal with "0x", octal with "0", else decimal; "0x" alone is 0 to browsers. */
static bool read_any_base(const char *s, size_t len, uint64_t *ret) {
	if (len == 0) {
		return false;
	}
	if (len >= 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X')) {
		return read_number(s + 2, len - 2, 16, UINT32_MAX, ret);
	}
	return read_number(s, len, s[0] == '0' ? 8 : 10, UINT32_MAX, ret);
}

/* The last of one to four numbers fills the bytes that the others leave. */
static bool parse4_any(const char *s, size_t len, struct ip *ret) {
	uint32_t all = 0;

	if (len > 1 && s[len - 1] == '.') {
		len--;
	}
	for (unsigned part = 0; part < 4; part++) {
		size_t n = part_length(s, len);
		bool last = n == len;
		uint64_t value;
		unsigned bits = last ? 32 - 8 * part : 8;
		if (!read_any_base(s, n, &value) || value >> bits != 0) {
			return false;
		}
		if (last) {
			*ret = from_number(all | (uint32_t)value);
			return true;
		}
		all |= (uint32_t)value << (24 - 8 * part);
		s += n + 1;
		len -= n + 1;
	}
	return false;
}

/* ---- IPv6 ---- */

#define GROUPS 8

struct groups {
	uint16_t at[GROUPS];
	size_t n;
	size_t gap; /* "::" stands before this one; GROUPS + 1: nowhere */
};

/* One group of hexadecimal digits; returns its length, 0 for none. */
static size_t read_group(const char *s, size_t len, struct groups *g) {
	size_t n = 0;
	unsigned value = 0;

	while (n < len && n < 4 && digit_value(s[n]) < 16) {
		value = value << 4 | digit_value(s[n++]);
	}
	if (n > 0) {
		g->at[g->n++] = (uint16_t)value;
	}
	return n;
}

/* A dotted end takes two groups. */
static bool read_dotted(const char *s, size_t len, struct groups *g) {
	struct ip four;

	if (g->n > GROUPS - 2 || !parse4(s, len, &four)) {
		return false;
	}
	g->at[g->n++] = (uint16_t)(four.b[12] << 8 | four.b[13]);
	g->at[g->n++] = (uint16_t)(four.b[14] << 8 | four.b[15]);
	return true;
}

/* From the beginning of a group, or the second colon of "::", to the end. */
static bool read_groups(const char *s, size_t len, struct groups *g) {
	for (size_t i = 0; i < len;) {
		if (g->n == GROUPS) {
			return false;
		}
		if (s[i] == ':') {
			if (g->gap <= GROUPS) {
				return false;
			}
			g->gap = g->n;
			i++;
			continue;
		}
		size_t n = read_group(s + i, len - i, g);
		if (n > 0 && i + n < len && s[i + n] == '.') {
			g->n--;
			return read_dotted(s + i, len - i, g);
		}
		i += n;
		if (n == 0 || (i < len && (s[i] != ':' || i + 1 == len))) {
			return false;
		}
		i += i < len;
	}
	return true;
}

static bool parse6(const char *s, size_t len, struct ip *ret) {
	struct groups g = {.gap = GROUPS + 1};

	if (len < 2 || (s[0] == ':' && s[1] != ':')) {
		return false;
	}
	size_t skip = s[0] == ':';
	if (!read_groups(s + skip, len - skip, &g)) {
		return false;
	}
	if (g.gap > GROUPS ? g.n != GROUPS : g.n == GROUPS) {
		return false;
	}
	*ret = (struct ip){0};
	for (size_t i = 0; i < g.n; i++) {
		size_t at = i < g.gap ? i : GROUPS - g.n + i;
		ret->b[2 * at] = (uint8_t)(g.at[i] >> 8);
		ret->b[2 * at + 1] = (uint8_t)g.at[i];
	}
	return true;
}

/* ---- both ---- */

bool ip_parse(const char *s, size_t len, struct ip *ret) {
	if (len == 0 || len >= IP_TEXT) {
		return false;
	}
	return memchr(s, ':', len) != NULL ? parse6(s, len, ret) : parse4(s, len, ret);
}

bool ip_parse_any(const char *s, size_t len, struct ip *ret) {
	return ip_parse(s, len, ret) || (len > 0 && parse4_any(s, len, ret));
}

static size_t put_number(char *out, unsigned n, unsigned base) {
	char digits[8];
	size_t len = 0;

	do {
		digits[len++] = "0123456789abcdef"[n % base];
		n /= base;
	} while (n > 0);
	for (size_t i = 0; i < len; i++) {
		out[i] = digits[len - 1 - i];
	}
	return len;
}

static size_t text4(const uint8_t *b, char *out) {
	size_t n = 0;

	for (size_t i = 0; i < 4; i++) {
		if (i > 0) {
			out[n++] = '.';
		}
		n += put_number(out + n, b[i], 10);
	}
	out[n] = '\0';
	return n;
}

static unsigned group_at(const struct ip *ip, size_t i) {
	return (unsigned)ip->b[2 * i] << 8 | ip->b[2 * i + 1];
}

/* The first of the longest runs of zero groups; length 0 if "::" would not shorten it. */
static size_t zero_run(const struct ip *ip, size_t *ret_len) {
	size_t best = 0, best_len = 1;

	for (size_t i = 0, len = 0; i < GROUPS; i++) {
		len = group_at(ip, i) == 0 ? len + 1 : 0;
		if (len > best_len) {
			best_len = len;
			best = i + 1 - len;
		}
	}
	*ret_len = best_len > 1 ? best_len : 0;
	return best;
}

size_t ip_text(const struct ip *ip, char out[IP_TEXT]) {
	size_t len, n = 0;

	if (ip_is4(ip)) {
		return text4(ip->b + 12, out);
	}
	size_t run = zero_run(ip, &len);
	for (size_t i = 0; i < GROUPS; i++) {
		if (len > 0 && i == run) {
			out[n++] = ':';
			out[n++] = ':';
			i += len - 1;
			continue;
		}
		if (i > 0 && out[n - 1] != ':') {
			out[n++] = ':';
		}
		n += put_number(out + n, group_at(ip, i), 16);
	}
	out[n] = '\0';
	return n;
}

/* ---- networks ---- */

static bool same_prefix(const struct ip *a, const struct ip *b, unsigned bits) {
	size_t whole = bits / 8;
	unsigned rest = bits % 8;

	if (memcmp(a->b, b->b, whole) != 0) {
		return false;
	}
	return rest == 0 || (a->b[whole] ^ b->b[whole]) >> (8 - rest) == 0;
}

/* Whether all host bits are zero. */
static bool prefix_only(const struct ip *ip, unsigned bits) {
	struct ip base = {0};
	size_t whole = bits / 8;

	memcpy(base.b, ip->b, whole);
	if (bits % 8 != 0) {
		base.b[whole] = (uint8_t)(ip->b[whole] & 0xff00U >> bits % 8);
	}
	return ip_same(ip, &base);
}

bool ip_network_parse(const char *s, size_t len, struct network *ret) {
	const char *slash = len == 0 ? NULL : memchr(s, '/', len);
	size_t address = slash == NULL ? len : (size_t)(slash - s);
	struct network n;
	uint64_t bits;

	if (!ip_parse(s, address, &n.ip)) {
		return false;
	}
	/* ::ffff:a.b.c.d is IPv4, but its prefix length counts 128 bits. */
	unsigned width = memchr(s, ':', address) != NULL ? 128 : 32;
	bits = width;
	if (slash != NULL && !read_decimal(slash + 1, len - address - 1, width, &bits)) {
		return false;
	}
	n.bits = (unsigned)bits + 128 - width;
	if (!prefix_only(&n.ip, n.bits)) {
		return false;
	}
	*ret = n;
	return true;
}

bool ip_network_holds(const struct network *n, const struct ip *ip) {
	/* "::/0" covers IPv6 only, although IPv4 is stored as ::ffff:a.b.c.d. */
	bool four = n->bits >= 8 * sizeof mapped && ip_is4(&n->ip);

	return four == ip_is4(ip) && same_prefix(&n->ip, ip, n->bits);
}
