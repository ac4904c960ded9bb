/* Between the broker, which has the calls, and the gate, which has the network.
 *
 * A SOCK_SEQPACKET pair; a message is whole or not there.  Its end means that the
 * other side is gone: without a gate nothing is connected, without a broker the gate
 * ends. */
#ifndef CORRAL_GATE_WIRE_H
#define CORRAL_GATE_WIRE_H

#include "base/fdpass.h"
#include "base/ip.h"

enum wire_kind {
	WIRE_SOCKETS = 1, /* with descriptors, all made inside; `flags` says which, a bit for each
			   * enum wire_socket, in its order */
	WIRE_CONNECT,     /* with the caller's socket: connect it to there, answer the call */
	WIRE_ANSWER,      /* to the broker: the answer to one CONNECT, once */
	WIRE_WANT_SOCKET, /* to the broker: a TCP socket of the inside, of this family, bound to
			   * this port of the loopback unless that is 0 */
	WIRE_WANT_SERVER, /* to the broker, without a network namespace: a TCP socket of this family
			   * that is connected to the run's own server at this port */
	WIRE_SOCKET,      /* and it, or without it when there is none */
};

/* The second of each is for IPv6, which a kernel may not have. */
enum wire_socket {
	WIRE_RESOLVER, /* by UDP */
	WIRE_RELAY,    /* a listener that callers are connected to */
	WIRE_HOLD = 3, /* one that hears nothing: whoever calls there waits (pending.c) */
	WIRE_EAR = 5,  /* hears the first packets to that one, and can refuse them (tcp_reset.c) */
	WIRE_SOCKET_COUNT = 7,
};

#define WIRE_FDS WIRE_SOCKET_COUNT
#define WIRE_NO_FDS                                                                                \
	{ -1, -1, -1, -1, -1, -1, -1 }

struct wire {
	uint32_t kind;
	uint64_t id;     /* CONNECT, ANSWER: the broker's number for the call, never 0;
			  * WANT_SOCKET, SOCKET: of the asker */
	struct ip to;    /* CONNECT */
	uint16_t port;   /* in the machine's order */
	uint16_t family; /* of the socket */
	int32_t flags;   /* of its description; without O_NONBLOCK the answer may take its time;
			  * SOCKETS: which they are; ANSWER: an errno, 0, or WIRE_GO_ON */
};

/* An answer: the connection has begun, and the caller waits for it. */
#define WIRE_GO_ON (-1)

/* Where a socket that was connected to the relay wanted to go, by its own port, so
 * that getpeername(2) can say it.  Shared memory; written by the gate. */
struct wire_peer {
	struct ip ip;
	uint16_t port;
};

struct wire_peers {
	struct wire_peer of[2][65536]; /* IPv4, IPv6 */
	uint16_t relay[2], hold[2];    /* the listeners' ports; 0: there is none */
};

/* 0 or -errno, never waits; fds beyond n are not sent. */
int wire_send(int channel, const struct wire *w, const int *fds, size_t n);

/* The gate's answer to one call: waits until the broker, which never waits for the gate, has
 * room for it.  A broker that is gone needs no answer. */
void wire_answer(int channel, uint64_t call, int error);

/* 1: a message, with *ret_n descriptors, close-on-exec, or with none of them where this process
 * may not have more; 0: none is waiting; -1: the other side is gone, or sent what is no message. */
int wire_receive(int channel, struct wire *ret, int fds[WIRE_FDS], size_t *ret_n);

#endif
