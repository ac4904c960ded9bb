/* Unix sockets: those with a path are files, and of files only the run's own are connected to. */
#ifndef CORRAL_LINUX_BROKER_UNIX_SOCKETS_H
#define CORRAL_LINUX_BROKER_UNIX_SOCKETS_H

#include "linux/broker/sockets.h"

/* Both get an address of AF_UNIX. */
long unix_socket_connect(const struct call *c, int fd, struct socket_address *a);
long unix_socket_bind(const struct call *c, int fd, const struct socket_address *a);

/* This unix socket listens now. */
void unix_socket_listens(const struct broker *b, int fd);

#endif
