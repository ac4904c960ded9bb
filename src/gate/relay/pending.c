/* A caller while its upstream is dialled.
 *
 * Its socket is connected to a listener that hears nothing, so the kernel keeps it pending, as
 * on the way to a host that has not answered yet; one that blocks waits in
 * connect(2), made again by the broker, which goes on with a connection that was begun.  When the
 * upstream is there, its other end comes towards it from that listener's address: both have sent a
 * SYN, they meet half-way (simultaneous open, RFC 9293 3.5), and the program has a connection that
 * was made just now.  One whose upstream refuses is refused as hosts do that (tcp_reset.c), and one
 * whose upstream does not answer gets no answer.
 *
 * Should:   let the program wait as it does without a sandbox: its signals, its own time-out
 *           and its choice of another address are the program's.
 * Must not: keep the caller's socket: as long as it has another owner it stays in the program's
 *           epoll after the program has closed it.
 * Fails:    as a connection that nobody answers; when the gate ends it is refused. */
#include "gate/relay/flow.h"

#include "gate/sockaddr.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>

static int which_of(const struct flow *f) {
	return ip_is4(&f->ip) ? 0 : 1;
}

/* One that had this port before was closed, and whoever came for it would meet this one. */
static void take_port(struct flow *f) {
	uint64_t *owner = &f->gate->held[which_of(f)][f->own_port];
	struct flow *former = flow_of(f->gate, *owner);

	if (former != NULL && former->held && former->own_port == f->own_port) {
		flow_reset(former);
	}
	*owner = flow_ticket(f);
}

/* On a loopback that is shared the port would be anybody's of the same user. */
bool pending_possible(const struct flow *f) {
	return f->caller >= 0 && !f->gate->host_loopback && f->gate->peers->hold[which_of(f)] != 0;
}

bool pending_begin(struct flow *f) {
	int which = which_of(f);
	struct wire_peers *peers = f->gate->peers;
	union sockaddr_any own;
	socklen_t len = sizeof own;

	int error = client_socket_connect(f, which, peers->hold[which]);
	if (error == 0 && getsockname(f->caller, &own.any, &len) != 0) {
		error = -errno;
	}
	if (error != 0) {
		flow_fail(f, -error);
		return false;
	}
	f->own_port = address_ip(&own, &f->own);
	take_port(f);
	tcp_reset_record_syn(f);
	peers->of[which][f->own_port] = (struct wire_peer){.ip = f->ip, .port = f->port};
	f->held = true;
	client_socket_release(f);
	if (flow_waits(f)) {
		flow_go_on(f);
	} else {
		flow_answer(f, EINPROGRESS);
	}
	return true;
}

/* True: the program knows it, or will. */
static bool is_told(const struct flow *f) {
	return f->dial_error == ETIMEDOUT || tcp_reset_send(f);
}

void pending_meet(struct flow *f) {
	int which = which_of(f);
	const struct wire w = {
		.kind = WIRE_WANT_SOCKET,
		.id = flow_ticket(f),
		.family = which == 0 ? AF_INET : AF_INET6,
		.port = f->gate->peers->hold[which],
	};

	if (f->dial_error != 0 && is_told(f)) {
		flow_reset(f);
		return;
	}
	f->phase = PHASE_MEET;
	if (f->dial_error != 0) {
		loop_close(&f->gate->loop, &f->server); /* they meet, and part at once */
	}
	(void)loop_want(&f->gate->loop, &f->server, 0); /* what it says can wait */
	(void)loop_alarm_set(&f->gate->loop, &f->alarm, MEET_MS);
	if (wire_send(f->gate->channel.fd, &w, NULL, 0) != 0) {
		flow_reset(f);
	}
}

void pending_take_socket(struct flow *f, int socket) {
	union sockaddr_any at;
	socklen_t len = address_of(&f->own, f->own_port, &at);
	auto_fd fd = socket;

	if (f->phase != PHASE_MEET) {
		return;
	}
	f->held = false;
	if (fd >= 0) {
		flow_tune(fd, true); /* before the first byte comes */
	}
	if (fd < 0 || (connect(fd, &at.any, len) != 0 && errno != EINPROGRESS)) {
		flow_reset(f);
		return;
	}
	f->client.fd = take_fd(&fd);
	if (f->dial_error != 0) {
		flow_reset(f);
		return;
	}
	flow_open(f);
}
