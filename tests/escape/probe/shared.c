/* SPDX-License-Identifier: Apache-2.0 */
/* Attempts for where the network is the host's: a group of it is joined, the wildcard is said in
 * the place of an address, and a socket is changed while somebody else binds it to the loopback. */
#include "probe.h"

#include "address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The first after the loopback: interfaces are not shown inside. */
#define INTERFACE 2

/* ---- groups ---- */

static int join6(int fd) {
	struct group_req to = {.gr_interface = INTERFACE};
	union address group;

	(void)socket_address_read("ff0e::1234", "0", &group);
	memcpy(&to.gr_group, &group.in6, sizeof(group.in6));
	return setsockopt(fd, IPPROTO_IPV6, MCAST_JOIN_GROUP, &to, sizeof(to));
}

static int join_source(int fd) {
	struct group_source_req to = {.gsr_interface = INTERFACE};
	union address group, source;

	(void)socket_address_read("239.1.2.3", "0", &group);
	(void)socket_address_read("11.0.0.66", "0", &source);
	memcpy(&to.gsr_group, &group.in, sizeof(group.in));
	memcpy(&to.gsr_source, &source.in, sizeof(source.in));
	return setsockopt(fd, IPPROTO_IP, MCAST_JOIN_SOURCE_GROUP, &to, sizeof(to));
}

static int join_old(int fd) {
	struct ip_mreq_source to = {.imr_multiaddr.s_addr = inet_addr("239.1.2.4"),
				    .imr_interface.s_addr = inet_addr("11.0.0.1"),
				    .imr_sourceaddr.s_addr = inet_addr("11.0.0.66")};

	return setsockopt(fd, IPPROTO_IP, IP_ADD_SOURCE_MEMBERSHIP, &to, sizeof(to));
}

static int join(int argc, char **argv) {
	(void)argc;
	bool six = strcmp(argv[1], "six") == 0;
	int fd = socket(six ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (six) {
		return probe_result(join6(fd));
	}
	return probe_result(strcmp(argv[1], "old") == 0 ? join_old(fd) : join_source(fd));
}

#define SOURCES 8

/* Joins a group and names as its sources what is to be said: the host reports both. */
static int tell_group(int argc, char **argv) {
	(void)argc;
	struct group_req to = {.gr_interface = INTERFACE};
	char filter[GROUP_FILTER_SIZE(SOURCES)];
	struct group_filter head = {
		.gf_interface = INTERFACE, .gf_fmode = MCAST_INCLUDE, .gf_numsrc = SOURCES};
	char text[SOURCES * sizeof(struct in_addr)] = {0};
	union address group;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)socket_address_read("239.0.0.0", "0", &group);
	memcpy(text, argv[1], strnlen(argv[1], sizeof(text)));
	/* One for every text: what a group hears twice is told of once. */
	memcpy((char *)&group.in.sin_addr + 1, text + strnlen(text, sizeof(text) - 1) / 4 * 4 - 3,
	       3);
	memcpy(&to.gr_group, &group.in, sizeof(group.in));
	memcpy(&head.gf_group, &group.in, sizeof(group.in));
	memset(filter, 0, sizeof(filter));
	memcpy(filter, &head, GROUP_FILTER_SIZE(0));
	for (size_t i = 0; i < SOURCES; i++) {
		struct sockaddr_in source = {.sin_family = AF_INET};

		memcpy(&source.sin_addr, text + i * sizeof(source.sin_addr),
		       sizeof(source.sin_addr));
		memcpy(filter + GROUP_FILTER_SIZE(i), &source, sizeof(source));
	}
	if (setsockopt(fd, IPPROTO_IP, MCAST_JOIN_GROUP, &to, sizeof(to)) != 0 ||
	    setsockopt(fd, IPPROTO_IP, MCAST_MSFILTER, filter, sizeof(filter)) != 0) {
		return probe_result(-1);
	}
	return probe_result(usleep(700000)); /* it is told of in a moment */
}

/* ---- the wildcard ---- */

static int listen_on(const char *host, const char *port) {
	union address at;
	socklen_t len = socket_address_read(host, port, &at);
	int fd = socket(at.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;

	if (at.any.sa_family == AF_INET6) {
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof(yes));
	}
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	return bind(fd, &at.any, len) != 0 || listen(fd, 4) != 0 ? -1 : fd;
}

static int listen_at(int argc, char **argv) {
	(void)argc;
	char text[64];
	struct pollfd wait = {.fd = listen_on(argv[1], argv[2]), .events = POLLIN};

	if (wait.fd >= 0 && poll(&wait, 1, (int)probe_number(argv[3])) == 1) {
		int peer = accept(wait.fd, NULL, NULL);
		ssize_t got = peer < 0 ? -1 : read(peer, text, sizeof(text));
		printf("visited=%zd\n", got);
	}
	return probe_result(wait.fd);
}

/* A listener of one's own where the wildcard should lead to, and a socket bound elsewhere. */
static int by_wildcard(int argc, char **argv) {
	(void)argc;
	union address from, to;
	socklen_t from_len = socket_address_read(argv[2], "0", &from);
	bool six = from.any.sa_family == AF_INET6;
	socklen_t to_len = socket_address_read(six ? "::" : "0.0.0.0", argv[3], &to);
	int fd = socket(from.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (listen_on(argv[1], argv[3]) < 0 || bind(fd, &from.any, from_len) != 0 ||
	    connect(fd, &to.any, to_len) != 0) {
		return probe_result(-1);
	}
	return probe_result(send(fd, argv[4], strlen(argv[4]), MSG_NOSIGNAL));
}

/* ---- races ---- */

struct race {
	atomic_int fd; /* -1: none */
	atomic_uint wait;
	atomic_bool over;
};

static void *flip_only6(void *data) {
	struct race *r = data;
	int yes = 1, no = 0;

	while (!atomic_load(&r->over)) {
		int fd = atomic_load(&r->fd);

		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof(yes));
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
	}
	return NULL;
}

static void *dissolve(void *data) {
	struct race *r = data;

	while (!atomic_load(&r->over)) {
		int fd = atomic_load(&r->fd);

		if (fd < 0) {
			continue;
		}
		for (unsigned i = atomic_load(&r->wait); i > 0; i--) {
			atomic_signal_fence(memory_order_seq_cst);
		}
		(void)shutdown(fd, SHUT_RDWR);
		atomic_store(&r->fd, -1);
	}
	return NULL;
}

/* A listener who takes nobody any more: who connects to him stays on the way. */
static int crowded(union address *at) {
	socklen_t len = socket_address_read("127.0.0.1", "0", at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (bind(fd, &at->any, len) != 0 || listen(fd, 0) != 0 ||
	    getsockname(fd, &at->any, &len) != 0) {
		return -1;
	}
	for (int i = 0; i < 2; i++) {
		int guest = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

		(void)connect(guest, &at->any, len);
	}
	return fd;
}

/* The port, when the socket listens to everybody; 0 otherwise. */
static int everywhere(int fd) {
	union address at;
	socklen_t len = sizeof(at);

	if (getsockname(fd, &at.any, &len) != 0) {
		return 0;
	}
	bool any = at.any.sa_family == AF_INET6 ? IN6_IS_ADDR_UNSPECIFIED(&at.in6.sin6_addr)
						: at.in.sin_addr.s_addr == htonl(INADDR_ANY);
	return any ? ntohs(at.in.sin_port) : 0;
}

/* One round: a socket listens while the other thread changes it. */
static int round_of(struct race *r, const union address *crowd, unsigned i) {
	int fd = socket(crowd ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (crowd != NULL) {
		(void)connect(fd, &crowd->any, sizeof(crowd->in));
		atomic_store(&r->wait, i % 600 * 16);
	}
	atomic_store(&r->fd, fd);
	bool listens = listen(fd, 4) == 0;
	while (crowd != NULL && atomic_load(&r->fd) >= 0) {
	}
	atomic_store(&r->fd, -1);
	if (listens && everywhere(fd) != 0 && listen(fd, 4) == 0) {
		return fd;
	}
	close(fd);
	return -1;
}

/* For so long, or until one listens to everybody; then its port is told, and waited. */
static int listen_race(int argc, char **argv) {
	(void)argc;
	bool by_shutdown = strcmp(argv[1], "shutdown") == 0;
	struct race r = {.fd = -1};
	union address crowd;
	int own = by_shutdown ? crowded(&crowd) : 0, won = -1;
	pthread_t other;
	time_t end = time(NULL) + probe_number(argv[3]);

	if (own < 0 || pthread_create(&other, NULL, by_shutdown ? dissolve : flip_only6, &r) != 0) {
		return probe_result(-1);
	}
	for (unsigned i = 0; won < 0 && time(NULL) < end; i++) {
		if (by_shutdown && i % 64 == 0) {
			(void)listen(own, 0); /* it is forgotten among so many */
		}
		won = round_of(&r, by_shutdown ? &crowd : NULL, i);
	}
	atomic_store(&r.over, true);
	(void)pthread_join(other, NULL);
	FILE *out = won < 0 ? NULL : fopen(argv[2], "we");
	if (out == NULL || fprintf(out, "%d\n", everywhere(won)) < 0 || fclose(out) != 0) {
		errno = EADDRNOTAVAIL;
		return probe_result(-1);
	}
	return probe_result(usleep(900000));
}

/* clang-format off */
static const struct probe rows[] = {
	{"join", 1, join, "source|old|six"},
	{"tell-group", 1, tell_group, "TEXT"},
	{"listen-at", 3, listen_at, "HOST PORT MILLISECONDS"},
	{"by-wildcard", 4, by_wildcard, "OWN BOUND PORT TEXT"},
	{"listen-race", 3, listen_race, "v6only|shutdown FILE SECONDS"},
};
/* clang-format on */

const struct probe_table probe_shared = {rows, PROBE_COUNT(rows)};
