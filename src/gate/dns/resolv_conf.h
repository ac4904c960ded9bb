/* The name servers of the host and how they want to be asked: resolv.conf(5). */
#ifndef CORRAL_GATE_DNS_RESOLV_CONF_H
#define CORRAL_GATE_DNS_RESOLV_CONF_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RESOLV_CONF_MAX 3 /* as libc has it */
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
	bool plain;      /* it does not know EDNS */
	int64_t shunned; /* until then others are asked first: it did not answer in time */
};

struct resolv_conf {
	struct server list[RESOLV_CONF_MAX];
	size_t count; /* never 0: without a line it is this host */
	bool named;   /* a line says who */
	unsigned timeout_ms, attempts;
	bool rotate, use_vc; /* use_vc: by TCP alone */
	size_t turn;         /* rotate: who is first the next time */
};

/* timeout_ms: where the file does not say.  search and ndots are the asker's business. */
void resolv_conf_read(struct resolv_conf *s, const char *resolv_conf, unsigned timeout_ms);

/* Whom to ask first at this time. */
size_t resolv_conf_first_server(struct resolv_conf *s, int64_t now);

#endif
