/* Whether an address is this host's own.  System calls only. */
#ifndef CORRAL_GATE_LOCAL_ADDRESS_H
#define CORRAL_GATE_LOCAL_ADDRESS_H

#include "base/ip.h"

enum local_address_answer { LOCAL_ADDRESS_UNKNOWN, LOCAL_ADDRESS_NO, LOCAL_ADDRESS_YES };

/* A descriptor by which the kernel's routes are asked for; -1: there is none to be had. */
int local_address_open(void);

/* routes may be -1.  No two questions of one descriptor have the same number. */
enum local_address_answer local_address_check(int routes, uint32_t number, const struct ip *ip);

#endif
