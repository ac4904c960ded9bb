/* Should:   carry one byte, or say that it cannot.
 * Must not: wait, raise a signal, or allocate: it runs in the gate too.
 * Fails:    closed: a line that is no line is one whose other side is gone. */
#include "gate/dns/update.h"

#include <errno.h>
#include <sys/socket.h>

bool dns_update_send(int line, uint8_t message) {
	return send(line, &message, sizeof message, MSG_DONTWAIT | MSG_NOSIGNAL) == 1;
}

int dns_update_receive(int line, uint8_t *ret) {
	ssize_t got = recv(line, ret, sizeof *ret, MSG_DONTWAIT);
	if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
		return 0;
	}
	return got == 1 ? 1 : -1;
}
