/* SPDX-License-Identifier: Apache-2.0 */
/* A socket changes hands: one process gives it over a unix socket, another uses it. */
#include "probe.h"

#include "address.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TRIES 250 /* five seconds */
#define PAUSE_US 20000

static socklen_t unix_address(const char *path, union address *to) {
	*to = (union address){.un = {.sun_family = AF_UNIX}};
	snprintf(to->un.sun_path, sizeof to->un.sun_path, "%s", path);
	return sizeof to->un;
}

/* Until the other side is there. */
static int call_at(const char *path) {
	union address to;
	socklen_t len = unix_address(path, &to);

	for (int i = 0; i < TRIES; i++) {
		int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd >= 0 && connect(fd, &to.any, len) == 0) {
			return fd;
		}
		int error = errno;
		close(fd);
		usleep(PAUSE_US);
		errno = error;
	}
	return -1;
}

static int wait_at(const char *path) {
	union address at;
	socklen_t len = unix_address(path, &at);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)unlink(path);
	if (fd < 0 || bind(fd, &at.any, len) != 0 || listen(fd, 1) != 0) {
		return -1;
	}
	alarm(5); /* nobody came */
	int peer = accept(fd, NULL, NULL);
	alarm(0);
	(void)unlink(path);
	return peer;
}

static int meet(const char *way, const char *path) {
	return strcmp(way, "call") == 0 ? call_at(path) : wait_at(path);
}

static int send_socket(int channel, int fd) {
	char byte = 0;
	struct iovec data = {&byte, 1};
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof fd)];
	} control = {.head = {CMSG_LEN(sizeof fd), SOL_SOCKET, SCM_RIGHTS}};
	const struct msghdr m = {.msg_iov = &data,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof control};

	memcpy(CMSG_DATA(&control.head), &fd, sizeof fd);
	return sendmsg(channel, &m, 0) == 1 ? 0 : -1;
}

static int receive_socket(int channel) {
	char byte;
	int fd = -1;
	struct iovec data = {&byte, 1};
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof fd)];
	} control = {.head = {0}};
	struct msghdr m = {.msg_iov = &data,
			   .msg_iovlen = 1,
			   .msg_control = &control,
			   .msg_controllen = sizeof control};

	if (recvmsg(channel, &m, MSG_CMSG_CLOEXEC) != 1 || m.msg_controllen == 0) {
		errno = ENOMSG;
		return -1;
	}
	memcpy(&fd, CMSG_DATA(&control.head), sizeof fd);
	return fd;
}

/* A twin may have had the port a moment ago. */
static int bind_again(int fd, const union address *at, socklen_t len) {
	const int on = 1;

	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on); /* or bind says so */
	return bind(fd, &at->any, len);
}

/* give-socket call|wait PATH [PORT | to PORT]: a new TCP socket, bound there or connected. */
static int give_socket(int argc, char **argv) {
	union address at;
	bool to = argc > 4;
	socklen_t len = argc > 3 ? socket_address_read("127.0.0.1", argv[argc - 1], &at) : 0;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || (to && connect(fd, &at.any, len) != 0) ||
	    (!to && len != 0 && bind_again(fd, &at, len) != 0)) {
		return probe_result(-1);
	}
	int channel = meet(argv[1], argv[2]);
	return probe_result(channel < 0 ? -1 : send_socket(channel, fd));
}

static int use_by_connect(int fd, const union address *to, socklen_t len) {
	return connect(fd, &to->any, len) != 0 || send(fd, "hello", 5, MSG_NOSIGNAL) != 5 ? -1 : 0;
}

static int use_by_write(int fd, const union address *to, socklen_t len) {
	(void)to, (void)len;
	return write(fd, "hello", 5) != 5 ? -1 : 0;
}

static int use_by_fastopen(int fd, const union address *to, socklen_t len) {
	return sendto(fd, "hello", 5, MSG_FASTOPEN | MSG_NOSIGNAL, &to->any, len) < 0 ? -1 : 0;
}

/* A second or two in which somebody may come. */
static int use_by_listen(int fd, const union address *to, socklen_t len) {
	(void)to, (void)len;
	int r = listen(fd, 1);
	sleep(r == 0 ? 2 : 0);
	return r;
}

static int use_by_bind(int fd, const union address *to, socklen_t len) {
	return bind_again(fd, to, len) != 0 ? -1 : use_by_listen(fd, to, len);
}

/* take-socket call|wait PATH connect|fastopen|bind|listen|write PORT */
static int take_socket(int argc, char **argv) {
	static const struct {
		const char *name;
		int (*use)(int fd, const union address *to, socklen_t len);
	} ways[] = {{"connect", use_by_connect},
		    {"fastopen", use_by_fastopen},
		    {"bind", use_by_bind},
		    {"listen", use_by_listen},
		    {"write", use_by_write}};
	union address to;
	socklen_t len = socket_address_read("127.0.0.1", argv[4], &to);
	int channel = meet(argv[1], argv[2]);
	int fd = channel < 0 ? -1 : receive_socket(channel);
	(void)argc;

	for (size_t i = 0; fd >= 0 && i < PROBE_COUNT(ways); i++) {
		if (strcmp(ways[i].name, argv[3]) == 0) {
			return probe_result(ways[i].use(fd, &to, len));
		}
	}
	return probe_result(-1);
}

/* unix-post PATH HOW: a datagram, by connect and send, sendto or sendmsg, or from the half of a
 * pair. */
static int unix_post(int argc, char **argv) {
	union address to;
	socklen_t len = unix_address(argv[1], &to);
	int pair[2];
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct iovec data = {(char[]){"hello"}, 5};
	const struct msghdr m = {
		.msg_name = &to, .msg_namelen = len, .msg_iov = &data, .msg_iovlen = 1};
	(void)argc;

	if (strcmp(argv[2], "pair") == 0) {
		fd = socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) == 0 ? pair[0] : -1;
	}
	if (fd < 0) {
		return probe_result(-1);
	}
	if (strcmp(argv[2], "connect") == 0) {
		return probe_result(connect(fd, &to.any, len) != 0 ? -1 : send(fd, "hello", 5, 0));
	}
	return probe_result(strcmp(argv[2], "sendmsg") == 0
				    ? sendmsg(fd, &m, 0)
				    : sendto(fd, "hello", 5, 0, &to.any, len));
}

/* ---- a name that changes hands ---- */

#define ROUNDS 200
#define ROUND_US 20000

static void name_round(const char *dir, int round, char *path, size_t room) {
	snprintf(path, room, "%s/own-%d", dir, round);
}

static int listen_at(const char *path) {
	union address at;
	socklen_t len = unix_address(path, &at);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	return fd < 0 || bind(fd, &at.any, len) != 0 || listen(fd, 8) != 0 ? -1 : fd;
}

static bool wait_for(const char *path, bool there, int us) {
	for (; us > 0; us -= 20) {
		if ((access(path, F_OK) == 0) == there) {
			return true;
		}
		usleep(20);
	}
	return false;
}

/* bind-often SOCKET DIR [US]: binds names in DIR and says hello to each, once SOCKET is there. */
static int bind_often(int argc, char **argv) {
	char path[96];

	if (!wait_for(argv[1], true, 100 * ROUND_US)) {
		return probe_result(-1);
	}
	for (int i = 0; i < ROUNDS; i++) {
		name_round(argv[2], i, path, sizeof path);
		union address to;
		socklen_t len = unix_address(path, &to);
		int server = listen_at(path), client = socket(AF_UNIX, SOCK_STREAM, 0);
		usleep(argc > 3 ? (useconds_t)probe_number(argv[3]) : 0);
		if (connect(client, &to.any, len) == 0) {
			(void)!send(client, "hello", 5, MSG_NOSIGNAL);
		}
		(void)wait_for(path, false, ROUND_US);
		close(client);
		close(server);
	}
	return probe_result(0);
}

static void hear(int server) {
	char text[8] = "";
	int fd = accept4(server, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd < 0) {
		return;
	}
	usleep(1000);
	if (recv(fd, text, sizeof text - 1, 0) > 0) {
		printf("heard %s\n", text);
	}
	close(fd);
}

/* swap-often SOCKET DIR: listens there, and moves SOCKET to each name in DIR that appears. */
static int swap_often(int argc, char **argv) {
	char path[96];
	int server = listen_at(argv[1]);
	(void)argc;

	for (int i = 0; server >= 0 && i < ROUNDS; i++) {
		name_round(argv[2], i, path, sizeof path);
		if (!wait_for(path, true, i == 0 ? 100 * ROUND_US : ROUND_US)) {
			continue;
		}
		(void)rename(argv[1], path); /* it was there a moment ago */
		usleep(500);
		hear(server);
		(void)rename(path, argv[1]);
	}
	(void)unlink(argv[1]);
	return probe_result(server < 0 ? -1 : 0);
}

/* clang-format off */
static const struct probe rows[] = {
	{"bind-often", 2, bind_often, "SOCKET DIR [US]"},
	{"swap-often", 2, swap_often, "SOCKET DIR"},
	{"give-socket", 2, give_socket, "call|wait PATH [PORT | to PORT]"},
	{"take-socket", 4, take_socket, "call|wait PATH connect|fastopen|bind|listen|write PORT"},
	{"unix-post", 2, unix_post, "PATH connect|sendto|sendmsg|pair"},
};
/* clang-format on */

const struct probe_table probe_passing = {rows, PROBE_COUNT(rows)};
