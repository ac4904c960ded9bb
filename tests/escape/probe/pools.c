/* SPDX-License-Identifier: Apache-2.0 */
/* Attempts to use up what the kernel keeps once for a user or for the machine:
 * `drain` takes as much as it gets, up to a bound, and holds it; `one` asks for
 * a single piece, as any innocent program does. */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Descriptors that travel in one message, and messages that a socket takes. */
#define PER_MESSAGE 253
#define PER_SOCKET 8

static int send_descriptors(int sock) {
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(PER_MESSAGE * sizeof(int))];
	} control;
	char x = 0;
	struct iovec byte = {&x, 1};
	struct msghdr message = {.msg_iov = &byte, .msg_iovlen = 1};
	int fds[PER_MESSAGE] = {0};

	memset(&control, 0, sizeof(control));
	control.head.cmsg_level = SOL_SOCKET;
	control.head.cmsg_type = SCM_RIGHTS;
	control.head.cmsg_len = CMSG_LEN(sizeof(fds));
	memcpy(CMSG_DATA(&control.head), fds, sizeof(fds));
	message.msg_control = &control;
	message.msg_controllen = sizeof(control);
	return sendmsg(sock, &message, MSG_DONTWAIT) < 0 ? -1 : 0;
}

/* Descriptors in flight between two sockets, which nobody receives. */
static int take_flight(void) {
	static int pair[2], sent = PER_SOCKET;
	if (sent == PER_SOCKET) {
		if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) != 0) {
			return -1;
		}
		sent = 0;
	}
	sent++;
	return send_descriptors(pair[0]);
}

/* Signals that wait at this process; timers come out of the same pool. */
static int take_signal(void) {
	sigset_t held;
	union sigval value = {0};
	sigemptyset(&held);
	sigaddset(&held, SIGRTMIN);
	sigprocmask(SIG_BLOCK, &held, NULL);
	return sigqueue(getpid(), SIGRTMIN, value);
}

static int take_queue(void) {
	static int made;
	char name[64];
	struct mq_attr shape = {.mq_maxmsg = 10, .mq_msgsize = 8192};
	snprintf(name, sizeof(name), "/pool-%d-%d", (int)getpid(), made++);
	mqd_t queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &shape);
	/* Without its name it goes when the program does. */
	return queue < 0 || mq_unlink(name) != 0 ? -1 : 0;
}

static int take_events(void) {
	unsigned long context = 0;
	return (int)syscall(SYS_io_setup, 1000, &context);
}

static int take_pipe(void) {
	int ends[2];
	if (pipe(ends) != 0) {
		return -1;
	}
	return fcntl(ends[0], F_SETPIPE_SZ, 1 << 20) < 0 ? -1 : 0;
}

static int take_terminal(void) {
	return open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC) < 0 ? -1 : 0;
}

/* Fewer instances than a run may have; each watches every file of a directory that goes
 * with the program. */
#define INSTANCES 60

static char watched[64] = "/tmp/watched-XXXXXX";
static long watched_files;

static void forget_watched(void) {
	char name[96];
	for (long i = 0; i < watched_files; i++) {
		snprintf(name, sizeof(name), "%s/%ld", watched, i);
		unlink(name);
	}
	rmdir(watched);
}

static int take_watch(void) {
	static int instances[INSTANCES], made;
	static long taken;
	char name[96];
	if (taken == 0) {
		const char *where = getenv("TMPDIR");
		snprintf(watched, sizeof(watched), "%s/watched-XXXXXX", where ? where : "/tmp");
		if (mkdtemp(watched) == NULL || atexit(forget_watched) != 0) {
			return -1;
		}
	}
	if (made < INSTANCES && (instances[made++] = inotify_init1(IN_CLOEXEC)) < 0) {
		return -1;
	}
	snprintf(name, sizeof(name), "%s/%ld", watched, taken / INSTANCES);
	if (taken++ % INSTANCES == 0) {
		watched_files++;
		close(open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	}
	return inotify_add_watch(instances[(taken - 1) % INSTANCES], name, IN_MODIFY) < 0 ? -1 : 0;
}

/* A watch of every descriptor by every epoll instance. */
#define SIDE 400

static int take_event_watch(void) {
	static int sets[SIDE], ends[SIDE], taken;
	struct epoll_event wanted = {.events = EPOLLIN};
	for (int i = 0; taken == 0 && i < SIDE; i++) {
		sets[i] = epoll_create1(EPOLL_CLOEXEC);
		ends[i] = eventfd(0, EFD_CLOEXEC);
	}
	if (taken == SIDE * SIDE) {
		return -1;
	}
	int at = taken++;
	return epoll_ctl(sets[at / SIDE], EPOLL_CTL_ADD, ends[at % SIDE], &wanted);
}

static const struct {
	const char *name;
	int (*take)(void);
	long bound;
} pools[] = {
	{"flight", take_flight, 1000}, {"signal", take_signal, 400000},
	{"queue", take_queue, 100},    {"events", take_events, 100},
	{"pipe", take_pipe, 200},      {"terminal", take_terminal, 4095},
	{"watch", take_watch, 20000},  {"event-watch", take_event_watch, 150000},
};

static size_t pool_of(const char *name) {
	size_t i = 0;
	while (i < PROBE_COUNT(pools) - 1 && strcmp(pools[i].name, name) != 0) {
		i++;
	}
	return i;
}

static int drain(int argc, char **argv) {
	(void)argc;
	size_t pool = pool_of(argv[1]);
	long taken = 0;
	/* The kernel counts flights against the sender's own limit of open files. */
	struct rlimit files;
	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	while (taken < pools[pool].bound && pools[pool].take() == 0) {
		taken++;
	}
	printf("taken=%ld\n", taken);
	fflush(stdout);
	usleep((useconds_t)probe_number(argv[2]) * 1000);
	return taken > 0 ? 0 : 1;
}

static int take_one(int argc, char **argv) {
	(void)argc;
	return probe_result(pools[pool_of(argv[1])].take());
}

/* clang-format off */
static const struct probe rows[] = {
	{"drain", 2, drain, "flight|signal|queue|events|pipe|terminal|watch|event-watch MILLISECONDS"},
	{"one", 1, take_one, "flight|signal|queue|events|pipe|terminal|watch|event-watch"},
};
/* clang-format on */

const struct probe_table probe_pools = {rows, PROBE_COUNT(rows)};
