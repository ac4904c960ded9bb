/* Internet addresses: one form for both families, networks, every spelling. */
#ifndef CORRAL_BASE_IP_H
#define CORRAL_BASE_IP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In network order; IPv4 as ::ffff:a.b.c.d, and nothing else is written so. */
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

/* As it should be written: four decimal numbers without leading zeros, or RFC 4291's
 * text without a zone and without brackets.  False for anything else. */
bool ip_parse(const char *s, size_t len, struct ip *ret);

/* As inet_aton(3) and browsers read it too: "0x7f.1", "2130706433", "0177.0.0.1",
 * "127.1", one trailing dot.  False for what neither this nor ip_parse() knows. */
bool ip_parse_any(const char *s, size_t len, struct ip *ret);

/* Dotted, or RFC 5952; returns the length. */
size_t ip_text(const struct ip *ip, char out[IP_TEXT]);

struct network {
	struct ip ip;
	unsigned bits; /* of 128; an IPv4 network has 96 more than it is written with */
};

/* "10.0.0.0/8", "fd00::/8", or an address alone; bits beyond the prefix must be zero. */
bool ip_network_parse(const char *s, size_t len, struct network *ret);
bool ip_network_holds(const struct network *n, const struct ip *ip);

#endif
