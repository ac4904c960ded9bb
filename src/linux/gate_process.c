/* SPDX-License-Identifier: Apache-2.0 */
/* Clones the gate's process, opens the listeners of --publish for it, and waits for its end.
 *
 * Should:   give the gate its channel, its ledger, its lifeline to the supervisor and its
 *           listeners, and no other descriptor of the caller's.
 * Must not: run code of libc in the gate's process beyond system calls: the caller may
 *           have threads.
 * Fails:    closed: without a gate the sandbox is not cloned. */
#include "linux/gate_process.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/signal_mask.h"
#include "linux/kernel_api.h"
#include "linux/signals_reset.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* Connections that may queue on a published port. */
#define BACKLOG 128

/* Longer than the gate takes to deliver its queued data. */
#define END_MS 5000

/* SO_SNDBUF: many connects may wait for the gate at once. */
#define CHANNEL_ROOM (1024 * 1024)

#define WHERE "gate"

static void *map(size_t size, int flags) {
	void *place = mmap(NULL, size, PROT_READ | PROT_WRITE,
			   MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);

	return place == MAP_FAILED ? NULL : place;
}

static void unmap(void *place, size_t size) {
	if (place != NULL) {
		(void)munmap(place, size); /* it is a mapping of this size */
	}
}

/* ---- published ports ---- */

static int listen_at(uint16_t port, struct err *e) {
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
	const int on = 1;
	auto_fd fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
	    bind(fd, (struct sockaddr *)&at, sizeof at) != 0 || listen(fd, BACKLOG) != 0) {
		char text[8];
		(void)snprintf(text, sizeof text, "%u", port);
		(void)err_sys_at(e, WHERE, "cannot listen on 127.0.0.1 for --publish, port", text);
		return e->sys == EADDRINUSE
			       ? err_fix(e, "another program uses the port; find it with ss -ltnp, "
					    "or use another port: --publish PORT:HOSTPORT")
			       : -1;
	}
	return take_fd(&fd);
}

/* Without a network namespace the command's server listens on the host's loopback itself. */
static bool needs_listener(const struct plan *plan, const struct net_publish *p) {
	return !plan_lacks_namespaces(plan) || p->inside != p->outside;
}

static int open_published(const struct plan *plan, struct gate_setup *s, struct err *e) {
	if (plan->net.npublish > GATE_PUBLISH_MAX) {
		return err_set(e, ERR_USAGE, WHERE, "net.publish has more than %d ports",
			       GATE_PUBLISH_MAX);
	}
	for (size_t i = 0; i < plan->net.npublish; i++) {
		if (!needs_listener(plan, &plan->net.publish[i])) {
			continue;
		}
		s->publish[i] = listen_at(plan->net.publish[i].outside, e);
		if (s->publish[i] < 0) {
			return -1;
		}
	}
	return 0;
}

/* ---- the process ---- */

static void keep_descriptors(const struct gate_setup *s) {
	int kept[4 + GATE_PUBLISH_MAX] = {s->channel, s->lifeline, s->scanner, s->asker};

	memcpy(kept + 4, s->publish, sizeof s->publish);
	fd_close_all_but(kept, ARRAY_LEN(kept)); /* opens none: RLIMIT_NOFILE may be reached */
}

static _Noreturn void become_gate(struct gate *g, struct gate_setup *s) {
	signals_reset();
	(void)setsid(); /* out of the caller's process group and its signals */
	keep_descriptors(s);
	gate_main(g, s);
}

static long clone_gate(int *ret_pidfd) {
	return syscall(SYS_clone, CLONE_PIDFD, NULL, ret_pidfd, NULL, NULL);
}

static int start_process(struct gate *g, struct gate_setup *s, struct gate_process *ret,
			 struct err *e) {
	int pidfd = -1;
	sigset_t all, before;

	/* Signals stay blocked until the child has reset the caller's handlers. */
	sigfillset(&all);
	signal_mask(SIG_SETMASK, &all, &before);
	long pid = clone_gate(&pidfd);
	if (pid == 0) {
		become_gate(g, s);
	}
	int error = errno;
	signal_mask(SIG_SETMASK, &before, NULL);
	if (pid < 0) {
		errno = error;
		return err_sys(e, WHERE, "the kernel refused to create the gate's process");
	}
	ret->pidfd = pidfd;
	return 0;
}

static int open_channels(struct gate_setup *s, struct gate_process *ret, struct err *e) {
	int channel[2], line[2];
	const int room = CHANNEL_ROOM;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel) != 0) {
		return err_sys(e, WHERE, "cannot create the gate's channel");
	}
	s->channel = channel[0];
	ret->broker = channel[1];
	/* The kernel caps it at net.core.wmem_max. */
	(void)setsockopt(ret->broker, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, line) != 0) {
		return err_sys(e, WHERE, "cannot create the gate's lifeline");
	}
	s->lifeline = line[0];
	ret->resolv_watch.line = line[1];
	return 0;
}

static int open_scanner(const struct plan *plan, struct gate_setup *s, struct gate_process *ret,
			struct err *e) {
	int line[2];

	if (plan->scan_net == LEAK_OFF) {
		return 0;
	}
	if (ret->scanner.serve == NULL ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, line) != 0) {
		return err_sys(e, WHERE, "cannot create the channel of the leak scanner");
	}
	s->scanner = line[0];
	s->scan_holds = plan->scan_net > LEAK_WARN;
	ret->scan_line = line[1];
	return 0;
}

/* The list of rules gets room for those of the user's answers. */
static int open_asker(const struct plan *plan, struct gate_setup *s, struct gate_process *ret,
		      struct err *e) {
	const struct net_plan *net = &plan->net;
	int line[2];

	s->live_rules = map((net->nallow + GATE_LIVE_RULES) * sizeof *s->live_rules, MAP_PRIVATE);
	if (s->live_rules == NULL ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, line) != 0) {
		return err_sys(e, WHERE, "cannot create the channel of --ask");
	}
	if (net->nallow > 0) {
		memcpy(s->live_rules, net->allow, net->nallow * sizeof *net->allow);
	}
	s->asker = line[0];
	ret->ask_line = line[1];
	return 0;
}

static void close_setup(struct gate_setup *s) {
	drop_fd(&s->channel);
	drop_fd(&s->lifeline);
	drop_fd(&s->scanner);
	drop_fd(&s->asker);
	unmap(s->live_rules, (s->net->nallow + GATE_LIVE_RULES) * sizeof *s->live_rules);
	for (size_t i = 0; i < GATE_PUBLISH_MAX; i++) {
		drop_fd(&s->publish[i]);
	}
}

int gate_process_start(const struct plan *plan, const struct gate_scanner *scanner, bool asks,
		       struct ledger *ledger, struct gate_process *ret, struct err *e) {
	struct gate_process k = GATE_PROCESS_NONE;
	struct gate_setup s = {
		.net = &plan->net,
		.ledger = ledger,
		.host_loopback = plan_lacks_namespaces(plan),
		.landlock_abi = plan->gate_abi,
		.channel = -1,
		.lifeline = -1,
		.scanner = -1,
		.asker = -1,
	};

	for (size_t i = 0; i < GATE_PUBLISH_MAX; i++) {
		s.publish[i] = -1;
	}
	struct gate *g = map(gate_size(), MAP_PRIVATE);
	k.peers = map(sizeof *k.peers, MAP_SHARED);
	k.resolv_watch.update = map(sizeof *k.resolv_watch.update, MAP_SHARED);
	k.resolv_watch.net = &plan->net;
	if (g == NULL || k.peers == NULL || k.resolv_watch.update == NULL) {
		(void)err_sys(e, WHERE, "cannot map the gate's memory");
		goto failed;
	}
	s.peers = k.peers;
	s.update = k.resolv_watch.update;
	k.scanner = *scanner;
	if (open_channels(&s, &k, e) != 0 || open_scanner(plan, &s, &k, e) != 0 ||
	    (asks && net_has_names(&plan->net) && open_asker(plan, &s, &k, e) != 0) ||
	    open_published(plan, &s, e) != 0 || start_process(g, &s, &k, e) != 0) {
		goto failed;
	}
	unmap(g, gate_size()); /* MAP_PRIVATE: the gate has its own copy */
	close_setup(&s);
	*ret = k;
	return 0;

failed:
	unmap(g, gate_size());
	close_setup(&s);
	gate_process_end(&k);
	return -1;
}

void gate_process_handed(struct gate_process *k) {
	drop_fd(&k->broker);
}

void gate_process_kill(const struct gate_process *k) {
	if (k->pidfd >= 0) {
		(void)syscall(SYS_pidfd_send_signal, k->pidfd, SIGKILL, NULL, 0); /* or gone */
	}
}

void gate_process_scan_poll(const struct gate_process *k, struct pollfd *slot) {
	*slot = (struct pollfd){.fd = k->scan_line, .events = POLLIN};
}

void gate_process_scan_step(struct gate_process *k, const struct pollfd *slot) {
	if ((slot->revents & POLLIN) != 0) {
		k->scanner.serve(k->scanner.arg, k->scan_line);
	} else if (slot->revents != 0) {
		drop_fd(&k->scan_line); /* the gate has ended */
	}
}

/* Waits for the exit, or for the end of the lifeline (`line`; -1: not).  The last requests may
 * still have to be scanned. */
static void wait_exit(struct gate_process *k, int line) {
	int64_t until = clock_ms() + END_MS;

	for (int64_t left = END_MS; left > 0; left = until - clock_ms()) {
		struct pollfd slots[3] = {{.fd = k->pidfd, .events = POLLIN},
					  {.fd = line}}; /* POLLHUP needs no request */
		gate_process_scan_poll(k, &slots[2]);
		int n = poll(slots, ARRAY_LEN(slots), (int)left);
		if (n > 0 && slots[0].revents == 0 && slots[1].revents == 0) {
			gate_process_scan_step(k, &slots[2]);
		} else if (n >= 0 || errno != EINTR) {
			return;
		}
	}
}

static void reap(struct gate_process *k) {
	siginfo_t info;

	while (syscall(SYS_waitid, WAIT_PIDFD, k->pidfd, &info, WEXITED | __WALL, NULL) != 0 &&
	       errno == EINTR) {
	}
}

static void end(struct gate_process *k, bool leave) {
	drop_fd(&k->broker);
	if (k->pidfd >= 0) {
		wait_exit(k, leave ? k->resolv_watch.line : -1);
		/* Usually it has exited, or is about to. */
		(void)syscall(SYS_pidfd_send_signal, k->pidfd, SIGKILL, NULL, 0);
		if (!leave) {
			reap(k);
		}
		drop_fd(&k->pidfd);
	}
	drop_fd(&k->resolv_watch.line);
	drop_fd(&k->scan_line);
	drop_fd(&k->ask_line);
	unmap(k->peers, sizeof *k->peers);
	unmap(k->resolv_watch.update, sizeof *k->resolv_watch.update);
	k->peers = NULL;
	k->resolv_watch.update = NULL;
}

void gate_process_end(struct gate_process *k) {
	end(k, false);
}

void gate_process_leave(struct gate_process *k) {
	end(k, true);
}
