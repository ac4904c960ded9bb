/* SPDX-License-Identifier: Apache-2.0 */
/* Sends and receives the one-byte messages of update.h.
 *
 * Should:   send or receive one byte, or return that it cannot.
 * Must not: block, raise SIGPIPE, or allocate: it runs in the gate too.
 * Fails:    closed: any error counts as EOF. */
#include "gate/dns/update.h"

#include <errno.h>
#include <sys/socket.h>

bool dns_update_send(int socket, uint8_t message) {
	return send(socket, &message, sizeof message, MSG_DONTWAIT | MSG_NOSIGNAL) == 1;
}

int dns_update_receive(int socket, uint8_t *ret) {
	ssize_t got = recv(socket, ret, sizeof *ret, MSG_DONTWAIT);
	if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
		return 0;
	}
	return got == 1 ? 1 : -1;
}
