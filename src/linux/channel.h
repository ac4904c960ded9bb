/* SPDX-License-Identifier: Apache-2.0 */
/* Sends and receives reports and orders on the status channel, a SOCK_SEQPACKET pair. */
#ifndef CORRAL_LINUX_CHANNEL_H
#define CORRAL_LINUX_CHANNEL_H

#include "linux/spawn.h"

/* Sends one report, with fd in SCM_RIGHTS when fd >= 0.  System calls only. */
int channel_send(int channel, const struct report *r, int fd);

/* Receives one report as spawn_read() does. */
int channel_receive(int channel, struct report *ret, int *ret_fd);

/* The same for other data, such as an order. */
int channel_send_bytes(int channel, void *data, size_t len, int fd);

/* Receives one order: 1, 0 when none is queued, -1 when the supervisor is gone. */
int channel_receive_order(int channel, struct order *ret, int *ret_fd);

#endif
