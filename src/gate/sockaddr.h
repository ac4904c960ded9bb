/* SPDX-License-Identifier: Apache-2.0 */
/* Conversion between struct ip and struct sockaddr. */
#ifndef CORRAL_GATE_SOCKADDR_H
#define CORRAL_GATE_SOCKADDR_H

#include "base/ip.h"

#include <netinet/in.h>
#include <string.h>

union sockaddr_any {
	struct sockaddr any;
	struct sockaddr_in in4;
	struct sockaddr_in6 in6;
};

/* IPv4-mapped addresses become sockaddr_in; returns the length. */
static inline socklen_t address_of(const struct ip *ip, uint16_t port, union sockaddr_any *ret) {
	memset(ret, 0, sizeof *ret);
	if (ip_is4(ip)) {
		ret->in4.sin_family = AF_INET;
		ret->in4.sin_port = htons(port);
		memcpy(&ret->in4.sin_addr, ip->b + 12, 4);
		return sizeof ret->in4;
	}
	ret->in6.sin6_family = AF_INET6;
	ret->in6.sin6_port = htons(port);
	memcpy(&ret->in6.sin6_addr, ip->b, sizeof ip->b);
	return sizeof ret->in6;
}

/* The reverse; returns the port, which has the same offset in both structures. */
static inline uint16_t address_ip(const union sockaddr_any *a, struct ip *ret) {
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	if (a->any.sa_family == AF_INET) {
		memcpy(ret->b, mapped, sizeof mapped);
		memcpy(ret->b + 12, &a->in4.sin_addr, 4);
	} else {
		memcpy(ret->b, &a->in6.sin6_addr, sizeof ret->b);
	}
	return ntohs(a->in4.sin_port);
}

#endif
