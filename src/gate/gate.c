/* SPDX-License-Identifier: Apache-2.0 */
/* The gate process: its start, the broker's messages, and its end.
 *
 * Should:   serve one sandbox until its broker or its supervisor ends, and then deliver
 *           the bytes that the programs have sent.
 * Must not: read a byte of a program before it is confined (confine.c).
 * Fails:    closed: it exits, the kernel resets every connection, the broker refuses new
 *           ones. */
#include "gate/gate.h"

#include "base/interrupt_timer.h"
#include "gate/sockaddr.h"
#include "gate/confine.h"
#include "gate/relay/flow.h"
#include "gate/local_address.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MESSAGES 64 /* that are read in one turn of the loop */

#define FAILED 1

/* The resolver follows struct gate in the mapping, aligned to a cache line. */
static size_t resolver_offset(void) {
	return (sizeof(struct gate) + 63) & ~(size_t)63;
}

size_t gate_size(void) {
	return resolver_offset() + resolver_size();
}

/* ---- the broker ---- */

/* Accepts and closes connections to the relay that the gate did not make: it accepts its own right
 * after connect(2) (client_socket.c). */
static void reject_strangers(struct loop_watch *w, uint32_t events) {
	struct listener *l = CONTAINER_OF(w, struct listener, watch);
	(void)events;

	for (int i = 0; i < MESSAGES; i++) {
		int fd = listener_accept(l);
		if (fd < 0) {
			return;
		}
		drop_fd(&fd);
	}
}

static void take_relay(struct gate *g, int which, int fd) {
	int port = client_socket_port(fd);

	if (port < 0) {
		drop_fd(&fd);
		return;
	}
	flow_tune(fd, true); /* accepted sockets inherit the options */
	struct listener *l = &g->relay[which];
	drop_fd(&l->watch.fd);
	loop_alarm_clear(&g->loop, &l->pause);
	*l = (struct listener){.gate = g, .watch = {.fd = fd, .ready = reject_strangers}};
	/* In a network namespace only the sandbox's own programs can connect here. */
	if (g->host_loopback) {
		(void)listener_open(l); /* on failure they stay in the accept queue */
	}
	g->peers->relay[which] = (uint16_t)port;
}

/* Its socket filter drops every SYN (linux/layers/network.c), so it is not in the epoll set. */
static void take_pending(struct gate *g, int which, int fd) {
	int port = client_socket_port(fd);

	drop_fd(&g->pending_listener[which]);
	g->pending_listener[which] = fd;
	g->peers->pending[which] = port < 0 ? 0 : (uint16_t)port;
}

static void take_resolver(struct gate *g, int fd) {
	drop_fd(&g->dns.fd);
	g->dns.fd = fd;
	g->dns.ready = dns_server_datagram;
	(void)loop_add(&g->loop, &g->dns, EPOLLIN); /* on failure no name resolves */
}

static void take_syn_socket(struct gate *g, int which, int fd) {
	drop_fd(&g->syn_socket[which]);
	g->syn_socket[which] = fd;
}

static void take_sockets(struct gate *g, const struct wire *w, int fds[WIRE_FDS], size_t n) {
	size_t at = 0;

	for (int i = 0; i < WIRE_SOCKET_COUNT; i++) {
		if ((w->flags & 1 << i) == 0 || at == n) {
			continue;
		}
		int fd = take_fd(&fds[at++]);
		if (i >= WIRE_SYN) {
			take_syn_socket(g, i - WIRE_SYN, fd);
		} else if (i >= WIRE_PENDING) {
			take_pending(g, i - WIRE_PENDING, fd);
		} else if (i >= WIRE_RELAY) {
			take_relay(g, i - WIRE_RELAY, fd);
		} else {
			take_resolver(g, fd);
		}
	}
}

static void inside_ready(struct loop_watch *w, uint32_t events) {
	struct publisher *p = CONTAINER_OF(w, struct publisher, listener.watch);
	(void)events;

	for (int i = 0; i < MESSAGES; i++) {
		int fd = listener_accept(&p->listener);
		if (fd < 0) {
			return;
		}
		flow_accepted(p->listener.gate, p->port, fd);
	}
}

/* WIRE_LISTENER: without a broker programs connect to it themselves. */
static void take_listener(struct gate *g, const struct wire *w, int fd) {
	auto_fd listener = fd;

	if (listener < 0 || g->ninside == GATE_LISTENERS_MAX) {
		return;
	}
	struct publisher *p = &g->inside[g->ninside++];
	*p = (struct publisher){
		.listener = {.gate = g, .watch = {.fd = take_fd(&listener), .ready = inside_ready}},
		.port = w->port,
	};
	(void)listener_open(&p->listener); /* on failure connections stay in the accept queue */
}

/* WIRE_SOCKET; its flow may have ended meanwhile. */
static void take_socket(struct gate *g, const struct wire *w, int fd) {
	struct flow *f = flow_by_ticket(g, w->id);
	auto_fd socket = fd;

	if (f != NULL && f->kind == FLOW_PUBLISH) {
		publish_socket(f, take_fd(&socket));
	} else if (f != NULL) {
		pending_take_socket(f, take_fd(&socket));
	}
}

static void take_message(struct gate *g, const struct wire *w, int fds[WIRE_FDS], size_t n) {
	switch ((enum wire_kind)w->kind) {
	case WIRE_SOCKETS:
		take_sockets(g, w, fds, n);
		break;
	case WIRE_CONNECT:
		flow_begin(g, w, n == 1 ? take_fd(&fds[0]) : -1);
		break;
	case WIRE_SOCKET:
		take_socket(g, w, n == 1 ? take_fd(&fds[0]) : -1);
		break;
	case WIRE_LISTENER:
		take_listener(g, w, n == 1 ? take_fd(&fds[0]) : -1);
		break;
	case WIRE_ANSWER:
	case WIRE_WANT_SOCKET:
	case WIRE_WANT_SERVER:
		break; /* the gate sends these */
	}
}

/* The sandbox has ended; bytes that it sent may still be queued. */
static void begin_end(struct gate *g) {
	g->ending = true;
	loop_drop(&g->loop, &g->channel);
	for (size_t i = 0; i < g->ninside; i++) {
		loop_alarm_clear(&g->loop, &g->inside[i].listener.pause);
		loop_close(&g->loop, &g->inside[i].listener.watch);
	}
	(void)loop_alarm_set(&g->loop, &g->drained, DRAIN_MS);
	size_t left = g->nflows; /* the pages of unused flows are not touched */
	for (size_t i = 0; i < GATE_FLOWS && left > 0; i++) {
		struct flow *f = &g->flows[i];
		left -= f->phase != PHASE_FREE;
		if (f->phase == PHASE_OPEN) {
			flow_step(f, STEP_BOTH);
		} else if (f->phase != PHASE_FREE && (f->client.fd < 0 || f->phase != PHASE_DIAL)) {
			flow_reset(f);
		}
	}
	g->loop.over = g->loop.over || g->nflows == 0;
}

static void channel_ready(struct loop_watch *w, uint32_t events) {
	struct gate *g = CONTAINER_OF(w, struct gate, channel);
	(void)events;

	for (int i = 0; i < MESSAGES; i++) {
		struct wire message;
		int fds[WIRE_FDS] = WIRE_NO_FDS;
		size_t n = 0;
		int got = wire_receive(w->fd, &message, fds, &n);

		if (got < 0) {
			begin_end(g);
			return;
		}
		if (got == 0) {
			return;
		}
		take_message(g, &message, fds, n);
		for (size_t j = 0; j < WIRE_FDS; j++) {
			drop_fd(&fds[j]);
		}
	}
}

static void lifeline_ready(struct loop_watch *w, uint32_t events) {
	struct gate *g = CONTAINER_OF(w, struct gate, lifeline);
	(void)events;

	g->loop.over = g->loop.over || !resolver_read_update(g->resolver);
}

static void drained(struct loop_alarm *a) {
	CONTAINER_OF(a, struct gate, drained)->loop.over = true;
}

/* Not _exit(), and without _Noreturn: before such a call a sanitizer makes system calls of its
 * own, which the seccomp filter kills. */
static void leave(int status) {
	for (;;) {
		(void)syscall(SYS_exit_group, status); /* does not return */
	}
}

/* ---- start ---- */

/* The relay without a network namespace: a listener on the host's loopback. */
static int listen_loopback(int family) {
	union sockaddr_any a;
	auto_fd fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	memset(&a, 0, sizeof a);
	if (family == AF_INET) {
		a.in4.sin_family = AF_INET;
		a.in4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	} else {
		a.in6.sin6_family = AF_INET6;
		a.in6.sin6_addr = in6addr_loopback;
	}
	if (fd < 0 || bind(fd, &a.any, family == AF_INET ? sizeof a.in4 : sizeof a.in6) != 0 ||
	    listen(fd, GATE_FLOWS) != 0) {
		return -1;
	}
	return take_fd(&fd);
}

static void open_publishers(struct gate *g, const struct gate_setup *s) {
	for (size_t i = 0; i < g->net->npublish && i < GATE_PUBLISH_MAX; i++) {
		struct publisher *p = &g->publishers[i];
		*p = (struct publisher){
			.listener = {.gate = g,
				     .watch = {.fd = s->publish[i], .ready = publish_accept}},
			.port = g->net->publish[i].inside,
		};
		if (s->publish[i] >= 0 && listener_open(&p->listener) != 0) {
			leave(FAILED);
		}
	}
}

static void gate_init(struct gate *g, const struct gate_setup *s) {
	g->net = s->net;
	g->ledger = s->ledger;
	g->peers = s->peers;
	g->host_loopback = s->host_loopback;
	g->drained.ring = drained;
	g->relay[0].watch.fd = g->relay[1].watch.fd = g->dns.fd = -1;
	g->pending_listener[0] = g->pending_listener[1] = g->syn_socket[0] = g->syn_socket[1] =
		g->route_socket = -1;
	for (size_t i = 0; i < GATE_FLOWS; i++) {
		g->free_flows[i] = GATE_FLOWS - 1 - i;
	}
	g->nfree_flows = GATE_FLOWS;
	g->channel = (struct loop_watch){.fd = s->channel, .ready = channel_ready};
	g->lifeline = (struct loop_watch){.fd = s->lifeline, .ready = lifeline_ready};
	ask_init(g, s);
}

static void open_scanner(struct gate *g, const struct gate_setup *s) {
	if (s->scanner < 0) {
		return;
	}
	g->scans = true;
	g->scan_holds = s->scan_holds;
	g->scanner = (struct loop_watch){.fd = s->scanner, .ready = scan_ready};
	if (loop_add(&g->loop, &g->scanner, EPOLLIN) != 0) {
		leave(FAILED);
	}
}

/* Records names that were sent to a name server and not answered before the end. */
static void record_lookups(struct gate *g) {
	dns_server_end(g);
	size_t left = g->nflows;
	for (size_t i = 0; i < GATE_FLOWS && left > 0; i++) {
		if (g->flows[i].phase != PHASE_FREE) {
			left--;
			upstream_end(&g->flows[i]);
		}
	}
}

void gate_main(struct gate *g, const struct gate_setup *s) {
	gate_init(g, s);
	if (loop_init(&g->loop) != 0 || loop_add(&g->loop, &g->channel, EPOLLIN) != 0 ||
	    loop_add(&g->loop, &g->lifeline, EPOLLIN) != 0 ||
	    (g->asker.fd >= 0 && loop_add(&g->loop, &g->asker, EPOLLIN) != 0)) {
		leave(FAILED);
	}
	if (g->host_loopback) {
		take_relay(g, 0, listen_loopback(AF_INET));
		take_relay(g, 1, listen_loopback(AF_INET6));
	}
	open_publishers(g, s);
	open_scanner(g, s);
	g->route_socket = local_address_open(); /* now: the filter allows no AF_NETLINK */
	interrupt_timer_init();                 /* client_socket.c starts it around calls */
	if (gate_confine(s->landlock_abi) != 0) {
		leave(FAILED); /* without a lock or stdio (G5) */
	}
	g->resolver = (struct resolver *)(void *)((char *)g + resolver_offset());
	resolver_init(g->resolver, &g->loop, g->net->resolv_conf, g->net->hosts);
	resolver_set_updates(g->resolver, g->lifeline.fd, s->update);
	loop_run(&g->loop);
	record_lookups(g);
	(void)close(
		g->lifeline.fd); /* the ledger is complete: gate_process_leave() reads its end */
	for (;;) {
		leave(0);
	}
}
