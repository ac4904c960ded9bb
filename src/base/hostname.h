/* SPDX-License-Identifier: Apache-2.0 */
/* Parses a host: a DNS name or an IP address.
 *
 * One strict grammar for all protocols and rules: policy, DNS, TLS, HTTP, SOCKS, URLs. */
#ifndef CORRAL_BASE_HOSTNAME_H
#define CORRAL_BASE_HOSTNAME_H

#include "base/ip.h"

#define HOSTNAME_MAX 253 /* without the trailing dot */

enum host_kind { HOST_BAD, HOST_NAME, HOST_IP };

struct hostname {
	enum host_kind kind;
	char name[HOSTNAME_MAX + 1]; /* HOST_NAME: lower case, no trailing dot */
	struct ip ip;                /* HOST_IP */
	const char *why;             /* HOST_BAD: one clause, "a label is longer than 63 bytes" */
};

/* Labels of letters, digits, '-' and '_' (1 to 63 bytes, no '-' at either end), 253 bytes at
 * most, one trailing dot dropped, ASCII only (IDN as "xn--"); or an address: in any
 * spelling of IPv4 (a host that ends in a number is never a name), IPv6 with or without
 * brackets and without a zone.  Everything else is HOST_BAD. */
enum host_kind hostname_parse(const char *s, size_t len, struct hostname *ret);

/* "HOST", "HOST:PORT", "[V6]:PORT"; *ret_port is 0 without one.  A port is 1 to 65535, in
 * decimal digits without sign or leading zero. */
enum host_kind hostname_parse_port(const char *s, size_t len, struct hostname *ret,
				   uint16_t *ret_port);

#endif
