/* The name servers of the host and how they want to be asked: resolv.conf(5). */
#ifndef CORRAL_GATE_SERVERS_H
#define CORRAL_GATE_SERVERS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SERVERS_MAX 3 /* as libc has it */
#define SERVERS_PORT 53
#define SERVERS_TIMEOUT_MAX 30 /* seconds, and attempts, as libc bounds them */
#define SERVERS_ATTEMPTS_MAX 5

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

struct servers {
	struct server list[SERVERS_MAX];
	size_t count; /* never 0: without a line it is this host */
	bool named;   /* a line says who */
	unsigned timeout_ms, attempts;
	bool rotate, use_vc; /* use_vc: by TCP alone */
	size_t turn;         /* rotate: who is first the next time */
};

/* timeout_ms: where the file does not say.  search and ndots are the asker's business. */
void servers_read(struct servers *s, const char *resolv_conf, unsigned timeout_ms);

/* Whom to ask first at this time. */
size_t servers_first(struct servers *s, int64_t now);

#endif
