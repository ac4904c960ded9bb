/* SPDX-License-Identifier: Apache-2.0 */
/* Where an attempt goes, for the files that make connections. */
#ifndef CORRAL_TESTS_ESCAPE_ADDRESS_H
#define CORRAL_TESTS_ESCAPE_ADDRESS_H

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

union address {
	struct sockaddr any;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	struct sockaddr_un un;
};

/* An IPv4 or IPv6 address in digits; 0 when it is neither. */
socklen_t socket_address_read(const char *host, const char *port, union address *to);

#endif
