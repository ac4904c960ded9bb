/* Calls that lead to the gate (src/gate): another process, which has the network. */
#ifndef CORRAL_LINUX_BROKER_CONNECT_H
#define CORRAL_LINUX_BROKER_CONNECT_H

#include "linux/broker/sockets.h"

#include <netinet/in.h>

/* Whether a connection to there is the gate's: everything outside, and the ports of the
 * loopback behind which something stands. */
bool connect_is_gated(const struct broker *b, const struct in6_addr *to, uint16_t port);

/* Hands the caller's socket over; the gate answers the call. */
long connect_forward(const struct call *c, int fd, const struct in6_addr *to, uint16_t port);

/* connect(2) to an address of the internet where the sandbox has namespaces. */
long connect_serve(const struct call *c, int fd, const struct socket_address *a);

/* The gate has a message, or is gone: then everybody who waits for it is refused. */
void connect_answered(struct broker *b);

#endif
