/* The two ends of the status channel: whole messages over SOCK_SEQPACKET. */
#ifndef CORRAL_LINUX_CHANNEL_H
#define CORRAL_LINUX_CHANNEL_H

#include "linux/spawn.h"

/* Sends one report, with a descriptor when fd >= 0.  System calls only. */
int channel_send(int channel, const struct report *r, int fd);

/* Receives one report as spawn_read() does. */
int channel_receive(int channel, struct report *ret, int *ret_fd);

#endif
