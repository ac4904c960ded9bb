/* SPDX-License-Identifier: Apache-2.0 */
/* Sends and receives messages between broker and gate.
 *
 * Should:   send and receive whole messages with their descriptors.
 * Must not: block, except in wire_answer(); leak a descriptor of a malformed message.
 * Fails:    closed: a malformed message counts as EOF. */
#include "gate/wire.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

_Static_assert(WIRE_FDS == FDPASS_MAX, "a message has room for every descriptor");

int wire_send(int channel, const struct wire *w, const int *fds, size_t n) {
	struct wire copy = *w; /* an iovec has no const */
	struct iovec body = {.iov_base = &copy, .iov_len = sizeof copy};

	return fdpass_send(channel, body, fds, n, MSG_DONTWAIT);
}

void wire_answer(int channel, uint64_t call, int error) {
	struct wire w;
	struct iovec body = {.iov_base = &w, .iov_len = sizeof w};

	memset(&w, 0, sizeof w); /* padding must not leak stack bytes */
	w.kind = WIRE_ANSWER;
	w.id = call;
	w.flags = error;
	(void)fdpass_send(channel, body, NULL, 0, 0); /* EPIPE: the broker has ended */
}

int wire_receive(int channel, struct wire *ret, int fds[WIRE_FDS], size_t *ret_n) {
	struct iovec body = {.iov_base = ret, .iov_len = sizeof *ret};
	int r = fdpass_receive(channel, body, fds, ret_n);

	if (r == 0) {
		return 1;
	}
	if (r == -EMFILE) {
		*ret_n = 0; /* the message is complete; its descriptors were not installed */
		return 1;
	}
	return r == -EAGAIN || r == -EINTR ? 0 : -1;
}
