/* SPDX-License-Identifier: Apache-2.0 */
/* The host's name servers and their options: resolv.conf(5). */
#ifndef CORRAL_GATE_DNS_RESOLV_CONF_H
#define CORRAL_GATE_DNS_RESOLV_CONF_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RESOLV_CONF_MAX 3 /* libc's MAXNS */
#define RESOLV_CONF_PORT 53
#define RESOLV_CONF_TIMEOUT_MAX 30 /* seconds, and attempts, as libc bounds them */
#define RESOLV_CONF_ATTEMPTS_MAX 5

struct server {
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} address;
	socklen_t len;
	bool plain;          /* it does not support EDNS */
	int64_t avoid_until; /* after a time-out: until then other servers come first */
};

struct resolv_conf {
	struct server list[RESOLV_CONF_MAX];
	size_t count; /* never 0: without a nameserver line 127.0.0.1 */
	bool named;   /* the file has a nameserver line */
	unsigned timeout_ms, attempts;
	bool rotate, use_vc; /* use_vc: TCP only */
	size_t turn;         /* rotate: index of the next first server */
};

/* timeout_ms: the default.  search and ndots are left to the programs in the sandbox. */
void resolv_conf_read(struct resolv_conf *s, const char *resolv_conf, unsigned timeout_ms);

/* The index of the server for the first try at this time. */
size_t resolv_conf_first_server(struct resolv_conf *s, int64_t now);

#endif
