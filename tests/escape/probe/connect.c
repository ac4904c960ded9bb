/* Attempts to get past a judge of connect(2): a destination that changes under his eyes,
 * one that no connect names, one that comes second. */
#include "probe.h"

#include "address.h"

#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifndef TCP_FASTOPEN_CONNECT
#define TCP_FASTOPEN_CONNECT 30
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

	s.len = address_read(argv[1], argv[3], &s.good);
	(void)address_read(argv[2], argv[3], &s.bad);
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

/* One socket: connected to the first, dissolved, connected to the second. */
static int reconnect(int argc, char **argv) {
	(void)argc;
	union address first, second, none = {.any.sa_family = AF_UNSPEC};
	socklen_t len = address_read(argv[1], argv[3], &first);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)address_read(argv[2], argv[3], &second);
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
	socklen_t len = address_read(argv[1], argv[2], &to);
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
	socklen_t len = address_read(argv[1], argv[2], &to);
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
	{"reconnect", 4, reconnect, "FIRST SECOND PORT TEXT"},
	{"tfo-message", 3, tfo_message, "HOST PORT TEXT"},
	{"tfo-connect", 3, tfo_connect, "HOST PORT TEXT"},
};
/* clang-format on */

const struct probe_table probe_connect = {rows, PROBE_COUNT(rows)};
