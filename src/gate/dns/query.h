/* One question to the host's servers: tries, time-outs, UDP and TCP. */
#ifndef CORRAL_GATE_DNS_QUERY_H
#define CORRAL_GATE_DNS_QUERY_H

#include "net/dns.h"
#include "gate/loop.h"
#include "gate/dns/resolv_conf.h"

/* Who did not answer in time is asked after the others for so long. */
#define DNS_QUERY_SHUN_MS 30000

/* Answers by TCP that are read at once; a try that finds none free goes to the next server. */
#define DNS_QUERY_STREAMS 32

struct stream {
	bool busy;
	size_t done; /* bytes sent, then bytes received */
	size_t len;  /* of the query with its length */
	uint8_t data[2 + DNS_MAX];
};

/* What all questions share. */
struct exchanges {
	struct loop *loop;
	struct resolv_conf servers;
	struct stream streams[DNS_QUERY_STREAMS];
};

struct dns_query {
	struct exchanges *all;
	struct dns_asked asked;    /* name and type are the asker's */
	struct dns_answer *answer; /* SERVFAIL when nobody answered */
	void *owner;
	void (*done)(struct dns_query *x); /* once, perhaps before dns_query_begin() returns */
	bool over;
	/* Set while it goes on: the next time-out is the last. */
	bool hurried;

	struct loop_watch watch;
	struct loop_alarm alarm;
	struct stream *stream; /* NULL: UDP */
	unsigned tries;        /* that are left after this one */
	size_t server;
};

/* Fills in what is above the empty line, from zeroed memory; the name outlives it. */
void dns_query_begin(struct dns_query *x);

/* Ends what is under way of it; done is not called. */
void dns_query_stop(struct dns_query *x);

#endif
