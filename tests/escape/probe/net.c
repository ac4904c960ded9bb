/* SPDX-License-Identifier: Apache-2.0 */
/* Attempts to get a few bytes to a listener of the host. */
#include "probe.h"

#include "address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif

socklen_t socket_address_read(const char *host, const char *port, union address *to) {
	*to = (union address){0};
	in_port_t number = htons((in_port_t)probe_number(port));
	if (inet_pton(AF_INET, host, &to->in.sin_addr) == 1) {
		to->in.sin_family = AF_INET;
		to->in.sin_port = number;
		return sizeof(to->in);
	}
	*to = (union address){0};
	to->in6.sin6_family = AF_INET6;
	to->in6.sin6_port = number;
	return inet_pton(AF_INET6, host, &to->in6.sin6_addr) == 1 ? sizeof(to->in6) : 0;
}

static int send_connected(char **argv, int type, int protocol) {
	union address to;
	socklen_t len = socket_address_read(argv[1], argv[2], &to);
	int fd = socket(to.any.sa_family, type | SOCK_CLOEXEC, protocol);
	if (fd < 0 || connect(fd, &to.any, len) != 0) {
		return probe_result(-1);
	}
	return probe_result(send(fd, argv[3], strlen(argv[3]), MSG_NOSIGNAL));
}

static int tcp_send(int argc, char **argv) {
	(void)argc;
	return send_connected(argv, SOCK_STREAM, 0);
}

static int mptcp_send(int argc, char **argv) {
	(void)argc;
	return send_connected(argv, SOCK_STREAM, IPPROTO_MPTCP);
}

static int udp_connected(int argc, char **argv) {
	(void)argc;
	return send_connected(argv, SOCK_DGRAM, 0);
}

static int tfo_send(int argc, char **argv) {
	(void)argc;
	union address to;
	socklen_t len = socket_address_read(argv[1], argv[2], &to);
	int fd = socket(to.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int flags = MSG_FASTOPEN | MSG_NOSIGNAL;
	return probe_result(fd < 0 ? -1
				   : sendto(fd, argv[3], strlen(argv[3]), flags, &to.any, len));
}

static int udp_send(int argc, char **argv) {
	(void)argc;
	union address to;
	socklen_t len = socket_address_read(argv[1], argv[2], &to);
	int fd = socket(to.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	return probe_result(fd < 0 ? -1 : sendto(fd, argv[3], strlen(argv[3]), 0, &to.any, len));
}

/* The kernel takes an address without a family for one of IPv4. */
static int udp_unnamed(int argc, char **argv) {
	(void)argc;
	union address to;
	socklen_t len = socket_address_read(argv[1], argv[2], &to);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	to.any.sa_family = AF_UNSPEC;
	return probe_result(fd < 0 ? -1 : sendto(fd, argv[3], strlen(argv[3]), 0, &to.any, len));
}

static int udp_many(int argc, char **argv) {
	(void)argc;
	union address to;
	socklen_t len = socket_address_read(argv[1], argv[2], &to);
	struct iovec text = {argv[3], strlen(argv[3])};
	struct mmsghdr batch[2];
	memset(batch, 0, sizeof(batch));
	for (size_t i = 0; i < 2; i++) {
		batch[i].msg_hdr = (struct msghdr){
			.msg_name = &to, .msg_namelen = len, .msg_iov = &text, .msg_iovlen = 1};
	}
	int fd = socket(to.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	return probe_result(fd < 0 ? -1 : sendmmsg(fd, batch, 2, 0));
}

/* A name that begins with @ is an abstract one. */
static int unix_send(int argc, char **argv) {
	(void)argc;
	union address to = {.un.sun_family = AF_UNIX};
	size_t len = strlen(argv[1]);
	if (len >= sizeof(to.un.sun_path)) {
		errno = ENAMETOOLONG;
		return probe_result(-1);
	}
	memcpy(to.un.sun_path, argv[1], len);
	if (argv[1][0] == '@') {
		to.un.sun_path[0] = '\0';
	}
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
	if (fd < 0 || connect(fd, &to.any, size) != 0) {
		return probe_result(-1);
	}
	return probe_result(send(fd, argv[2], strlen(argv[2]), MSG_NOSIGNAL));
}

static int await_visitor(int fd, const char *milliseconds) {
	struct pollfd wait = {.fd = fd, .events = POLLIN};
	if (poll(&wait, 1, (int)probe_number(milliseconds)) == 1) {
		char text[64];
		int peer = accept(fd, NULL, NULL);
		ssize_t got = peer < 0 ? -1 : read(peer, text, sizeof(text));
		printf("visited=%zd\n", got);
	}
	return probe_result(0);
}

/* Listens on every address and waits some milliseconds for a visitor. */
static int tcp_listen(int argc, char **argv) {
	(void)argc;
	union address at;
	socklen_t len = socket_address_read("0.0.0.0", argv[1], &at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;
	/* The row's other half may have used the port a moment ago. */
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (fd < 0 || bind(fd, &at.any, len) != 0 || listen(fd, 4) != 0) {
		return probe_result(-1);
	}
	return await_visitor(fd, argv[2]);
}

/* As tcp-listen, for both families. */
static int listen_any(int argc, char **argv) {
	(void)argc;
	union address at;
	socklen_t len = socket_address_read("::", argv[1], &at);
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, &at.any, len) != 0 || listen(fd, 4) != 0) {
		return probe_result(-1);
	}
	return await_visitor(fd, argv[2]);
}

static int link_up(int argc, char **argv) {
	(void)argc;
	struct ifreq request = {0};
	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", argv[1]);
	request.ifr_flags = IFF_UP;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	return probe_result(fd < 0 ? -1 : ioctl(fd, SIOCSIFFLAGS, &request));
}

/* clang-format off */
static const struct probe rows[] = {
	{"tcp-send", 3, tcp_send, "HOST PORT TEXT"},
	{"mptcp-send", 3, mptcp_send, "HOST PORT TEXT"},
	{"tfo-send", 3, tfo_send, "HOST PORT TEXT"},
	{"udp-send", 3, udp_send, "HOST PORT TEXT"},
	{"udp-unnamed", 3, udp_unnamed, "HOST PORT TEXT"},
	{"udp-connected", 3, udp_connected, "HOST PORT TEXT"},
	{"udp-many", 3, udp_many, "HOST PORT TEXT"},
	{"unix-send", 2, unix_send, "PATH|@NAME TEXT"},
	{"tcp-listen", 2, tcp_listen, "PORT MILLISECONDS"},
	{"listen-any", 2, listen_any, "PORT MILLISECONDS"},
	{"link-up", 1, link_up, "NAME"},
};
/* clang-format on */

const struct probe_table probe_net = {rows, PROBE_COUNT(rows)};
