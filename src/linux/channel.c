#include "linux/channel.h"

#include "base/auto.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union one_fd {
	char space[CMSG_SPACE(sizeof(int))];
	struct cmsghdr align;
};

int channel_send(int channel, const struct report *r, int fd) {
	struct report copy = *r; /* an iovec has no const */
	return channel_send_bytes(channel, &copy, sizeof copy, fd);
}

int channel_send_bytes(int channel, void *data, size_t len, int fd) {
	union one_fd control;
	struct iovec body = {.iov_base = data, .iov_len = len};
	struct msghdr msg = {.msg_iov = &body, .msg_iovlen = 1};

	if (fd >= 0) {
		memset(&control, 0, sizeof control);
		msg.msg_control = control.space;
		msg.msg_controllen = sizeof control.space;
		struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof fd);
		memcpy(CMSG_DATA(c), &fd, sizeof fd);
	}
	ssize_t n;
	do {
		n = sendmsg(channel, &msg, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	return n == (ssize_t)len ? 0 : -1;
}

/* The padding of one_fd has room for a second descriptor, which the kernel uses
 * when a sender has two. */
#define FDS_MAX ((sizeof(union one_fd) - CMSG_LEN(0)) / sizeof(int))

static size_t received_fds(struct msghdr *msg, int fds[FDS_MAX]) {
	struct cmsghdr *c = CMSG_FIRSTHDR(msg);
	if (c == NULL || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) {
		return 0;
	}
	size_t len = c->cmsg_len - CMSG_LEN(0);
	memcpy(fds, CMSG_DATA(c), len);
	return len / sizeof(int);
}

int channel_receive_order(int channel, struct order *ret, int *ret_fd) {
	union one_fd control;
	struct iovec body = {.iov_base = ret, .iov_len = sizeof *ret};
	struct msghdr msg = {
		.msg_iov = &body,
		.msg_iovlen = 1,
		.msg_control = control.space,
		.msg_controllen = sizeof control.space,
	};
	int fds[FDS_MAX];

	*ret_fd = -1;
	ssize_t n = recvmsg(channel, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n < 0) {
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	}
	size_t nfds = received_fds(&msg, fds);
	while (nfds > 1) {
		drop_fd(&fds[--nfds]);
	}
	*ret_fd = nfds == 1 ? fds[0] : -1;
	if (n != (ssize_t)sizeof *ret) {
		drop_fd(ret_fd);
		return -1;
	}
	return 1;
}

static size_t carries_fd(uint32_t kind) {
	return kind == REPORT_PTY || kind == REPORT_PEER || kind == REPORT_VIEW;
}

int channel_receive(int channel, struct report *ret, int *ret_fd) {
	union one_fd control;
	struct iovec body = {.iov_base = ret, .iov_len = sizeof *ret};
	struct msghdr msg = {
		.msg_iov = &body,
		.msg_iovlen = 1,
		.msg_control = control.space,
		.msg_controllen = sizeof control.space,
	};
	int fds[FDS_MAX];

	*ret_fd = -1;
	ssize_t n;
	do {
		/* Who ended with an order of ours unread resets the channel; the kernel says
		 * so once, before it hands out what was reported. */
		n = recvmsg(channel, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	} while (n < 0 && (errno == EINTR || errno == ECONNRESET));
	if (n < 0) {
		return errno == EAGAIN ? 0 : -1;
	}
	size_t nfds = received_fds(&msg, fds);
	/* A message of another size is not ours, and a longer one arrives cut to ours. */
	bool whole = n == (ssize_t)sizeof *ret && (msg.msg_flags & MSG_TRUNC) == 0;
	/* Nor is one with other descriptors than its kind has.  The channel counts as ended. */
	if (!whole || nfds != carries_fd(ret->kind)) {
		while (nfds > 0) {
			drop_fd(&fds[--nfds]);
		}
		return -1;
	}
	/* The text ends where it must and the kind is one, whatever was sent. */
	if (ret->err.kind <= ERR_NONE || ret->err.kind > ERR_MEMORY) {
		ret->err.kind = ERR_SETUP;
	}
	ret->err.where[sizeof ret->err.where - 1] = '\0';
	ret->err.what[sizeof ret->err.what - 1] = '\0';
	ret->err.fix[sizeof ret->err.fix - 1] = '\0';
	*ret_fd = nfds == 1 ? fds[0] : -1;
	return 1;
}
