/* SPDX-License-Identifier: Apache-2.0 */
/* Sends and receives descriptors (SCM_RIGHTS) with one message.
 *
 * Should:   receive descriptors close-on-exec.
 * Must not: wait, allocate, or leave a descriptor open after a failure.
 * Fails:    closed: a message of another length, or with missing descriptors, is an error. */
#include "base/fdpass.h"

#include "base/auto.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

union control {
	char space[CMSG_SPACE(sizeof(int) * FDPASS_MAX)];
	struct cmsghdr align;
};

/* The alignment padding may have room for one more descriptor, which the kernel fills if the
 * sender passes it. */
#define ROOM ((sizeof(union control) - CMSG_LEN(0)) / sizeof(int))

int fdpass_send(int channel, struct iovec body, const int *fds, size_t n, int flags) {
	union control control;
	struct msghdr msg = {.msg_iov = &body, .msg_iovlen = 1};

	if (n > FDPASS_MAX) {
		return -EINVAL;
	}
	if (n > 0) {
		memset(&control, 0, sizeof control);
		msg.msg_control = control.space;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * n);
		struct cmsghdr *c = &control.align; /* CMSG_FIRSTHDR */
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int) * n);
		memcpy(CMSG_DATA(c), fds, sizeof(int) * n);
	}
	ssize_t sent;
	do {
		sent = sendmsg(channel, &msg, MSG_NOSIGNAL | flags);
	} while (sent < 0 && errno == EINTR);
	return sent < 0 ? -errno : 0; /* the kernel sends a message whole or not at all */
}

static size_t descriptors_of(struct msghdr *msg, int fds[ROOM]) {
	struct cmsghdr *c = CMSG_FIRSTHDR(msg);

	if (c == NULL || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) {
		return 0;
	}
	size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	memcpy(fds, CMSG_DATA(c), n * sizeof(int));
	return n;
}

int fdpass_receive(int channel, struct iovec body, int fds[FDPASS_MAX], size_t *ret_n) {
	union control control;
	struct msghdr msg = {
		.msg_iov = &body,
		.msg_iovlen = 1,
		.msg_control = control.space,
		.msg_controllen = sizeof control.space,
	};
	int got[ROOM];

	ssize_t len = recvmsg(channel, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (len < 0) {
		return -errno;
	}
	size_t n = descriptors_of(&msg, got);
	/* The kernel truncates a longer message to this length. */
	bool whole = (size_t)len == body.iov_len && (msg.msg_flags & MSG_TRUNC) == 0;
	if (whole && n <= FDPASS_MAX && (msg.msg_flags & MSG_CTRUNC) == 0) {
		memcpy(fds, got, n * sizeof(int));
		*ret_n = n;
		return 0;
	}
	while (n > 0) {
		drop_fd(&got[--n]);
	}
	return whole ? -EMFILE : -EBADMSG;
}
