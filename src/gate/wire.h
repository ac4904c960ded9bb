/* SPDX-License-Identifier: Apache-2.0 */
/* The protocol between the broker, which has the seccomp notifications, and the gate, which has
 * the network.
 *
 * One struct per packet on a SOCK_SEQPACKET pair, with descriptors as SCM_RIGHTS.  EOF means that
 * the other process has ended: without a gate the broker refuses every connection, without a
 * broker the gate ends. */
#ifndef CORRAL_GATE_WIRE_H
#define CORRAL_GATE_WIRE_H

#include "base/fdpass.h"
#include "base/ip.h"

enum wire_kind {
	WIRE_SOCKETS = 1, /* to the gate: the sandbox's sockets of enum wire_socket, in that order;
			   * bit i of `flags`: socket i is there */
	WIRE_CONNECT,     /* to the gate, with the caller's socket: connect it to `to` and `port` */
	WIRE_ANSWER,      /* to the broker: the result of one CONNECT, once */
	WIRE_WANT_SOCKET, /* to the broker: make a TCP socket of `family` in the sandbox's network
			   * namespace; port not 0: bound to that port of the loopback */
	WIRE_WANT_SERVER, /* to the broker, without a network namespace: make a TCP socket of
			   * `family` and connect it to the run's own listener on `port` */
	WIRE_SOCKET,      /* to the gate: that socket; without a descriptor: it failed */
	WIRE_LISTENER,    /* to the gate, from the watcher of a container, which has no broker: a
			   * listener on `port` of the sandbox's loopback */
};

/* RELAY, PENDING and SYN are two each: IPv4, then IPv6, which a kernel may not have. */
enum wire_socket {
	WIRE_RESOLVER,    /* UDP, 127.0.0.53:53 */
	WIRE_RELAY,       /* the listener that the gate connects callers' sockets to */
	WIRE_PENDING = 3, /* a listener whose filter drops every SYN (pending.c) */
	WIRE_SYN = 5,     /* a raw socket that receives those SYNs and sends RSTs (tcp_reset.c) */
	WIRE_SOCKET_COUNT = 7,
};

#define WIRE_FDS WIRE_SOCKET_COUNT
#define WIRE_NO_FDS                                                                                \
	{ -1, -1, -1, -1, -1, -1, -1 }

struct wire {
	uint32_t kind;
	uint64_t id;     /* CONNECT, ANSWER: the broker's number for the call, never 0;
			  * WANT_SOCKET, WANT_SERVER, SOCKET: the gate's ticket of the flow */
	struct ip to;    /* CONNECT */
	uint16_t port;   /* host byte order */
	uint16_t family; /* of the socket */
	int32_t flags;   /* CONNECT: F_GETFL of the caller's socket, for O_NONBLOCK;
			  * SOCKETS: a bit set; ANSWER: an errno, 0, or WIRE_CONTINUE */
};

/* ANSWER: the handshake has begun; the broker repeats connect(2), which blocks until its end. */
#define WIRE_CONTINUE (-1)

/* The original destination of each socket that is connected to the relay, by its source port, so
 * that the broker can return it from getpeername(2).  Shared memory; written by the gate. */
struct wire_peer {
	struct ip ip;
	uint16_t port;
};

struct wire_peers {
	struct wire_peer of[2][65536]; /* IPv4, IPv6 */
	uint16_t relay[2], pending[2]; /* the listeners' ports; 0: none */
};

/* 0 or -errno; never blocks. */
int wire_send(int channel, const struct wire *w, const int *fds, size_t n);

/* Sends WIRE_ANSWER.  Blocks until the channel has room, which ends: the broker never blocks on
 * the gate.  Ignores EPIPE: a broker that has ended needs no answer. */
void wire_answer(int channel, uint64_t call, int error);

/* 1: a message, with *ret_n descriptors, close-on-exec (with none of them after EMFILE); 0: no
 * message is queued; -1: EOF, or a malformed message. */
int wire_receive(int channel, struct wire *ret, int fds[WIRE_FDS], size_t *ret_n);

#endif
