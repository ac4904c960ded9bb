/* SPDX-License-Identifier: Apache-2.0 */
/* An HTTP origin and the clients that measure the way to it.  Compiled by net.py.
 *
 *     load serve PORT
 *     load down|up NAME PORT BYTES         one transfer; prints bytes a second
 *     load connect NAME PORT SECONDS       a connection for each request; prints how many a second
 *     load requests NAME PORT SECONDS      on connections that stay; prints how many a second
 *     load many NAME PORT COUNT            so many connections at once; says "open", waits for a
 * line
 *
 * Should:   be the same program for every contender, and never be what limits it.
 * Fails:    with a word and status 1; half a measurement is none. */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BLOCK ((size_t)1 << 18)
#define WORKERS                                                                                    \
	8 /* clients at once; more than the processors, so that waiting for one costs nothing */
#define EVENTS 256

static char block[BLOCK];
static struct addrinfo *place;
static const char *name;

static void die(const char *what) {
	fprintf(stderr, "load: %s: %s\n", what, strerror(errno));
	exit(1);
}

static double now(void) {
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- the origin ---- */

/* One connection: requests are short and come whole; a body only after PUT. */
struct guest {
	int fd;
	size_t left;   /* of a response that is being sent */
	size_t coming; /* of a body that is being read */
};

static bool answer(struct guest *g, const char *head, size_t len) {
	char text[128];
	unsigned long long size = strtoull(head + 5, NULL, 10);
	const char *length = strstr(head, "Content-Length: ");

	if (strncmp(head, "PUT ", 4) == 0) {
		size_t before = (size_t)(strstr(head, "\r\n\r\n") + 4 - head);
		g->coming = strtoull(length + 16, NULL, 10) - (len - before);
		return true;
	}
	int n = snprintf(text, sizeof text, "HTTP/1.1 200 OK\r\nContent-Length: %llu\r\n\r\n",
			 size);
	g->left = size;
	return send(g->fd, text, (size_t)n, MSG_NOSIGNAL | (size != 0 ? MSG_MORE : 0)) == n;
}

static bool hear(struct guest *g) {
	static char text[BLOCK + 1];
	ssize_t got = recv(g->fd, text, BLOCK, MSG_DONTWAIT);

	if (got <= 0) {
		return got < 0 && errno == EAGAIN;
	}
	if (g->coming != 0) {
		g->coming -= (size_t)got;
		return g->coming != 0 ||
		       send(g->fd, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 38, 0) == 38;
	}
	text[got] = '\0';
	return answer(g, text, (size_t)got);
}

static bool speak(struct guest *g) {
	while (g->left != 0) {
		size_t part = g->left < BLOCK ? g->left : BLOCK;
		ssize_t sent = send(g->fd, block, part, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (sent < 0) {
			return errno == EAGAIN;
		}
		g->left -= (size_t)sent;
	}
	return true;
}

static int listener(uint16_t port) {
	struct sockaddr_in6 at = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK, 0), yes = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
	if (bind(fd, (struct sockaddr *)&at, sizeof at) != 0 || listen(fd, 4096) != 0) {
		die("listen");
	}
	return fd;
}

static void welcome(int epoll, int fd) {
	int peer, yes = 1;

	while ((peer = accept4(fd, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
		struct guest *g = calloc(1, sizeof *g);
		struct epoll_event want = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
					   .data.ptr = g};
		g->fd = peer;
		setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
		if (epoll_ctl(epoll, EPOLL_CTL_ADD, peer, &want) != 0) {
			die("epoll");
		}
	}
}

static void serve(uint16_t port) {
	int epoll = epoll_create1(0), fd = listener(port);
	struct epoll_event want = {.events = EPOLLIN}, found[EVENTS];

	epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &want);
	for (;;) {
		int n = epoll_wait(epoll, found, EVENTS, -1);
		for (int i = 0; i < n; i++) {
			struct guest *g = found[i].data.ptr;
			if (g == NULL) {
				welcome(epoll, fd);
				continue;
			}
			bool alive = true;
			if (found[i].events & EPOLLIN) {
				/* Edges: all there is. */
				ssize_t more;
				do {
					alive = hear(g) && speak(g);
				} while (alive && (more = recv(g->fd, block, 1,
							       MSG_PEEK | MSG_DONTWAIT)) > 0);
			}
			alive = alive && speak(g);
			if (!alive || (found[i].events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))) {
				close(g->fd);
				free(g);
			}
		}
	}
}

/* ---- the clients ---- */

static int dial(void) {
	int yes = 1, fd = socket(place->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, place->ai_addr, place->ai_addrlen) != 0) {
		die("connect");
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
	return fd;
}

static void ask(int fd, const char *method, unsigned long long path, unsigned long long body) {
	char text[256];
	int n = snprintf(text, sizeof text,
			 "%s /%llu HTTP/1.1\r\nHost: %s:%d\r\nContent-Length: %llu\r\n\r\n", method,
			 path, name, ntohs(((struct sockaddr_in *)place->ai_addr)->sin_port), body);
	if (send(fd, text, (size_t)n, MSG_NOSIGNAL) != n) {
		die("send");
	}
}

/* The head of a response, and what of the body came with it. */
static size_t reply(int fd, char *text, size_t cap) {
	size_t have = 0;

	for (;;) {
		ssize_t got = recv(fd, text + have, cap - have - 1, 0);
		if (got <= 0) {
			die("receive");
		}
		have += (size_t)got;
		text[have] = '\0';
		const char *end = strstr(text, "\r\n\r\n");
		if (end != NULL) {
			return have - (size_t)(end + 4 - text);
		}
	}
}

static void down(unsigned long long bytes) {
	int fd = dial();
	double start = now();

	ask(fd, "GET", bytes, 0);
	unsigned long long have = reply(fd, block, BLOCK);
	while (have < bytes) {
		ssize_t got = recv(fd, block, BLOCK, 0);
		if (got <= 0) {
			die("receive");
		}
		have += (unsigned long long)got;
	}
	printf("%.0f\n", (double)bytes / (now() - start));
}

static void up(unsigned long long bytes) {
	int fd = dial();
	double start = now();
	char text[256];

	ask(fd, "PUT", 0, bytes);
	for (unsigned long long left = bytes; left > 0;) {
		ssize_t sent = send(fd, block, left < BLOCK ? left : BLOCK, MSG_NOSIGNAL);
		if (sent <= 0) {
			die("send");
		}
		left -= (unsigned long long)sent;
	}
	(void)reply(fd, text, sizeof text);
	printf("%.0f\n", (double)bytes / (now() - start));
}

static atomic_ullong done;
static double until;

static void *connecting(void *unused) {
	char text[256];

	(void)unused;
	while (now() < until) {
		int fd = dial();
		ask(fd, "GET", 0, 0);
		(void)reply(fd, text, sizeof text);
		close(fd);
		atomic_fetch_add(&done, 1);
	}
	return NULL;
}

static void *requesting(void *unused) {
	char text[256];
	int fd = dial();

	(void)unused;
	while (now() < until) {
		ask(fd, "GET", 0, 0);
		(void)reply(fd, text, sizeof text);
		atomic_fetch_add(&done, 1);
	}
	close(fd);
	return NULL;
}

static void together(void *(*work)(void *), double seconds) {
	pthread_t threads[WORKERS];
	double start = now();

	until = start + seconds;
	for (size_t i = 0; i < WORKERS; i++) {
		if (pthread_create(&threads[i], NULL, work, NULL) != 0) {
			die("thread");
		}
	}
	for (size_t i = 0; i < WORKERS; i++) {
		pthread_join(threads[i], NULL);
	}
	printf("%.0f\n", (double)atomic_load(&done) / (now() - start));
}

static void many(size_t count) {
	int *fds = calloc(count, sizeof *fds);
	char text[256];

	for (size_t i = 0; i < count; i++) {
		fds[i] = dial();
		ask(fds[i], "GET", 0, 0);
	}
	for (size_t i = 0; i < count; i++) {
		(void)reply(fds[i], text, sizeof text);
	}
	printf("open\n");
	fflush(stdout);
	(void)getchar();
	/* All of them still work. */
	for (size_t i = 0; i < count; i++) {
		ask(fds[i], "GET", 0, 0);
		(void)reply(fds[i], text, sizeof text);
	}
	printf("%zu\n", count);
}

int main(int argc, char **argv) {
	struct rlimit files;

	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	if (argc == 3 && strcmp(argv[1], "serve") == 0) {
		serve((uint16_t)strtoul(argv[2], NULL, 10));
	}
	struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
	if (argc != 5 || getaddrinfo(name = argv[2], argv[3], &hints, &place) != 0) {
		die("no such way");
	}
	unsigned long long number = strtoull(argv[4], NULL, 10);
	if (strcmp(argv[1], "down") == 0) {
		down(number);
	} else if (strcmp(argv[1], "up") == 0) {
		up(number);
	} else if (strcmp(argv[1], "connect") == 0) {
		together(connecting, (double)number);
	} else if (strcmp(argv[1], "requests") == 0) {
		together(requesting, (double)number);
	} else {
		many(number);
	}
	return 0;
}
