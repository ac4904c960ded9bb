/* Should:   send and receive whole messages with their descriptors.
 * Must not: wait; keep a descriptor that came with a message that is none.
 * Fails:    with the end of the channel. */
#include "gate/wire.h"

#include "base/auto.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

union some_fds {
	char space[CMSG_SPACE(sizeof(int) * WIRE_FDS)];
	struct cmsghdr align;
};

int wire_send(int channel, const struct wire *w, const int *fds, size_t n) {
	struct wire copy = *w; /* an iovec has no const */
	union some_fds control;
	struct iovec body = {.iov_base = &copy, .iov_len = sizeof copy};
	struct msghdr msg = {.msg_iov = &body, .msg_iovlen = 1};

	if (n > 0) {
		memset(&control, 0, sizeof control);
		msg.msg_control = control.space;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * n);
		struct cmsghdr *c = &control.align; /* the first: it begins there */
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int) * n);
		memcpy(CMSG_DATA(c), fds, sizeof(int) * n);
	}
	return sendmsg(channel, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof copy ? 0
											   : -errno;
}

static size_t received(struct msghdr *msg, int fds[WIRE_FDS]) {
	struct cmsghdr *c = CMSG_FIRSTHDR(msg);

	if (c == NULL || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) {
		return 0;
	}
	size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	n = n < WIRE_FDS ? n : WIRE_FDS; /* there is no room for more */
	memcpy(fds, CMSG_DATA(c), n * sizeof(int));
	return n;
}

int wire_receive(int channel, struct wire *ret, int fds[WIRE_FDS], size_t *ret_n) {
	union some_fds control;
	struct iovec body = {.iov_base = ret, .iov_len = sizeof *ret};
	struct msghdr msg = {
		.msg_iov = &body,
		.msg_iovlen = 1,
		.msg_control = control.space,
		.msg_controllen = sizeof control.space,
	};

	ssize_t n = recvmsg(channel, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n < 0) {
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	}
	*ret_n = received(&msg, fds);
	if (n == (ssize_t)sizeof *ret && (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0) {
		return 1;
	}
	while (*ret_n > 0) {
		drop_fd(&fds[--*ret_n]);
	}
	return -1;
}
