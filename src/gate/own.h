/* Whether an address is this host's own.  System calls only. */
#ifndef CORRAL_GATE_OWN_H
#define CORRAL_GATE_OWN_H

#include "base/ip.h"

enum own_told { OWN_NOT_TOLD, OWN_NOT, OWN_YES };

/* A descriptor by which the kernel's routes are asked for; -1: there is none to be had. */
int own_open(void);

/* routes may be -1.  No two questions of one descriptor have the same number. */
enum own_told own_ask(int routes, uint32_t number, const struct ip *ip);

#endif
