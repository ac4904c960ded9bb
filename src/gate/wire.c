/* Should:   send and receive whole messages with their descriptors.
 * Must not: wait; keep a descriptor that came with a message that is none.
 * Fails:    with the end of the channel. */
#include "gate/wire.h"

#include <errno.h>
#include <sys/socket.h>

_Static_assert(WIRE_FDS == FDPASS_MAX, "a message has room for what it brings");

int wire_send(int channel, const struct wire *w, const int *fds, size_t n) {
	struct wire copy = *w; /* an iovec has no const */
	struct iovec body = {.iov_base = &copy, .iov_len = sizeof copy};

	return fdpass_send(channel, body, fds, n, MSG_DONTWAIT);
}

int wire_receive(int channel, struct wire *ret, int fds[WIRE_FDS], size_t *ret_n) {
	struct iovec body = {.iov_base = ret, .iov_len = sizeof *ret};
	int r = fdpass_receive(channel, body, fds, ret_n);

	if (r == 0) {
		return 1;
	}
	return r == -EAGAIN || r == -EINTR ? 0 : -1;
}
