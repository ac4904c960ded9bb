/* SPDX-License-Identifier: Apache-2.0 */
/* connect(2) calls that the broker forwards to the gate's process (src/gate), which makes the
 * upstream connections. */
#ifndef CORRAL_LINUX_BROKER_CONNECT_H
#define CORRAL_LINUX_BROKER_CONNECT_H

#include "linux/broker/sockets.h"

#include <netinet/in.h>

/* Whether the gate handles a connection to this address: every address outside the loopback,
 * and the loopback ports of the resolver, the proxies and --host-port. */
bool connect_is_gated(const struct broker *b, const struct in6_addr *to, uint16_t port);

/* Sends the caller's socket and address to the gate; connect_answered() answers the call. */
long connect_forward(const struct call *c, int fd, int family, const struct in6_addr *to,
		     uint16_t port);

/* Serves connect(2) to an AF_INET or AF_INET6 address where the sandbox has namespaces. */
long connect_serve(const struct call *c, int fd, const struct socket_address *a);

/* Handles one message of the gate.  If the gate has ended, refuses every pending call. */
void connect_answered(struct broker *b);

#endif
