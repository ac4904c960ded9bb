/* SPDX-License-Identifier: Apache-2.0 */
/* How the gate learns that the host's resolv.conf or hosts file has changed.
 *
 * Theory.  The gate opens no file.  When a program in the sandbox resolves a name, the gate sends a
 * request to the supervisor over the lifeline socket, once a second at most.  The supervisor
 * compares both files, copies a changed one into shared memory, and replies which ones changed
 * (linux/resolv_watch.c).  The gate does not wait for the reply: queries that went to the old
 * servers are sent to the new ones when it arrives.  So a run that resolves no name wakes no
 * process, and a request costs the supervisor two system calls while nothing has changed.
 *
 * There is one request at a time and one reply to each; between the two the supervisor may write
 * the shared memory, otherwise the gate reads it. */
#ifndef CORRAL_GATE_DNS_UPDATE_H
#define CORRAL_GATE_DNS_UPDATE_H

#include "plan/net/net.h"

#include <stdbool.h>
#include <stdint.h>

/* A message is one byte on a SOCK_SEQPACKET pair: the request, or the files that changed. */
#define DNS_UPDATE_WANTED 0x80
#define DNS_UPDATE_RESOLV_CONF 0x01
#define DNS_UPDATE_HOSTS 0x02

struct dns_update {
	char resolv_conf[NET_RESOLV_CONF_MAX + 1];
	char hosts[NET_HOSTS_MAX + 1];
};

/* Neither function blocks.  False: not sent. */
bool dns_update_send(int socket, uint8_t message);

/* 1: a message; 0: none is queued; -1: EOF or an error. */
int dns_update_receive(int socket, uint8_t *ret);

#endif
