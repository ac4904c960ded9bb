/* DNS messages: strict reading, plain writing.  Pure. */
#ifndef CORRAL_GATE_DNS_H
#define CORRAL_GATE_DNS_H

#include "base/hostname.h"

#define DNS_UDP_MAX 1232 /* what is sent and asked for by UDP; more goes by TCP */
#define DNS_MAX 65535
#define DNS_ADDRESSES 16 /* of one answer; more are left out */
#define DNS_CHAIN 8      /* CNAMEs of one answer; a longer chain is a failure */

enum { DNS_A = 1, DNS_CNAME = 5, DNS_SOA = 6, DNS_AAAA = 28, DNS_OPT = 41, DNS_SVCB = 64, DNS_HTTPS = 65 };
enum { DNS_NOERROR = 0, DNS_FORMERR = 1, DNS_SERVFAIL = 2, DNS_NXDOMAIN = 3, DNS_NOTIMP = 4, DNS_REFUSED = 5 };

struct dns_question {
	uint16_t id;
	uint16_t type, class_;
	bool recursion;
	bool edns;
	uint16_t size; /* what the asker takes by UDP */
	struct hostname host; /* HOST_BAD when it is no name of a host */
};

/* What is known about one name. */
struct dns_answer {
	int code;
	uint32_t ttl; /* the smallest of the chain */
	char chain[DNS_CHAIN][HOSTNAME_MAX + 1]; /* canonical names, in order, after the question's */
	size_t nchain;
	struct ip ips[DNS_ADDRESSES];
	size_t nips;
};

/* One query, one question, class IN.  *ret_code is the error to answer when false. */
bool dns_read_question(const uint8_t *m, size_t len, struct dns_question *ret, int *ret_code);

/* The answer to q by this knowledge; addresses of the other family are left out.  Cut to cap
 * with the TC bit.  Returns the length. */
size_t dns_write_answer(const struct dns_question *q, const struct dns_answer *a, uint8_t *out,
			size_t cap);

/* A query of ours; returns the length.  type DNS_A or DNS_AAAA; with EDNS, recursion desired. */
size_t dns_write_query(const char *name, int type, uint16_t id, uint8_t *out, size_t cap);

/* A server's response to our query: id, question and type must be ours, the chain must lead
 * from the name to the addresses.  False: not an answer to that.  *ret_cut: TC was set. */
bool dns_read_answer(const uint8_t *m, size_t len, const char *name, int type, uint16_t id,
		     struct dns_answer *ret, bool *ret_cut);

#endif
