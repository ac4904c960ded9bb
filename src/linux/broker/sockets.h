/* What the handlers of socket calls share; which loopback ports belong to this run. */
#ifndef CORRAL_LINUX_BROKER_SOCKETS_H
#define CORRAL_LINUX_BROKER_SOCKETS_H

#include "linux/broker/call.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

/* Who listens where a connection would go. */
enum listener_owner {
	PORT_NOBODY,
	PORT_OURS,
	PORT_OURS_MAPPED, /* nobody at ::1, and we at ::ffff:127.0.0.1 */
	PORT_FOREIGN,     /* somebody else, alone or beside us */
};

/* An IPv4 address stands as ::ffff:a.b.c.d; port in host order. */
enum listener_owner listener_owner(const struct broker *b, const struct in6_addr *to,
				   uint16_t port);

/* Remembers a socket that listens. */
void listener_remember(struct broker *b, int fd);

/* A socket that is connected to the run's own server at that port of the loopback; -1: there is
 * none.  Does not wait. */
int socket_dial_port(const struct broker *b, int family, uint16_t port);

struct socket_address {
	union {
		struct sockaddr any;
		struct sockaddr_in in4;
		struct sockaddr_in6 in6;
		struct sockaddr_un un;
		struct sockaddr_storage all;
	};
	socklen_t len;
};

/* Copies the address of connect(2) or bind(2); -errno. */
int socket_address_read(const struct call *c, struct socket_address *a);

/* Where it leads, in IPv6 words; "any" is the host itself. */
struct in6_addr socket_address_leads(const struct socket_address *a);
bool socket_address_is_loopback(const struct in6_addr *a);
bool socket_address_is_inet(int domain);
bool socket_address_is_whole(const struct socket_address *a, int domain);

/* An option with a number, or -errno. */
int socket_option(int fd, int level, int option);

/* The kernel's number for a socket, which no other ever has; 0: it tells none. */
uint64_t socket_cookie(int fd);

/* Whether the socket belongs to the network namespace of the run. */
bool socket_network_is_own(struct broker *b, int fd);

/* Connects the caller's socket; where that takes longer and the caller waits for it, a helper
 * does.  `held` is a descriptor that the address names, or -1. */
long socket_connect(const struct call *c, int fd, const struct socket_address *a, int held);

/* The same for what the gate has begun: the caller does not know that it goes on. */
long socket_go_on(const struct call *c, int fd, const struct socket_address *a);

#endif
