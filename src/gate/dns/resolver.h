/* Names to addresses on the host's side: hosts file, then the servers of resolv.conf.
 *
 * No NSS, no allocation: the tables are part of the structure, which its owner maps.
 * Both families are asked at once; an answer is complete when both are. */
#ifndef CORRAL_GATE_DNS_RESOLVER_H
#define CORRAL_GATE_DNS_RESOLVER_H

#include "net/dns.h"
#include "gate/loop.h"
#include "gate/dns/update.h"

#define RESOLVER_CACHE 1024  /* names; the least recently used is forgotten first */
#define RESOLVER_QUERIES 256 /* names that are asked about at once; more fail (SERVFAIL) */
#define RESOLVER_WAITERS 1024
#define RESOLVER_TIMEOUT_MS                                                                        \
	2000 /* one server, one try; resolv.conf's options timeout and attempts count */
#define RESOLVER_KEEP_MIN 1     /* seconds that an answer is kept at least, */
#define RESOLVER_KEEP_MAX 300   /* and at most */
#define RESOLVER_KEEP_NONE 5    /* that there is no address */
#define RESOLVER_KEEP_FAILURE 1 /* that nobody answered: askers try again at once */
#define RESOLVER_NEWS_MS 1000   /* between two questions whether the host's files have changed */

struct resolver;

/* What a name leads to: both families.  code DNS_NOERROR with no address: it exists;
 * DNS_NXDOMAIN: it does not; DNS_SERVFAIL: nobody said.  The code of each family is the same, so
 * that a server that cannot answer for one does not take the other away. */
struct names_found {
	int code;
	struct dns_answer v4, v6;
};

struct resolver_wait {
	/* Called once, perhaps before resolver_ask() returns; found lasts as long as the call. */
	void (*found)(struct resolver_wait *w, const struct names_found *found);
	struct resolver_wait *next;
	bool waiting;
};

size_t resolver_size(void);

/* In fresh zeroed memory of resolver_size(); texts are the host's files, parsed at once and
 * not kept.  Never fails: without a line for a server it is this host (resolv.conf(5)). */
void resolver_init(struct resolver *r, struct loop *l, const char *resolv_conf, const char *hosts);

/* From now on it asks on this line, while it is asked itself, whether the files have changed. */
void resolver_hear(struct resolver *r, int line, const struct dns_update *news);
bool resolver_told(struct resolver *r); /* the line has something; false: its other end is gone */

/* name: lower case, a hostname.  Concurrent questions about one name share a query.  w is not
 * waiting already. */
void resolver_ask(struct resolver *r, const char *name, struct resolver_wait *w);
void resolver_forget(struct resolver *r, struct resolver_wait *w); /* the asker is gone */

/* Names of the hosts file that have this address: the next after *at, which begins with 0; NULL
 * at the end. */
const char *resolver_hosts_name(struct resolver *r, const struct ip *ip, size_t *at);

#endif
