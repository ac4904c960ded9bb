/* SPDX-License-Identifier: Apache-2.0 */
/* Serves connect(2) and bind(2) of unix sockets: only socket files that were bound in this run, or
 * that net.sockets names, can be connected to. */
#ifndef CORRAL_LINUX_BROKER_UNIX_SOCKETS_H
#define CORRAL_LINUX_BROKER_UNIX_SOCKETS_H

#include "linux/broker/sockets.h"

/* Both take an AF_UNIX address. */
long unix_socket_connect(const struct call *c, int fd, struct socket_address *a);
long unix_socket_bind(const struct call *c, int fd, const struct socket_address *a);

/* Call it after listen(2) on a unix socket. */
void unix_socket_listens(const struct broker *b, int fd);

#endif
