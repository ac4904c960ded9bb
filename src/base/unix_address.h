/* SPDX-License-Identifier: Apache-2.0 */
/* Fills a sockaddr_un: see unix(7). */
#ifndef CORRAL_BASE_UNIX_ADDRESS_H
#define CORRAL_BASE_UNIX_ADDRESS_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

/* Returns the length of the address; 0 with ENAMETOOLONG if the name does not fit.  The name of an
 * abstract socket is given without its leading NUL byte. */
static inline socklen_t unix_address_set(struct sockaddr_un *ret, const char *name, bool abstract) {
	size_t len = strlen(name);

	if (len + 1 >= sizeof ret->sun_path) {
		errno = ENAMETOOLONG;
		return 0;
	}
	*ret = (struct sockaddr_un){.sun_family = AF_UNIX};
	memcpy(ret->sun_path + abstract, name, len);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + 1);
}

#endif
