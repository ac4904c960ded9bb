/* SPDX-License-Identifier: Apache-2.0 */
/* Attempts to get past a judge of connect(2): a destination that changes under his eyes, one that
 * no connect names, one that comes second, or at the same time by another way to the socket, or
 * one that lies on the way. */
#include "probe.h"

#include "address.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef TCP_FASTOPEN_CONNECT
#define TCP_FASTOPEN_CONNECT 30
#endif

#ifndef SO_BINDTOIFINDEX
#define SO_BINDTOIFINDEX 62
#endif

#define ROUNDS 400

struct swap {
	union address shown, good, bad;
	socklen_t len;
	atomic_bool over;
};

static void *flip(void *data) {
	struct swap *s = data;

	while (!atomic_load(&s->over)) {
		memcpy(&s->shown.in.sin_addr, &s->bad.in.sin_addr, sizeof(s->bad.in.sin_addr));
		atomic_signal_fence(memory_order_seq_cst);
		memcpy(&s->shown.in.sin_addr, &s->good.in.sin_addr, sizeof(s->good.in.sin_addr));
		atomic_signal_fence(memory_order_seq_cst);
	}
	return NULL;
}

static int visit(const struct swap *s, const char *text) {
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char back[64];

	if (fd < 0 || connect(fd, &s->shown.any, s->len) != 0 ||
	    send(fd, text, strlen(text), MSG_NOSIGNAL) < 0 || read(fd, back, sizeof(back)) < 0) {
		(void)close(fd); /* refused this time */
		return 0;
	}
	(void)close(fd);
	return 1;
}

/* Another thread changes the address all the while. */
static int connect_race(int argc, char **argv) {
	(void)argc;
	struct swap s = {.over = false};
	pthread_t other;
	int reached = 0;

	s.len = socket_address_read(argv[1], argv[3], &s.good);
	(void)socket_address_read(argv[2], argv[3], &s.bad);
	s.shown = s.good;
	if (pthread_create(&other, NULL, flip, &s) != 0) {
		return probe_result(-1);
	}
	for (int i = 0; i < ROUNDS; i++) {
		reached += visit(&s, argv[4]);
	}
	atomic_store(&s.over, true);
	(void)pthread_join(other, NULL);
	printf("reached=%d\n", reached);
	return probe_result(reached > 0 ? 0 : -1);
}

/* The same with the family of the address: what is none, or a unix socket's, is no destination. */
struct turn {
	union address shown;
	sa_family_t harmless;
	atomic_bool over;
};

static void *turn(void *data) {
	struct turn *t = data;

	while (!atomic_load(&t->over)) {
		t->shown.any.sa_family = AF_INET;
		atomic_signal_fence(memory_order_seq_cst);
		t->shown.any.sa_family = t->harmless;
		atomic_signal_fence(memory_order_seq_cst);
	}
	return NULL;
}

static int family_race(int argc, char **argv) {
	(void)argc;
	struct turn t = {.harmless = strcmp(argv[1], "unix") == 0 ? AF_UNIX : AF_UNSPEC};
	socklen_t len = socket_address_read(argv[2], argv[3], &t.shown);
	pthread_t other;
	int reached = 0;

	if (pthread_create(&other, NULL, turn, &t) != 0) {
		return probe_result(-1);
	}
	for (int i = 0; i < ROUNDS; i++) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		(void)connect(fd, &t.shown.any, len); /* the next line says whether it was */
		reached += send(fd, argv[4], strlen(argv[4]), MSG_NOSIGNAL) > 0;
		(void)close(fd);
	}
	atomic_store(&t.over, true);
	(void)pthread_join(other, NULL);
	printf("reached=%d\n", reached);
	return probe_result(reached > 0 ? 0 : -1);
}

/* One socket that two have: each connects it, to a place of his own, and both speak.  How long the
 * first one waits differs from round to round, so that every order is tried. */
struct shared {
	union address to;
	socklen_t len;
	int fd;
	useconds_t wait;
	const char *text;
};

static void *connect_shared(void *data) {
	const struct shared *s = data;

	(void)usleep(s->wait);
	(void)connect(s->fd, &s->to.any, s->len); /* whoever comes second is told so */
	(void)send(s->fd, s->text, strlen(s->text), MSG_NOSIGNAL);
	return NULL;
}

static void by_process(struct shared *one, struct shared *other) {
	pid_t child = fork();

	if (child == 0) {
		(void)connect_shared(other);
		_exit(0);
	}
	(void)connect_shared(one);
	(void)waitpid(child, NULL, 0);
}

static void by_thread(struct shared *one, struct shared *other) {
	pthread_t thread;

	if (pthread_create(&thread, NULL, connect_shared, other) == 0) {
		(void)connect_shared(one);
		(void)pthread_join(thread, NULL);
	}
}

static int share(int argc, char **argv) {
	(void)argc;
	struct shared one = {.text = argv[5]}, other = {.text = argv[5]};

	one.len = socket_address_read(argv[2], argv[4], &one.to);
	other.len = socket_address_read(argv[3], argv[4], &other.to);
	for (int i = 0; i < ROUNDS / 4; i++) {
		one.wait = 10 * (useconds_t)i;
		one.fd = other.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		(strcmp(argv[1], "fork") == 0 ? by_process : by_thread)(&one, &other);
		(void)close(one.fd);
	}
	return probe_result(0);
}

/* Addresses that are longer, or as short, as the kernel takes them. */
static int odd_lengths(int argc, char **argv) {
	(void)argc;
	static const socklen_t lengths[] = {16, 20, 24, 26, 28, 32, 110, 128};
	struct sockaddr_storage room = {0};
	union address to;
	int reached = 0;

	(void)socket_address_read(argv[1], argv[2], &to);
	memcpy(&room, &to, sizeof(to));
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		int fd = socket(to.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (connect(fd, (struct sockaddr *)&room, lengths[i]) == 0) {
			reached += send(fd, argv[3], strlen(argv[3]), MSG_NOSIGNAL) > 0;
		}
		(void)close(fd);
	}
	return probe_result(reached > 0 ? 0 : -1);
}

/* A segment routing header: the packets for `to` go by way of `via` first, and carry the text. */
struct way {
	uint8_t next, length, type, left, last, flags, tag[2];
	struct in6_addr to, via;
	char text[32];
};

static int listen_at(union address *to, socklen_t len) {
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, &to->any, len) != 0 || listen(fd, 4) != 0) {
		return -1;
	}
	return getsockname(fd, &to->any, &len);
}

/* With port 0 to a listener of one's own. */
static int routed(int argc, char **argv) {
	(void)argc;
	union address via, to;
	socklen_t len = socket_address_read(argv[2], argv[3], &to);
	struct timeval patience = {.tv_usec = 300000};
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)socket_address_read(argv[1], "0", &via);
	if (fd < 0 || (to.in6.sin6_port == 0 && listen_at(&to, len) != 0)) {
		return probe_result(-1);
	}
	struct way way = {.length = 8, .type = 4, .left = 1, .last = 3};
	way.to = to.in6.sin6_addr;
	way.via = via.in6.sin6_addr;
	memcpy(way.text, argv[4], strnlen(argv[4], sizeof(way.text)));
	if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) != 0 ||
	    setsockopt(fd, IPPROTO_IPV6, IPV6_RTHDR, &way, sizeof(way)) != 0) {
		return probe_result(-1);
	}
	return probe_result(connect(fd, &to.any, len));
}

/* An option of a socket that chooses the way of its packets. */
static int steer(int argc, char **argv) {
	(void)argc;
	static const char device[] = "up0";
	static const int number =
		2; /* the first after the loopback: interfaces are not shown inside */
	/* A loose source route: 131, its length, a pointer, and two places. */
	static const uint8_t route[] = {131, 11, 4, 11, 0, 0, 66, 11, 0, 0, 10, 0};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (strcmp(argv[1], "device") == 0) {
		return probe_result(
			setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, device, sizeof(device)));
	}
	if (strcmp(argv[1], "number") == 0) {
		return probe_result(
			setsockopt(fd, SOL_SOCKET, SO_BINDTOIFINDEX, &number, sizeof(number)));
	}
	return probe_result(setsockopt(fd, IPPROTO_IP, IP_OPTIONS, route, sizeof(route)));
}

/* A connection to a listener of one's own is dissolved, and its socket listens; where is told. */
static int listen_dissolved(int argc, char **argv) {
	(void)argc;
	union address at, none = {.any.sa_family = AF_UNSPEC};
	socklen_t len = socket_address_read("127.0.0.1", "0", &at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int own = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (bind(own, &at.any, len) != 0 || listen(own, 4) != 0 ||
	    getsockname(own, &at.any, &len) != 0 || connect(fd, &at.any, len) != 0 ||
	    connect(fd, &none.any, sizeof(none.any)) != 0 || listen(fd, 4) != 0 ||
	    getsockname(fd, &at.any, &len) != 0) {
		return probe_result(-1);
	}
	FILE *out = fopen(argv[1], "we");
	if (out == NULL || fprintf(out, "%d\n", ntohs(at.in.sin_port)) < 0 || fclose(out) != 0) {
		return probe_result(-1);
	}
	return probe_result(usleep(1000 * (useconds_t)probe_number(argv[2])));
}

/* One socket: connected to the first, dissolved, connected to the second. */
static int reconnect(int argc, char **argv) {
	(void)argc;
	union address first, second, none = {.any.sa_family = AF_UNSPEC};
	socklen_t len = socket_address_read(argv[1], argv[3], &first);
	int fd = socket(first.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)socket_address_read(argv[2], argv[3], &second);
	if (fd < 0 || connect(fd, &first.any, len) != 0 ||
	    connect(fd, &none.any, sizeof(none.any)) != 0 || connect(fd, &second.any, len) != 0) {
		return probe_result(-1);
	}
	return probe_result(send(fd, argv[4], strlen(argv[4]), MSG_NOSIGNAL));
}

/* TCP Fast Open, where sendmsg(2) carries the address behind a pointer. */
static int tfo_message(int argc, char **argv) {
	(void)argc;
	union address to;
	socklen_t len = socket_address_read(argv[1], argv[2], &to);
	struct iovec text = {argv[3], strlen(argv[3])};
	struct mmsghdr one = {
		.msg_hdr = {
			.msg_name = &to, .msg_namelen = len, .msg_iov = &text, .msg_iovlen = 1}};
	int fd = socket(to.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && sendmsg(fd, &one.msg_hdr, MSG_FASTOPEN | MSG_NOSIGNAL) >= 0) {
		return probe_result(0);
	}
	return probe_result(fd < 0 ? -1 : sendmmsg(fd, &one, 1, MSG_FASTOPEN | MSG_NOSIGNAL));
}

/* The same by an option: connect(2) sends nothing, and the first write everything. */
static int tfo_connect(int argc, char **argv) {
	(void)argc;
	union address to;
	socklen_t len = socket_address_read(argv[1], argv[2], &to);
	int fd = socket(to.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;

	if (fd < 0 || setsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &yes, sizeof(yes)) != 0 ||
	    connect(fd, &to.any, len) != 0) {
		return probe_result(-1);
	}
	return probe_result(send(fd, argv[3], strlen(argv[3]), MSG_NOSIGNAL));
}

/* clang-format off */
static const struct probe rows[] = {
	{"connect-race", 4, connect_race, "GOOD BAD PORT TEXT"},
	{"family-race", 4, family_race, "unix|none BAD PORT TEXT"},
	{"share", 5, share, "fork|thread GOOD BAD PORT TEXT"},
	{"odd-lengths", 3, odd_lengths, "HOST PORT TEXT"},
	{"routed", 4, routed, "VIA TO PORT TEXT"},
	{"steer", 1, steer, "device|number|source-route"},
	{"listen-dissolved", 2, listen_dissolved, "FILE MILLISECONDS"},
	{"reconnect", 4, reconnect, "FIRST SECOND PORT TEXT"},
	{"tfo-message", 3, tfo_message, "HOST PORT TEXT"},
	{"tfo-connect", 3, tfo_connect, "HOST PORT TEXT"},
};
/* clang-format on */

const struct probe_table probe_connect = {rows, PROBE_COUNT(rows)};
