/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the handlers of socket calls; finds out which loopback ports belong to this run. */
#ifndef CORRAL_LINUX_BROKER_SOCKETS_H
#define CORRAL_LINUX_BROKER_SOCKETS_H

#include "linux/broker/call.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

/* The owner of the sockets that could accept a connection. */
enum listener_owner {
	PORT_UNUSED,      /* no socket listens */
	PORT_OURS,        /* only sockets of this run listen */
	PORT_OURS_MAPPED, /* no socket listens on ::1, and ours on ::ffff:127.0.0.1 */
	PORT_FOREIGN,     /* another socket listens, alone or beside ours */
};

/* IPv4 addresses as ::ffff:a.b.c.d; port in host byte order. */
enum listener_owner listener_owner(const struct broker *b, const struct in6_addr *to,
				   uint16_t port);

/* Records a listening socket of this run. */
void listener_remember(struct broker *b, int fd);

/* Connects a new socket to the run's own server on that loopback port; -1: there is none.  Does
 * not block. */
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

/* The destination as an IPv6 address; the wildcard means the loopback. */
struct in6_addr socket_address_leads(const struct socket_address *a);
bool socket_address_is_loopback(const struct in6_addr *a);
bool socket_address_is_inet(int domain);
bool socket_address_is_whole(const struct socket_address *a, int domain);

/* getsockopt(2) of an int option: its value or -errno. */
int socket_option(int fd, int level, int option);

/* SO_COOKIE: the kernel's unique number of a socket; 0: not available. */
uint64_t socket_cookie(int fd);

/* Whether the socket belongs to the network namespace of the run. */
bool socket_network_is_own(struct broker *b, int fd);

/* Connects the caller's socket; if that would block and the socket is blocking, a helper waits.
 * `held` is a descriptor that the address names (/proc/self/fd/N), or -1. */
long socket_connect(const struct call *c, int fd, const struct socket_address *a, int held);

/* The same for a pending connect that the gate began: the caller does not know of the first. */
long socket_go_on(const struct call *c, int fd, const struct socket_address *a);

#endif
