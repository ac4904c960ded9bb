/* Should:   send and receive whole messages with their descriptors.
 * Must not: wait, but for an answer; keep a descriptor that came with a message that is none.
 * Fails:    with the end of the channel. */
#include "gate/wire.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

_Static_assert(WIRE_FDS == FDPASS_MAX, "a message has room for what it brings");

int wire_send(int channel, const struct wire *w, const int *fds, size_t n) {
	struct wire copy = *w; /* an iovec has no const */
	struct iovec body = {.iov_base = &copy, .iov_len = sizeof copy};

	return fdpass_send(channel, body, fds, n, MSG_DONTWAIT);
}

void wire_answer(int channel, uint64_t call, int error) {
	struct wire w;
	struct iovec body = {.iov_base = &w, .iov_len = sizeof w};

	memset(&w, 0, sizeof w); /* no byte of our memory goes with it */
	w.kind = WIRE_ANSWER;
	w.id = call;
	w.flags = error;
	(void)fdpass_send(channel, body, NULL, 0, 0); /* fails when the broker is gone */
}

int wire_receive(int channel, struct wire *ret, int fds[WIRE_FDS], size_t *ret_n) {
	struct iovec body = {.iov_base = ret, .iov_len = sizeof *ret};
	int r = fdpass_receive(channel, body, fds, ret_n);

	if (r == 0) {
		return 1;
	}
	if (r == -EMFILE) {
		*ret_n = 0; /* the message is whole, and there was no room for what came with it */
		return 1;
	}
	return r == -EAGAIN || r == -EINTR ? 0 : -1;
}
