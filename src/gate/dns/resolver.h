/* SPDX-License-Identifier: Apache-2.0 */
/* A stub resolver on the host: /etc/hosts, then the name servers of resolv.conf.
 *
 * No NSS, no allocation: the tables are part of the structure, which its owner maps.
 * A and AAAA are queried at the same time; a look-up is complete when both are. */
#ifndef CORRAL_GATE_DNS_RESOLVER_H
#define CORRAL_GATE_DNS_RESOLVER_H

#include "net/dns.h"
#include "gate/loop.h"
#include "gate/dns/update.h"

#define RESOLVER_CACHE 1024  /* names, least recently used out first */
#define RESOLVER_QUERIES 256 /* names queried at the same time; more fail (SERVFAIL) */
#define RESOLVER_WAITERS 1024
#define RESOLVER_TIMEOUT_MS                                                                        \
	2000 /* one server, one try; resolv.conf's options timeout and attempts override it */
#define RESOLVER_KEEP_MIN 1     /* seconds an answer stays in the cache at least, */
#define RESOLVER_KEEP_MAX 300   /* and at most */
#define RESOLVER_KEEP_NONE 5    /* a negative answer */
#define RESOLVER_KEEP_FAILURE 1 /* a failure: clients retry at once */
#define RESOLVER_UPDATE_MS 1000 /* between two requests for changes of the host's files */

struct resolver;

/* The result of a look-up: both families.  code DNS_NOERROR without an address: the name exists;
 * DNS_NXDOMAIN: it does not; DNS_SERVFAIL: no server answered.  v4.code and v6.code are the same:
 * a server that fails for one family must not hide the addresses of the other. */
struct resolved {
	int code;
	struct dns_answer v4, v6;
};

struct resolver_wait {
	/* Called once, possibly before resolver_lookup() returns; *found is valid during the call.
	 */
	void (*found)(struct resolver_wait *w, const struct resolved *found);
	struct resolver_wait *next;
	bool waiting;
};

size_t resolver_size(void);

/* In zeroed memory of resolver_size() bytes; parses the texts of the host's files and keeps no
 * pointer to them.  Cannot fail: without a nameserver line it uses 127.0.0.1 (resolv.conf(5)). */
void resolver_init(struct resolver *r, struct loop *l, const char *resolv_conf, const char *hosts);

/* From now on a look-up also requests changes of the host's files on this socket (update.h). */
void resolver_set_updates(struct resolver *r, int socket, const struct dns_update *update);
bool resolver_read_update(struct resolver *r); /* the socket is readable; false: EOF */

/* name: a host name in lower case.  Concurrent look-ups of one name share a query.  w must not be
 * in use. */
void resolver_lookup(struct resolver *r, const char *name, struct resolver_wait *w);
void resolver_cancel(struct resolver *r, struct resolver_wait *w); /* w->found is not called */

/* The next name of the hosts file with this address after *at, which begins with 0; NULL at the
 * end. */
const char *resolver_hosts_name(struct resolver *r, const struct ip *ip, size_t *at);

#endif
