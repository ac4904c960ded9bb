/* SPDX-License-Identifier: Apache-2.0 */
/* Parser and writer of DNS messages (RFC 1035, EDNS of RFC 6891).  Pure. */
#ifndef CORRAL_NET_DNS_H
#define CORRAL_NET_DNS_H

#include "base/hostname.h"

#define DNS_UDP_MAX 1232 /* of UDP messages in both directions (EDNS size); longer ones use TCP */
#define DNS_MAX 65535
#define DNS_ADDRESSES 16 /* of one answer; further ones are dropped */
#define DNS_CHAIN 8      /* CNAMEs of one answer; a longer chain is SERVFAIL */
#define DNS_RECORDS 512  /* of one answer section; more are SERVFAIL */
#define DNS_NAME_MAX 255 /* in wire format: length bytes, labels and the root */

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
	DNS_NO_ANSWER = -1, /* from dns_read_question(): do not answer */
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
	uint16_t size;        /* the client's limit for UDP: 512 to DNS_UDP_MAX */
	struct hostname host; /* HOST_BAD: not a host name; never HOST_IP */
	uint8_t raw[DNS_NAME_MAX +
		    4]; /* the question section, repeated in the answer byte by byte */
	size_t nraw;    /* 0: unreadable, the answer has no question */
};

/* The records of one name. */
struct dns_answer {
	int code;
	uint32_t ttl; /* the smallest of the chain; 0 without a record */
	char chain[DNS_CHAIN]
		  [HOSTNAME_MAX + 1]; /* canonical names, in order, after the question's */
	size_t nchain;
	struct ip ips[DNS_ADDRESSES];
	size_t nips;
};

/* A client's query with one question of class IN.  False: *ret_code is the error for
 * dns_write_answer(), and *ret has the fields that could be read. */
bool dns_read_question(const uint8_t *m, size_t len, struct dns_question *ret, int *ret_code);

/* Writes the answer to q: the CNAME chain and the addresses of the question's type; for a type
 * other than A, AAAA and CNAME only the code.  Truncated to cap with the TC bit.  Returns the
 * length; 0: not even the question fits. */
size_t dns_write_answer(const struct dns_question *q, const struct dns_answer *a, uint8_t *out,
			size_t cap);

/* A query to a name server. */
struct dns_request {
	const char *name; /* a host name in lower case */
	int type;         /* DNS_A or DNS_AAAA */
	uint16_t id;
	bool plain; /* without EDNS, for a server that does not support it */
};

/* Writes it with RD set.  Returns the length; 0: it does not fit, or an invalid name. */
size_t dns_write_query(const struct dns_request *request, uint8_t *out, size_t cap);

/* A server's response; false: its id or question is not that of the request.  *ret_cut: TC was
 * set, and only the code was read.  An error after the question (a CNAME chain that is too long or
 * has an invalid name, truncated records) is DNS_SERVFAIL.  Reads only the answer section: records
 * of the other sections are not trusted. */
bool dns_read_answer(const uint8_t *m, size_t len, const struct dns_request *request,
		     struct dns_answer *ret, bool *ret_cut);

#endif
