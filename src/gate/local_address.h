/* SPDX-License-Identifier: Apache-2.0 */
/* Whether an address belongs to this host.  System calls only. */
#ifndef CORRAL_GATE_LOCAL_ADDRESS_H
#define CORRAL_GATE_LOCAL_ADDRESS_H

#include "base/ip.h"

enum local_address_answer { LOCAL_ADDRESS_UNKNOWN, LOCAL_ADDRESS_NO, LOCAL_ADDRESS_YES };

/* An rtnetlink socket for local_address_check(); -1: not available. */
int local_address_open(void);

/* route_socket may be -1.  number: nlmsg_seq, another one for each call with the same socket. */
enum local_address_answer local_address_check(int route_socket, uint32_t number,
					      const struct ip *ip);

#endif
