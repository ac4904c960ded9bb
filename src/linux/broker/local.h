/* Unix sockets: those with a path are files, and of files only the run's own are connected to. */
#ifndef CORRAL_LINUX_BROKER_LOCAL_H
#define CORRAL_LINUX_BROKER_LOCAL_H

#include "linux/broker/sockets.h"

/* Both get an address of AF_UNIX. */
long local_connect(const struct call *c, int fd, struct address *a);
long local_bind(const struct call *c, int fd, const struct address *a);

/* This unix socket listens now. */
void local_listens(const struct broker *b, int fd);

#endif
