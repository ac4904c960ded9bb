/* SPDX-License-Identifier: Apache-2.0 */
/* The texts of ports and unix sockets that a policy passes between host and sandbox. */
#ifndef CORRAL_POLICY_ENDPOINT_H
#define CORRAL_POLICY_ENDPOINT_H

#include <stdbool.h>
#include <stdint.h>

/* "PORT" or "PORT:HOSTPORT", decimal, 1 to 65535; without the second both are the same. */
bool endpoint_port_pair(const char *text, uint16_t *ret_inside, uint16_t *ret_outside);

/* Where ":DEST" begins in "PATH:DEST": a colon before a slash; NULL without one. */
const char *endpoint_socket_split(const char *text);

#endif
