/* Should:   serve one sandbox until its broker or its supervisor ends, and then deliver
 *           what its programs have sent.
 * Must not: read a byte of a program before it is confined.
 * Fails:    closed: it exits, every connection is reset, the broker refuses new ones. */
#include "gate/gate.h"

#include "gate/sockaddr.h"
#include "gate/confine.h"
#include "gate/relay/flow.h"
#include "gate/local_address.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MESSAGES 64 /* of one turn */

#define FAILED 1

/* Behind the gate in its mapping. */
static size_t resolver_offset(void) {
	return (sizeof(struct gate) + 63) & ~(size_t)63;
}

size_t gate_size(void) {
	return resolver_offset() + resolver_size();
}

/* ---- the broker ---- */

/* Whom the gate connects it accepts at once; whoever else comes is turned away. */
static void strangers(struct loop_watch *w, uint32_t events) {
	struct listener *l = HOLDER(w, struct listener, watch);
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
	flow_tune(fd, true); /* whom it accepts inherits that */
	struct listener *l = &g->relay[which];
	drop_fd(&l->watch.fd);
	loop_alarm_clear(&g->loop, &l->pause);
	*l = (struct listener){.gate = g, .watch = {.fd = fd, .ready = strangers}};
	/* In a namespace of its own a program harms itself alone. */
	if (g->host_loopback) {
		(void)listener_open(l); /* or they wait in the queue */
	}
	g->peers->relay[which] = (uint16_t)port;
}

/* It hears nothing, so nobody listens to it. */
static void take_hold(struct gate *g, int which, int fd) {
	int port = client_socket_port(fd);

	drop_fd(&g->hold[which]);
	g->hold[which] = fd;
	g->peers->hold[which] = port < 0 ? 0 : (uint16_t)port;
}

static void take_resolver(struct gate *g, int fd) {
	drop_fd(&g->dns.fd);
	g->dns.fd = fd;
	g->dns.ready = dns_server_datagram;
	(void)loop_add(&g->loop, &g->dns, EPOLLIN); /* names do not resolve without */
}

static void take_ear(struct gate *g, int which, int fd) {
	drop_fd(&g->ear[which]);
	g->ear[which] = fd;
}

static void take_sockets(struct gate *g, const struct wire *w, int fds[WIRE_FDS], size_t n) {
	size_t at = 0;

	for (int i = 0; i < WIRE_SOCKET_COUNT; i++) {
		if ((w->flags & 1 << i) == 0 || at == n) {
			continue;
		}
		int fd = take_fd(&fds[at++]);
		if (i >= WIRE_EAR) {
			take_ear(g, i - WIRE_EAR, fd);
		} else if (i >= WIRE_HOLD) {
			take_hold(g, i - WIRE_HOLD, fd);
		} else if (i >= WIRE_RELAY) {
			take_relay(g, i - WIRE_RELAY, fd);
		} else {
			take_resolver(g, fd);
		}
	}
}

/* Whoever asked for it may be gone. */
static void take_socket(struct gate *g, const struct wire *w, int fd) {
	struct flow *f = flow_of(g, w->id);
	auto_fd socket = fd;

	if (f != NULL && f->kind == FLOW_INWARD) {
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
	case WIRE_ANSWER:
	case WIRE_WANT_SOCKET:
	case WIRE_WANT_SERVER:
		break; /* are the gate's own */
	}
}

/* Nobody is left inside.  What they sent is still on its way. */
static void end(struct gate *g) {
	g->ending = true;
	loop_drop(&g->loop, &g->channel);
	(void)loop_alarm_set(&g->loop, &g->drained, DRAIN_MS);
	for (size_t i = 0; i < GATE_FLOWS; i++) {
		struct flow *f = &g->flows[i];
		if (f->phase == PHASE_OPEN) {
			flow_step(f, STEP_BOTH);
		} else if (f->phase != PHASE_FREE && (f->client.fd < 0 || f->phase != PHASE_DIAL)) {
			flow_reset(f);
		}
	}
	g->loop.over = g->loop.over || g->nflows == 0;
}

static void channel_ready(struct loop_watch *w, uint32_t events) {
	struct gate *g = HOLDER(w, struct gate, channel);
	(void)events;

	for (int i = 0; i < MESSAGES; i++) {
		struct wire message;
		int fds[WIRE_FDS] = WIRE_NO_FDS;
		size_t n = 0;
		int got = wire_receive(w->fd, &message, fds, &n);

		if (got < 0) {
			end(g);
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
	struct gate *g = HOLDER(w, struct gate, lifeline);
	(void)events;

	g->loop.over = g->loop.over || !resolver_told(g->resolver);
}

static void drained(struct loop_alarm *a) {
	HOLDER(a, struct gate, drained)->loop.over = true;
}

/* Not _exit(), and not said to return never: before such a call a sanitizer makes others of
 * its own, which the filter ends. */
static void leave(int status) {
	for (;;) {
		(void)syscall(SYS_exit_group, status); /* does not return */
	}
}

/* ---- start ---- */

/* Without a namespace the relay is here, for those whom the broker sends. */
static int listen_here(int family) {
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

static void publish_here(struct gate *g, const struct gate_setup *s) {
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

/* It interrupts what waits (client_socket.c), and that is all. */
static void hear_timer(int number) {
	(void)number;
}

static int take_timer(void) {
	struct sigaction action = {.sa_handler = hear_timer}; /* without SA_RESTART */
	sigset_t timer;

	sigemptyset(&timer);
	sigaddset(&timer, SIGALRM);
	if (sigaction(SIGALRM, &action, NULL) != 0) {
		return -1;
	}
	return (int)syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &timer, NULL, _NSIG / 8);
}

static void gate_init(struct gate *g, const struct gate_setup *s) {
	g->net = s->net;
	g->ledger = s->ledger;
	g->peers = s->peers;
	g->host_loopback = s->host_loopback;
	g->drained.ring = drained;
	g->relay[0].watch.fd = g->relay[1].watch.fd = g->dns.fd = -1;
	g->hold[0] = g->hold[1] = g->ear[0] = g->ear[1] = g->routes = -1;
	for (size_t i = 0; i < GATE_FLOWS; i++) {
		g->free_flows[i] = GATE_FLOWS - 1 - i;
	}
	g->nfree_flows = GATE_FLOWS;
	g->channel = (struct loop_watch){.fd = s->channel, .ready = channel_ready};
	g->lifeline = (struct loop_watch){.fd = s->lifeline, .ready = lifeline_ready};
}

/* What was asked about is recorded although no answer came before the end. */
static void note_asked(struct gate *g) {
	dns_server_end(g);
	for (size_t i = 0; i < GATE_FLOWS; i++) {
		if (g->flows[i].phase != PHASE_FREE) {
			upstream_end(&g->flows[i]);
		}
	}
}

void gate_main(struct gate *g, const struct gate_setup *s) {
	gate_init(g, s);
	if (loop_init(&g->loop) != 0 || loop_add(&g->loop, &g->channel, EPOLLIN) != 0 ||
	    loop_add(&g->loop, &g->lifeline, EPOLLIN) != 0) {
		leave(FAILED);
	}
	if (g->host_loopback) {
		take_relay(g, 0, listen_here(AF_INET));
		take_relay(g, 1, listen_here(AF_INET6));
	}
	publish_here(g, s);
	g->routes = local_address_open(); /* now: the filter knows no such socket */
	if (take_timer() != 0 || gate_confine(s->landlock_abi) != 0) {
		leave(FAILED);
	}
	g->resolver = (struct resolver *)(void *)((char *)g + resolver_offset());
	resolver_init(g->resolver, &g->loop, g->net->resolv_conf, g->net->hosts);
	resolver_hear(g->resolver, g->lifeline.fd, s->news);
	loop_run(&g->loop);
	note_asked(g);
	for (;;) {
		leave(0);
	}
}
