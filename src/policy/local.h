/* What of this host is passed through: ports and sockets, as a policy holds them. */
#ifndef CORRAL_POLICY_LOCAL_H
#define CORRAL_POLICY_LOCAL_H

#include <stdbool.h>
#include <stdint.h>

/* "PORT" or "PORT:HOSTPORT", decimal, 1 to 65535; without the second both are the same. */
bool port_pair_read(const char *text, uint16_t *ret_inside, uint16_t *ret_outside);

/* Where ":DEST" begins in "PATH:DEST": a colon before a slash; NULL without one. */
const char *socket_split(const char *text);

#endif
