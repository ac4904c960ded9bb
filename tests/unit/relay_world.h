/* SPDX-License-Identifier: Apache-2.0 */
/* The relay of the gate in the test's own process: the test drives its loop, and acts as the
 * broker, the programs and the origin server. */
#ifndef CORRAL_TESTS_UNIT_RELAY_WORLD_H
#define CORRAL_TESTS_UNIT_RELAY_WORLD_H

#include "test.h"

#include "base/interrupt_timer.h"
#include "gate/local_address.h"
#include "gate/relay/flow.h"
#include "ledger_read.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

/* Turns of the loop, one millisecond each, until a condition counts as not met. */
#define RELAY_TURNS 5000

/* Turns after which something that must not happen has not happened: far more than the two or three
 * that the relay needs. */
#define RELAY_QUIET 50

#define RELAY_RULES 6

struct relay {
	struct net_plan net;
	struct net_rule allow[RELAY_RULES], deny[1];
	uint16_t host_ports[1];
	struct ledger *ledger;
	struct wire_peers *peers;
	struct gate *gate;
	int broker, origin, refuses;
	uint16_t port;         /* of the origin, on 127.0.0.1 */
	uint16_t refuses_port; /* connect(2) to it fails with ECONNREFUSED */
	struct loop_alarm turn;
};

/* ::ffff:127.0.0.1, and .2, to which no origin is bound. */
static const struct ip relay_ip = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1}};
static const struct ip relay_ip2 = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 2}};

/* ---- the loop ---- */

static inline void relay_turn_over(struct loop_alarm *a) {
	CONTAINER_OF(a, struct relay, turn)->gate->loop.over = true;
}

static inline void relay_turn(struct relay *w) {
	struct loop *l = &w->gate->loop;

	l->over = false;
	w->turn.ring = relay_turn_over;
	(void)loop_alarm_set(l, &w->turn, 1);
	loop_run(l);
	loop_alarm_clear(l, &w->turn);
}

/* Drives the loop until cond is true. */
#define UNTIL(w, cond)                                                                             \
	do {                                                                                       \
		for (int turn_ = 0; turn_ < RELAY_TURNS && !(cond); turn_++) {                     \
			relay_turn(w);                                                             \
		}                                                                                  \
		CHECK(cond);                                                                       \
	} while (0)

static inline void relay_rest(struct relay *w) {
	for (int i = 0; i < RELAY_QUIET; i++) {
		relay_turn(w);
	}
}

/* ---- begin and end ---- */

static inline int relay_socket(uint16_t *ret_port, bool listens) {
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof a;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof a) != 0 ||
	    (listens && listen(fd, 64) != 0) || getsockname(fd, (struct sockaddr *)&a, &len) != 0) {
		return -1;
	}
	*ret_port = ntohs(a.sin_port);
	return fd;
}

static inline struct net_rule relay_rule_ip(const struct ip *ip, int port, const char *written) {
	return (struct net_rule){.kind = NET_RULE_NETWORK,
				 .network = {.ip = *ip, .bits = 128},
				 .port = port,
				 .written = written};
}

static inline struct net_rule relay_rule_name(const char *name, int port) {
	return (struct net_rule){
		.kind = NET_RULE_NAME, .name = name, .port = port, .written = name};
}

static inline void relay_plan(struct relay *w) {
	w->allow[0] = relay_rule_ip(&relay_ip, w->port, "the origin");
	w->allow[1] = relay_rule_ip(&relay_ip, w->refuses_port, "the closed port");
	w->allow[2] = relay_rule_name("allowed.example", NET_PORT_ANY);
	w->allow[3] = relay_rule_name("elsewhere.example", NET_PORT_ANY);
	w->allow[4] = relay_rule_name("two.example", NET_PORT_ANY);
	w->net = (struct net_plan){.gate = true,
				   .mode = NET_FILTERED,
				   .allow = w->allow,
				   .nallow = 5,
				   .deny = w->deny,
				   .host_ports = w->host_ports,
				   .proxy = true,
				   .resolv_conf = "",
				   .hosts = "127.0.0.1 allowed.example two.example denied.example\n"
					    "127.0.0.2 two.example\n"
					    "192.0.2.7 elsewhere.example\n"};
}

static inline void relay_gate(struct relay *w, int channel, int relay, uint16_t relay_port) {
	struct gate *g = w->gate;

	g->net = &w->net;
	g->ledger = w->ledger;
	g->peers = w->peers;
	g->channel.fd = channel;
	g->relay[0] = (struct listener){.gate = g, .watch.fd = relay};
	g->relay[1].watch.fd = g->dns.fd = g->lifeline.fd = -1;
	g->pending_listener[0] = g->pending_listener[1] = g->syn_socket[0] = g->syn_socket[1] = -1;
	for (size_t i = 0; i < GATE_FLOWS; i++) {
		g->free_flows[i] = GATE_FLOWS - 1 - i;
	}
	g->nfree_flows = GATE_FLOWS;
	g->serial = 1;
	flow_tune(relay, true);
	w->peers->relay[0] = relay_port;
	g->route_socket = local_address_open();
	g->resolver = (struct resolver *)(void *)((char *)g + gate_size() - resolver_size());
	resolver_init(g->resolver, &g->loop, w->net.resolv_conf, w->net.hosts);
}

static inline bool relay_begin(struct relay *w) {
	struct err e = {0};
	int channel[2];
	uint16_t relay_port = 0;

	memset(w, 0, sizeof *w);
	w->origin = relay_socket(&w->port, true);
	w->refuses = relay_socket(&w->refuses_port, false);
	int relay = relay_socket(&relay_port, true);
	relay_plan(w);
	w->peers = mmap(NULL, sizeof *w->peers, PROT_READ | PROT_WRITE,
			MAP_ANONYMOUS | MAP_PRIVATE | MAP_NORESERVE, -1, 0);
	w->gate = mmap(NULL, gate_size(), PROT_READ | PROT_WRITE,
		       MAP_ANONYMOUS | MAP_PRIVATE | MAP_NORESERVE, -1, 0);
	if (w->origin < 0 || w->refuses < 0 || relay < 0 || w->peers == MAP_FAILED ||
	    w->gate == MAP_FAILED || ledger_new(&w->ledger, &e) != 0 ||
	    loop_init(&w->gate->loop) != 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel) != 0) {
		return false;
	}
	w->broker = channel[0];
	interrupt_timer_init(); /* client_socket.c starts it around calls */
	relay_gate(w, channel[1], relay, relay_port);
	return true;
}

static inline void relay_end(struct relay *w) {
	struct gate *g = w->gate;

	for (size_t i = 0; i < GATE_FLOWS; i++) {
		if (g->flows[i].phase != PHASE_FREE) {
			flow_reset(&g->flows[i]);
		}
	}
	CHECK_INT(g->nflows, 0);
	while (g->npipes > 0) {
		g->npipes--;
		drop_fd(&g->pipes[g->npipes][0]);
		drop_fd(&g->pipes[g->npipes][1]);
	}
	for (int which = 0; which < 2; which++) {
		drop_fd(&g->relay[which].watch.fd);
		drop_fd(&g->pending_listener[which]);
		drop_fd(&g->syn_socket[which]);
	}
	drop_fd(&g->dns.fd);
	drop_fd(&g->channel.fd);
	drop_fd(&g->route_socket);
	drop_fd(&g->loop.epoll);
	drop_fd(&w->broker);
	drop_fd(&w->origin);
	drop_fd(&w->refuses);
	ledger_free(w->ledger);
	(void)munmap(w->peers, sizeof *w->peers);
	(void)munmap(g, gate_size());
}

/* ---- the broker and the programs ---- */

#define RELAY_NO_ANSWER (-1000)

/* The next answer of the gate to this call. */
static inline int relay_answer(struct relay *w, uint64_t call) {
	struct wire m;
	int fds[WIRE_FDS] = WIRE_NO_FDS;
	size_t n = 0;

	if (wire_receive(w->broker, &m, fds, &n) != 1 || m.kind != WIRE_ANSWER || m.id != call) {
		return RELAY_NO_ANSWER;
	}
	return m.flags;
}

/* The same, once the gate has sent it. */
static inline int relay_await_answer(struct relay *w, uint64_t call) {
	int answer = RELAY_NO_ANSWER;

	for (int i = 0; i < RELAY_TURNS && answer == RELAY_NO_ANSWER; i++) {
		relay_turn(w);
		answer = relay_answer(w, call);
	}
	return answer;
}

/* A program calls connect(2); the result is its socket, which does not block here. */
static inline int relay_connect(struct relay *w, const struct wire *call) {
	struct wire m = *call;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	m.kind = WIRE_CONNECT;
	m.family = AF_INET;
	flow_begin(w->gate, &m, fcntl(fd, F_DUPFD_CLOEXEC, 0));
	return fd;
}

/* A blocking connect(2) to a port of 127.0.0.1, as call 1. */
static inline int relay_connect_port(struct relay *w, uint16_t port) {
	return relay_connect(w, &(struct wire){.id = 1, .to = relay_ip, .port = port});
}

static inline int relay_accept(struct relay *w) {
	return accept4(w->origin, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

/* Both ends of a TCP connection on the loopback, without the relay. */
static inline bool relay_tcp_pair(struct relay *w, int ret[2]) {
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_port = htons(w->port),
				.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	ret[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (ret[0] < 0 || connect(ret[0], (struct sockaddr *)&a, sizeof a) != 0) {
		return false;
	}
	ret[1] = relay_accept(w);
	return ret[1] >= 0 && fcntl(ret[0], F_SETFL, O_NONBLOCK) == 0;
}

/* Fills the backlog of the origin: it drops later SYNs, until it accepts.  Returns the socket. */
static inline int relay_fill_backlog(struct relay *w) {
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_port = htons(w->port),
				.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	CHECK_INT(listen(w->origin, 0), 0);
	CHECK_INT(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
	return fd;
}

/* ---- bytes ---- */

struct inbox {
	int fd;
	char text[4096]; /* NUL-terminated */
	size_t len;
	bool eof;
	int error; /* errno of recv(2) */
};

/* Reads the bytes that have arrived. */
static inline void inbox_read(struct inbox *in) {
	while (!in->eof && in->error == 0 && in->len < sizeof in->text - 1) {
		ssize_t n = recv(in->fd, in->text + in->len, sizeof in->text - 1 - in->len,
				 MSG_DONTWAIT);
		if (n < 0) {
			in->error = errno == EAGAIN ? 0 : errno;
			return;
		}
		in->eof = n == 0;
		in->len += (size_t)n;
	}
}

static inline bool inbox_has(struct inbox *in, size_t len) {
	inbox_read(in);
	return in->len >= len;
}

static inline bool inbox_ended(struct inbox *in) {
	inbox_read(in);
	return in->eof || in->error != 0;
}

static inline bool relay_send(int fd, const char *text) {
	return send(fd, text, strlen(text), MSG_NOSIGNAL) == (ssize_t)strlen(text);
}

static inline void relay_send_reset(int fd) {
	const struct linger at_once = {.l_onoff = 1};

	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
	(void)close(fd);
}

/* ---- the ledger ---- */

static inline const struct ledger_entry *relay_entry(const struct relay *w, enum net_op op,
						     enum net_outcome outcome) {
	return ledger_find(w->ledger, (int)op, outcome);
}

#endif
