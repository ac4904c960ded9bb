/* SPDX-License-Identifier: Apache-2.0 */
/* IP addresses and networks: one 128-bit form for both families. */
#ifndef CORRAL_BASE_IP_H
#define CORRAL_BASE_IP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In network byte order; IPv4 as ::ffff:a.b.c.d, the mapped form. */
struct ip {
	uint8_t b[16];
};

/* The longest text and its NUL: "ffff:…" eight times, or with a dotted end. */
#define IP_TEXT 46

/* 127.0.0.1 */
static const struct ip ip_loopback4 = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1}};

struct ip ip_from4(const uint8_t four[4]);
bool ip_is4(const struct ip *ip);
bool ip_same(const struct ip *a, const struct ip *b);

/* The strict form: four decimal numbers without leading zeros, or RFC 4291's text
 * without a zone and without brackets.  False for anything else. */
bool ip_parse(const char *s, size_t len, struct ip *ret);

/* Also the forms of inet_aton(3) and browsers: "0x7f.1", "2130706433", "0177.0.0.1",
 * "127.1", one trailing dot.  False for anything else. */
bool ip_parse_any(const char *s, size_t len, struct ip *ret);

/* Dotted, or RFC 5952; returns the length. */
size_t ip_text(const struct ip *ip, char out[IP_TEXT]);

struct network {
	struct ip ip;
	unsigned bits; /* prefix length of 128; for IPv4 96 more than the written one */
};

/* "10.0.0.0/8", "fd00::/8", or an address alone; host bits must be zero. */
bool ip_network_parse(const char *s, size_t len, struct network *ret);
bool ip_network_holds(const struct network *n, const struct ip *ip);

#endif
