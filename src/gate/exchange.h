/* One question to the host's servers: tries, time-outs, UDP and TCP. */
#ifndef CORRAL_GATE_EXCHANGE_H
#define CORRAL_GATE_EXCHANGE_H

#include "gate/dns.h"
#include "gate/loop.h"
#include "gate/servers.h"

/* Who did not answer in time is asked after the others for so long. */
#define EXCHANGE_SHUN_MS 30000

/* Answers by TCP that are read at once; a try that finds none free goes to the next server. */
#define EXCHANGE_STREAMS 32

struct stream {
	bool busy;
	size_t done;                 /* bytes sent, then bytes received */
	size_t len;                  /* of the query with its length */
	uint8_t data[2 + DNS_MAX];
};

/* What all questions share. */
struct exchanges {
	struct loop *loop;
	struct servers servers;
	struct stream streams[EXCHANGE_STREAMS];
};

struct exchange {
	struct exchanges *all;
	struct dns_asked asked;    /* name and type are the asker's */
	struct dns_answer *answer; /* SERVFAIL when nobody answered */
	void *owner;
	void (*done)(struct exchange *x); /* once, perhaps before exchange_begin() returns */
	bool over;
	/* Set while it goes on: the next time-out is the last. */
	bool hurried;

	struct watch watch;
	struct alarm alarm;
	struct stream *stream; /* NULL: UDP */
	unsigned tries;        /* that are left after this one */
	size_t server;
};

/* Fills in what is above the empty line, from zeroed memory; the name outlives it. */
void exchange_begin(struct exchange *x);

/* Ends what is under way of it; done is not called. */
void exchange_stop(struct exchange *x);

#endif
