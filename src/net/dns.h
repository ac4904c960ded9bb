/* DNS messages: strict reading, plain writing.  Pure. */
#ifndef CORRAL_NET_DNS_H
#define CORRAL_NET_DNS_H

#include "base/hostname.h"

#define DNS_UDP_MAX 1232 /* what is sent and asked for by UDP; more goes by TCP */
#define DNS_MAX 65535
#define DNS_ADDRESSES 16 /* of one answer; more are left out */
#define DNS_CHAIN 8      /* CNAMEs of one answer; a longer chain is a failure */
#define DNS_RECORDS 512  /* of one answer section; more are a failure */
#define DNS_NAME_MAX 255 /* as it is sent: lengths, labels and the root */

enum {
	DNS_A = 1,
	DNS_CNAME = 5,
	DNS_SOA = 6,
	DNS_AAAA = 28,
	DNS_OPT = 41,
	DNS_SVCB = 64,
	DNS_HTTPS = 65
};
enum {
	DNS_NO_ANSWER = -1, /* of dns_read_question(): nothing is to be answered */
	DNS_NOERROR = 0,
	DNS_FORMERR = 1,
	DNS_SERVFAIL = 2,
	DNS_NXDOMAIN = 3,
	DNS_NOTIMP = 4,
	DNS_REFUSED = 5,
	DNS_BADVERS = 16,
};

struct dns_question {
	uint16_t id;
	uint16_t type, class_;
	bool recursion;
	bool edns;
	uint16_t size;                 /* what the asker takes by UDP: 512 to DNS_UDP_MAX */
	struct hostname host;          /* HOST_BAD when it is no name of a host; never HOST_IP */
	uint8_t raw[DNS_NAME_MAX + 4]; /* the question as it came: askers compare every byte */
	size_t nraw;                   /* 0: it could not be read, and is not repeated */
};

/* What is known about one name. */
struct dns_answer {
	int code;
	uint32_t ttl; /* the smallest of the chain; 0 without a record */
	char chain[DNS_CHAIN]
		  [HOSTNAME_MAX + 1]; /* canonical names, in order, after the question's */
	size_t nchain;
	struct ip ips[DNS_ADDRESSES];
	size_t nips;
};

/* One query, one question, class IN.  When false, *ret_code is the error to answer with
 * dns_write_answer(), and *ret holds what could be read. */
bool dns_read_question(const uint8_t *m, size_t len, struct dns_question *ret, int *ret_code);

/* The answer to q by this knowledge: the chain and the addresses of the family that was asked
 * for; to another type than A, AAAA and CNAME nothing but the code.  Cut to cap with the TC
 * bit.  Returns the length; 0 when not even the question fits. */
size_t dns_write_answer(const struct dns_question *q, const struct dns_answer *a, uint8_t *out,
			size_t cap);

/* A question of ours. */
struct dns_request {
	const char *name; /* a hostname in lower case */
	int type;         /* DNS_A or DNS_AAAA */
	uint16_t id;
	bool plain; /* without EDNS, for a server that does not know it */
};

/* Recursion desired.  Returns the length; 0 when it does not fit or name is none. */
size_t dns_write_query(const struct dns_request *asked, uint8_t *out, size_t cap);

/* A server's response to our query: id and question must be ours.  False: it is not one.
 * *ret_cut: TC was set, and nothing but the code was read.  What is wrong behind the question (a
 * chain that is too long or leads to what is no name, records that are not whole) is DNS_SERVFAIL.
 * Only the answer section is read: nothing else is believed. */
bool dns_read_answer(const uint8_t *m, size_t len, const struct dns_request *asked,
		     struct dns_answer *ret, bool *ret_cut);

#endif
