/* Which loopback ports belong to this run. */
#ifndef CORRAL_LINUX_BROKER_SOCKETS_H
#define CORRAL_LINUX_BROKER_SOCKETS_H

#include "linux/broker/call.h"

#include <netinet/in.h>

/* Who listens where a connection would go. */
enum port_owner {
	PORT_NOBODY,
	PORT_OURS,
	PORT_OURS_MAPPED, /* nobody at ::1, and we at ::ffff:127.0.0.1 */
	PORT_FOREIGN,     /* somebody else, alone or beside us */
};

/* An IPv4 address stands as ::ffff:a.b.c.d; port in host order. */
enum port_owner port_owner(const struct broker *b, const struct in6_addr *to, uint16_t port);

/* Remembers a socket that listens. */
void port_remember(struct broker *b, uint64_t inode);

#endif
