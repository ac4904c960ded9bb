/* SPDX-License-Identifier: Apache-2.0 */
/* One DNS query to the host's name servers: tries, time-outs, UDP and TCP. */
#ifndef CORRAL_GATE_DNS_QUERY_H
#define CORRAL_GATE_DNS_QUERY_H

#include "net/dns.h"
#include "gate/loop.h"
#include "gate/dns/resolv_conf.h"

/* After a time-out a server comes after the others for so long. */
#define DNS_QUERY_AVOID_MS 30000

/* Concurrent queries by TCP; a try that finds no free buffer goes to the next server. */
#define DNS_QUERY_STREAMS 32

struct stream {
	bool busy;
	size_t done; /* bytes sent, then bytes received */
	size_t len;  /* of the query with its length */
	uint8_t data[2 + DNS_MAX];
};

/* Shared by all queries of a resolver. */
struct dns_shared {
	struct loop *loop;
	struct resolv_conf servers;
	struct stream streams[DNS_QUERY_STREAMS];
};

struct dns_query {
	struct dns_shared *all;
	struct dns_request request; /* the owner sets name and type */
	struct dns_answer *answer;  /* SERVFAIL if no server answered */
	void *owner;
	void (*done)(struct dns_query *x); /* once, perhaps before dns_query_begin() returns */
	bool over;
	bool last_try; /* the owner may set it any time: the next time-out is the last */

	struct loop_watch watch;
	struct loop_alarm alarm;
	struct stream *stream; /* NULL: UDP */
	unsigned tries;        /* left after this one */
	size_t server;
};

/* x is zeroed but for the fields above the empty line, which the owner has set; the name outlives
 * the query. */
void dns_query_begin(struct dns_query *x);

/* Cancels it; done is not called. */
void dns_query_stop(struct dns_query *x);

#endif
