/* What the supervisor tells the gate of the host's files for names, when they change.
 *
 * Theory.  The gate opens no file.  When somebody inside asks for a name it asks the
 * supervisor, over the line whose end is its own, whether resolv.conf or the hosts file says
 * something else by now: once a second at most.  The supervisor looks, puts what has changed into
 * memory that both have, and answers which.  Nobody waits for that: what is being asked of the old
 * servers meanwhile is asked of the new ones then.  So a run in which no name is asked for
 * wakes nobody, and a look costs two system calls while nothing has changed.
 *
 * There is one question at a time and one answer to each; between the two the memory is the
 * supervisor's, else the gate's. */
#ifndef CORRAL_GATE_DNS_UPDATE_H
#define CORRAL_GATE_DNS_UPDATE_H

#include "plan/net/net.h"

#include <stdbool.h>
#include <stdint.h>

/* A message is one byte on a SOCK_SEQPACKET pair: the question, or which texts are new. */
#define DNS_UPDATE_WANTED 0x80
#define DNS_UPDATE_RESOLV_CONF 0x01
#define DNS_UPDATE_HOSTS 0x02

struct dns_update {
	char resolv_conf[NET_RESOLV_CONF_MAX + 1];
	char hosts[NET_HOSTS_MAX + 1];
};

/* Neither waits.  False: it was not sent. */
bool dns_update_send(int line, uint8_t message);

/* 1: a message; 0: none is there; -1: the other side is gone. */
int dns_update_receive(int line, uint8_t *ret);

#endif
