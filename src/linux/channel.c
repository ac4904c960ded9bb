/* SPDX-License-Identifier: Apache-2.0 */
/* Sends and receives reports and orders on the status channel, a SOCK_SEQPACKET pair.
 *
 * Should:   deliver each message whole, with at most one descriptor.
 * Must not: trust the contents of a report: a compromised first process may send anything.
 * Fails:    closed: a malformed message counts as the end of the channel, which ends the run. */
#include "linux/channel.h"

#include "base/auto.h"
#include "base/fdpass.h"

#include <errno.h>

int channel_send(int channel, const struct report *r, int fd) {
	struct report copy = *r; /* iov_base is not const */
	return channel_send_bytes(channel, &copy, sizeof copy, fd);
}

int channel_send_bytes(int channel, void *data, size_t len, int fd) {
	struct iovec body = {.iov_base = data, .iov_len = len};

	return fdpass_send(channel, body, &fd, fd >= 0 ? 1 : 0, 0) == 0 ? 0 : -1;
}

int channel_receive_order(int channel, struct order *ret, int *ret_fd) {
	struct iovec body = {.iov_base = ret, .iov_len = sizeof *ret};
	int fds[FDPASS_MAX];
	size_t n = 0;

	*ret_fd = -1;
	int r = fdpass_receive(channel, body, fds, &n);
	if (r == -EAGAIN || r == -EINTR) {
		return 0;
	}
	if (r < 0 && r != -EMFILE) { /* an order is valid without its descriptor, too */
		return -1;
	}
	while (n > 1) {
		drop_fd(&fds[--n]);
	}
	*ret_fd = n == 1 ? fds[0] : -1;
	return 1;
}

static size_t carries_fd(uint32_t kind) {
	return kind == REPORT_PTY || kind == REPORT_PEER || kind == REPORT_VIEW;
}

int channel_receive(int channel, struct report *ret, int *ret_fd) {
	struct iovec body = {.iov_base = ret, .iov_len = sizeof *ret};
	int fds[FDPASS_MAX];
	size_t n = 0;

	*ret_fd = -1;
	int r;
	do {
		/* A peer that exits with unread orders resets the socket: the kernel returns
		 * ECONNRESET once, and the queued reports after it. */
		r = fdpass_receive(channel, body, fds, &n);
	} while (r == -EINTR || r == -ECONNRESET);
	if (r < 0) {
		return r == -EAGAIN ? 0 : -1;
	}
	/* The number of descriptors does not match the kind: treat it as end-of-file. */
	if (n != carries_fd(ret->kind)) {
		while (n > 0) {
			drop_fd(&fds[--n]);
		}
		return -1;
	}
	/* Terminate the strings and clamp the kind, so that a bad report cannot be misread. */
	if (ret->err.kind <= ERR_NONE || ret->err.kind > ERR_MEMORY) {
		ret->err.kind = ERR_SETUP;
	}
	ret->err.where[sizeof ret->err.where - 1] = '\0';
	ret->err.what[sizeof ret->err.what - 1] = '\0';
	ret->err.fix[sizeof ret->err.fix - 1] = '\0';
	*ret_fd = n == 1 ? fds[0] : -1;
	return 1;
}
