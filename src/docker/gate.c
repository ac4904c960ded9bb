/* SPDX-License-Identifier: Apache-2.0 */
/* The gate of a container (container.h has the theory, data/container_start.h the messages).
 *
 * Should:   give the gate listeners of the container's loopback, and nothing else of it.
 * Must not: read from the socket after the command has begun: its first program alone writes there.
 * Fails:    closed: without all listeners the command is not executed. */
#include "docker/watcher.h"

#include "base/auto.h"
#include "base/fd.h"
#include "base/fdpass.h"
#include "base/unix_address.h"
#include "data/container_start.h"
#include "gate/gate.h"
#include "linux/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define WHERE "container"

#define PROXIES_ONLY                                                                               \
	"in a container programs reach the allowed hosts only by the HTTP and SOCKS proxies that " \
	"http_proxy and all_proxy name; they cannot resolve names or connect directly"

/* ---- the plan ---- */

static int choose_ports(struct arena *a, const struct net_plan *net, struct container_run *c,
			struct err *e) {
	static const uint16_t proxies[] = {NET_PROXY_HTTP, NET_PROXY_SOCKS};
	size_t most = ARRAY_LEN(proxies) + net->nhost_ports;

	if (most > GATE_LISTENERS_MAX) {
		(void)err_set(e, ERR_SETUP, WHERE, "net.host_ports has more than %zu ports",
			      GATE_LISTENERS_MAX - ARRAY_LEN(proxies));
		return err_fix(e, "use --backend auto, or fewer ports");
	}
	c->ports = arena_array(a, most, sizeof *c->ports);
	if (c->ports == NULL) {
		return err_memory(e, WHERE);
	}
	for (size_t i = 0; net->proxy && i < ARRAY_LEN(proxies); i++) {
		c->ports[c->nports++] = proxies[i];
	}
	for (size_t i = 0; i < net->nhost_ports; i++) {
		if (i == 0 || net->host_ports[i] != net->host_ports[i - 1]) { /* sorted */
			c->ports[c->nports++] = net->host_ports[i];
		}
	}
	return 0;
}

int container_gate(struct arena *a, const struct policy *p, const struct host *h, struct plan *plan,
		   struct container_run *c, struct err *e) {
	if (!plan->net.gate) {
		return 0;
	}
	if (h->container->start == NULL) {
		(void)err_set(e, ERR_SETUP, WHERE,
			      "the program corral, which connects a container of %s to the gate, "
			      "is not in the directory of this program",
			      engine_name(p));
		return err_fix(e, "run it as `corral run`, or use --backend auto");
	}
	plan->gate_abi = h->landlock_abi; /* the gate is a process of this host */
	if (choose_ports(a, &plan->net, c, e) != 0) {
		return -1;
	}
	if (!plan->net.proxy) {
		return 0;
	}
	if (arena_grow(a, &plan->notes, plan->nnotes, &plan->notes_cap, sizeof *plan->notes) != 0) {
		return err_memory(e, WHERE);
	}
	plan->notes[plan->nnotes++] = PROXIES_ONLY;
	return 0;
}

/* ---- before the watcher ---- */

/* By the descriptor of the directory: its path may be too long for an address. */
static int open_socket(int dir, struct err *e) {
	char path[64];
	struct sockaddr_un at;
	auto_fd fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	(void)snprintf(path, sizeof path, "/proc/self/fd/%d/" CONTAINER_SOCKET_NAME, dir);
	socklen_t len = unix_address_set(&at, path, false);
	if (fd < 0 || bind(fd, (const struct sockaddr *)&at, len) != 0 || listen(fd, 1) != 0) {
		return err_sys(e, WHERE, "cannot listen for the container's first program");
	}
	int high = fd_duplicate(fd, 10);
	return high < 0 ? err_sys(e, WHERE, "cannot duplicate a descriptor") : high;
}

int container_gate_start(const struct spawn_request *r, struct watcher *k, struct child *c,
			 struct err *e) {
	if (k->c->nports == 0 || r->rehearse) {
		return 0;
	}
	k->listen = open_socket(k->lock, e);
	if (k->listen < 0 || ledger_new(&c->ledger, e) != 0 ||
	    gate_process_start(r->plan, &r->scanner, false, c->ledger, &c->gate, e) != 0) {
		return -1;
	}
	k->gate = fd_duplicate(c->gate.broker, 10);
	if (k->gate < 0) {
		return err_sys(e, WHERE, "cannot duplicate a descriptor");
	}
	gate_process_handed(&c->gate);
	return 0;
}

/* ---- in the watcher: system calls only ---- */

static bool has_option(int fd, int option, int value) {
	int found = -1;
	socklen_t len = sizeof found;

	return getsockopt(fd, SOL_SOCKET, option, &found, &len) == 0 && found == value;
}

/* The messages of a container are not trusted. */
static bool is_listener(int fd, uint16_t port) {
	struct sockaddr_in at = {.sin_family = AF_UNSPEC};
	socklen_t len = sizeof at;

	return has_option(fd, SO_DOMAIN, AF_INET) && has_option(fd, SO_TYPE, SOCK_STREAM) &&
	       has_option(fd, SO_PROTOCOL, IPPROTO_TCP) && has_option(fd, SO_ACCEPTCONN, 1) &&
	       getsockname(fd, (struct sockaddr *)&at, &len) == 0 &&
	       at.sin_addr.s_addr == htonl(INADDR_LOOPBACK) && at.sin_port == htons(port) &&
	       fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK) == 0;
}

static bool pass_on(struct watcher *k, int fd) {
	uint16_t port = k->c->ports[k->nlisteners];
	const struct wire w = {.kind = WIRE_LISTENER, .port = port};

	if (!is_listener(fd, port) || wire_send(k->gate, &w, &fd, 1) != 0) {
		return false;
	}
	k->nlisteners++;
	return k->nlisteners < k->c->nports || send(k->start, "", 1, MSG_NOSIGNAL) == 1;
}

/* False: it was the last message.  So their number is bounded: the watcher serves nothing else
 * while messages come. */
static bool take_message(struct watcher *k, const struct container_start_message *m, int fds[],
			 size_t n) {
	if (m->error != 0) {
		k->start_error = m->error;
		return false;
	}
	return n == 1 && k->nlisteners < k->c->nports && pass_on(k, fds[0]);
}

void container_gate_accept(struct watcher *k) {
	k->start = accept4(k->listen, NULL, NULL, SOCK_CLOEXEC);
	if (k->start >= 0) {
		drop_fd(&k->listen); /* the command cannot connect */
	}
}

void container_gate_receive(struct watcher *k) {
	struct container_start_message m;
	int fds[FDPASS_MAX] = {-1, -1, -1, -1, -1, -1, -1};
	size_t n = 0;
	int got = fdpass_receive(k->start, (struct iovec){&m, sizeof m}, fds, &n);

	if (got == -EAGAIN) {
		return;
	}
	/* EOF: the command was executed, or its first program has ended. */
	if (got != 0 || !take_message(k, &m, fds, n)) {
		drop_fd(&k->start);
	}
	for (size_t i = 0; i < FDPASS_MAX; i++) {
		drop_fd(&fds[i]);
	}
}

bool container_gate_failed(const struct watcher *k) {
	return k->c->nports > 0 && (k->nlisteners < k->c->nports || k->start_error != 0);
}
