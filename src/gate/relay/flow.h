/* SPDX-License-Identifier: Apache-2.0 */
/* The gate's state, and one flow: a TCP connection of a program in the sandbox, from its connect(2)
 * to the last byte.
 *
 * A flow joins two sockets.  `client` is the gate's end of the program's connection, accepted on
 * the relay listener (client_socket.c) or made by simultaneous open (pending.c); `server` is the
 * connection to the upstream host.  Only FLOW_PUBLISH runs the other way: its client is on the
 * host, its server in the sandbox. */
#ifndef CORRAL_GATE_RELAY_FLOW_H
#define CORRAL_GATE_RELAY_FLOW_H

#include "base/auto.h"
#include "gate/gate.h"
#include "gate/scan.h"
#include "gate/dns/names.h"
#include "net/http.h"
#include "net/judge.h"
#include "gate/loop.h"
#include "gate/dns/resolver.h"
#include "net/socks.h"
#include "net/conversation.h"

#include <fcntl.h>

/* Bounds (G4). */
#define GATE_FLOWS 2048
#define GATE_LOOKUPS 512
#define GATE_PIPES 128 /* empty pipes that are kept for reuse */
#define GATE_STASHES 32
#define STASH_SIZE (HTTP_HEAD_MAX + 1024)

#define ANSWER_MS 3      /* a non-blocking connect(2) that cannot be pending is answered by then */
#define JOIN_MS 1000     /* for the broker to send the socket of a simultaneous open */
#define DIAL_MS 60000    /* connect(2) to the upstream */
#define DIAL_NEXT_MS 300 /* then a second address of the same name is dialled in parallel */
#define SILENCE_MS 60000 /* for the client's first byte, where it has to name a host */
#define HANDSHAKE_MS 10000 /* from that byte to a complete TLS hello or HTTP head */
#define UNSURE_MS 200      /* then a first line that may still become HTTP is forwarded */
#define DRAIN_MS 2000      /* after the sandbox ended, for bytes that it sent before */

/* The structure that contains a watch or an alarm. */
#define CONTAINER_OF(p, type, member) ((type *)(void *)((char *)(p)-offsetof(type, member)))

enum flow_kind {
	FLOW_DIRECT,  /* to the address in connect(2) */
	FLOW_HOST,    /* to a port of the host's loopback (--host-port) */
	FLOW_DNS,     /* to the sandbox's resolver, by TCP */
	FLOW_HTTP,    /* to the HTTP proxy */
	FLOW_SOCKS,   /* to the SOCKS proxy */
	FLOW_PUBLISH, /* from the host to a server in the sandbox (--publish) */
};

enum flow_phase {
	PHASE_FREE,
	PHASE_REQUEST, /* a proxy or DNS request is read; PUBLISH: the broker makes a socket */
	PHASE_DIAL,    /* names are resolved, the upstream is dialled */
	PHASE_JOIN,    /* the broker makes the gate's end of a pending connection (pending.c) */
	PHASE_OPEN,    /* bytes are forwarded */
};

/* One direction of a flow, forwarded with splice(2) through a pipe. */
struct direction {
	int pipe[2];     /* -1: none */
	size_t buffered; /* bytes in the pipe */
	uint64_t allow;  /* bytes that may still be read from the sender; ALLOW_ALL: no limit */
	bool fin_seen;   /* epoll reported EPOLLRDHUP: EOF follows the queued bytes, */
	bool eof;        /* it was read, */
	bool shut;       /* and shutdown(2) forwarded it to the receiver */
	bool urgent;     /* TCP urgent data is queued: splice(2) stops in front of it */
};
#define ALLOW_ALL UINT64_MAX

struct gate;

struct flow {
	struct gate *gate;
	enum flow_kind kind;
	enum flow_phase phase;
	uint32_t serial; /* tells flows apart that use this slot in turn */
	struct loop_watch client, server,
		other; /* other: a second upstream address, being dialled */
	struct loop_alarm alarm;
	struct direction up, down; /* client to server, server to client */

	/* The program's connect(2). */
	int caller;  /* its socket, until that is connected; -1 */
	uint64_t id; /* the broker's number for the call; 0: answered */
	uint16_t family;
	int flags;           /* of the caller's open file description */
	bool answer_early;   /* the alarm answers the call, before the dial has a result */
	bool pending;        /* the call was answered, the socket is in SYN-SENT (pending.c) */
	struct ip client_ip; /* pending: the source address */
	uint16_t client_port;
	uint32_t syn_seq; /* the sequence number of its SYN, */
	bool syn_seen;    /* if the raw socket has received it (tcp_reset.c) */

	/* The destination. */
	struct ip ip;
	uint16_t port;
	char name[HOSTNAME_MAX + 1]; /* "": by address */
	const struct net_rule *rule;
	struct shared_counters *entry;
	bool by_name;    /* allowed by name: TLS and HTTP must name an allowed host (inspect.c) */
	uint64_t asking; /* the question about it that waits (ask.c); 0: none */
	bool asked;      /* it was answered */
	int dial_error;
	bool tried_other; /* a second address of the name was looked for */
	struct resolver_wait lookup;
	size_t next_deny;   /* denied_names.c: the next rule of net.deny to resolve */
	bool in_lookup;     /* resolver_lookup() is on the stack: its callback must not recurse */
	const char *denial; /* a denied name has this address, or cannot be resolved; NULL */

	/* The client's bytes. */
	struct conversation talk;
	bool handshake_begun; /* the first byte of a hello or head is there: HANDSHAKE_MS runs */
	bool unsure;          /* UNSURE_MS runs: the bytes may become HTTP, or may be complete */
	uint8_t passed[CONVERSATION_UNSURE_MAX]; /* bytes forwarded while unsure, inspected again */
	size_t npassed;
	bool by_address;  /* the proxy request named an address */
	size_t low_water; /* the client's SO_RCVLOWAT */
	bool server_sent; /* at least one byte of the server was forwarded */
	struct socks socks;
	bool connects;                     /* the proxy request is CONNECT or SOCKS: a tunnel */
	size_t stash, stash_at, stash_len; /* 1 + index of a buffer with a rewritten HTTP head */

	/* scan.c: the request that the leak scanner reads. */
	struct {
		uint32_t slot;       /* 1 + its index; 0: none */
		enum scan_part part; /* of the last question */
		bool asked;          /* the answer is awaited */
		bool stalled;        /* a slot is awaited */
		bool head_clean;     /* the rewritten head of a proxy request may leave */
		bool in_line;        /* a line of SCAN_TEXT has begun */
		size_t ahead; /* inspected bytes in the client's queue that may not leave yet */
		struct http_body from;       /* the framing at the first of them */
		uint64_t clean, sent;        /* bytes of content that may leave, and that did */
		char host[HOSTNAME_MAX + 1]; /* that the request names; "": none */
		uint64_t received, interim;  /* bytes of the server; of those a 100 Continue */
	} scan;
};

/* Cache of local_address_check(), which makes system calls. */
#define LOCAL_CACHE 64
#define LOCAL_CACHE_MS 1000

struct local_address {
	struct ip ip;
	int64_t until;
	bool is_local;
};

/* One DNS query of a program (dns/server.c). */
struct lookup {
	struct gate *gate;
	struct resolver_wait wait;
	bool used;
	bool asked; /* as in struct flow */
	uint64_t asking;
	struct flow *flow; /* by TCP; NULL: by UDP */
	struct dns_question question;
	struct net_verdict verdict;
	uint8_t from[32]; /* UDP: the source address */
	uint32_t from_len;
};

struct listener {
	struct gate *gate;
	struct loop_watch watch;
	struct loop_alarm pause; /* after EMFILE the watch is off until this rings */
};

/* A listener for a port: of --publish on the host, or of a container in the sandbox. */
struct publisher {
	struct listener listener;
	uint16_t port;
};

struct gate {
	const struct net_plan *net;
	struct ledger *ledger;
	struct wire_peers *peers;
	bool host_loopback; /* no network namespace: the loopback is the host's */
	bool ending;        /* the sandbox has ended; the rest is delivered */
	uint32_t serial;    /* of the next flow */
	struct loop loop;
	struct loop_watch channel, lifeline, dns;
	struct loop_watch asker;                /* --ask; fd -1: no questions */
	bool asking;                            /* it had one: the rules of answers are below */
	struct listener relay[2];               /* IPv4, IPv6; likewise below */
	int pending_listener[2], syn_socket[2]; /* pending.c, tcp_reset.c; -1 */
	uint64_t pending_by_port[2]
				[65536]; /* tickets of pending flows by source port; may be stale */
	struct publisher publishers[GATE_PUBLISH_MAX];
	struct publisher inside[GATE_LISTENERS_MAX]; /* WIRE_LISTENER */
	size_t ninside;
	struct loop_alarm drained;
	struct resolver *resolver;
	struct dns_names names; /* the names that the resolver returned each address for */
	int route_socket;       /* of local_address.h */
	uint32_t route_seq;
	struct local_address local_cache[LOCAL_CACHE];
	size_t nflows;
	size_t free_flows[GATE_FLOWS], nfree_flows;
	struct flow flows[GATE_FLOWS];
	struct lookup lookups[GATE_LOOKUPS];
	int pipes[GATE_PIPES][2];
	size_t npipes;
	uint8_t scratch[TLS_HELLO_MAX]; /* for MSG_PEEK */
	uint8_t stash[GATE_STASHES][STASH_SIZE];
	bool stash_used[GATE_STASHES];
	bool scans, scan_holds; /* scan.net is not off; and not warn */
	struct loop_watch scanner;
	bool scan_slots[SCAN_SLOTS];      /* in use */
	size_t nasked, nstalled;          /* questions without an answer; flows without a slot */
	struct loop_alarm scan_wake;      /* a slot is free */
	uint8_t scan_text[TLS_HELLO_MAX]; /* the content of chunks */
	const struct net_plan *net_given; /* the plan's; live has the rules of answers, too */
	struct net_plan live;
	struct net_rule *live_rules;
	size_t nlive;
	int64_t live_until[GATE_LIVE_RULES]; /* 0: it does not expire */
	char live_names[GATE_LIVE_RULES][HOSTNAME_MAX + 1];
	uint64_t ask_id;
	struct gate_question asks[GATE_ASKS];
};

/* ---- flow.c ---- */

/* The caller's socket is blocking. */
static inline bool flow_waits(const struct flow *f) {
	return (f->flags & O_NONBLOCK) == 0;
}

struct flow *flow_new(struct gate *g, enum flow_kind kind); /* NULL: GATE_FLOWS are in use */

/* Answers the program's connect(2), unless that was done. */
void flow_answer(struct flow *f, int error);

/* Lets the broker repeat the connect(2), which then blocks until the pending connection is
 * established.  Not a security boundary: the network namespace has no route out (K1). */
void flow_continue(struct flow *f);

/* Ends both sockets with FIN, or with RST so that the peer sees an error and not EOF. */
void flow_close(struct flow *f);
void flow_reset(struct flow *f);

/* The same with FIN, after the gate itself has replied to the client: reads the queued bytes first,
 * because close(2) with unread bytes sends RST, and an RST can discard the reply. */
void flow_close_replied(struct flow *f);

/* The call fails with this errno; if it was answered already, the connection is reset. */
void flow_fail(struct flow *f, int error);

/* A rule refuses it: records the decision, then fails with EACCES. */
void flow_refuse(struct flow *f, enum net_op op, const struct net_verdict *v);

/* A number by which the broker's answer finds its flow; NULL if the flow has ended. */
uint64_t flow_ticket(const struct flow *f);
struct flow *flow_by_ticket(struct gate *g, uint64_t ticket);

/* f->server is connected: its events go to the flow from now on. */
void flow_reached(struct flow *f);

/* Options of a flow's socket, or of a listener whose sockets inherit them: SO_LINGER 0, so that
 * close(2) without flow_close() sends RST; keep: SO_KEEPALIVE. */
void flow_tune(int fd, bool keep);

/* SO_RCVLOWAT: EPOLLIN only when so many bytes are queued, or EOF. */
void flow_set_low_water(int fd, size_t bytes);
void flow_client_low_water(struct flow *f,
			   size_t bytes); /* the client's; no system call if unchanged */

/* EOF, an error or urgent data is queued: MSG_PEEK will not return more bytes. */
bool flow_ended(int fd);

/* Waits until more than `seen` bytes are queued.  False: EOF, so level-triggered epoll would
 * spin. */
bool flow_wait_for_more(struct flow *f, size_t seen);

/* Both sockets are connected: starts forwarding. */
void flow_open(struct flow *f);

/* Forwards as many bytes as possible in these directions; may end the flow. */
enum { STEP_UP = 1, STEP_DOWN = 2, STEP_BOTH = 3 };
void flow_step(struct flow *f, int directions);

/* WIRE_CONNECT from the broker; takes the socket; -1: it could not be received (EMFILE). */
void flow_begin(struct gate *g, const struct wire *w, int socket);

/* A connection that was accepted on a listener of WIRE_LISTENER; takes the socket. */
void flow_accepted(struct gate *g, uint16_t port, int socket);

/* Records a decision about this flow in the ledger. */
struct shared_counters *flow_record(struct flow *f, enum net_op op, enum net_outcome outcome,
				    const struct net_verdict *v);

/* ---- client_socket.c: the program's socket ---- */

/* Connects the caller's socket to the relay and answers its call; false: the flow is over. */
bool client_socket_attach(struct flow *f);

/* Connects the caller's socket to a port of the sandbox's loopback; which: 0 IPv4, 1 IPv6.
 * 0 or -errno. */
int client_socket_connect(const struct flow *f, int which, uint16_t port);

/* Closes the gate's copy of the caller's socket. */
void client_socket_release(struct flow *f);

/* A socket's local port; -1 when it has none. */
int client_socket_port(int fd);

/* ---- upstream.c: the connection to the host ---- */

/* Judges f->ip and f->port: by the rules about addresses, then by the names that the resolver
 * returned the address for.  Sets f->rule, f->by_name and f->name. */
struct net_verdict upstream_judge(struct flow *f);

/* Judges the address of connect(2), and dials it if a rule allows it. */
void upstream_open(struct flow *f);

/* Connects to f->ip and f->port, which were judged (G1). */
void upstream_connect(struct flow *f);
void upstream_timeout(struct flow *f);
void upstream_end(struct flow *f); /* cancels the look-up and the second dial */

/* Resolves f->name, judges each address, and connects to the first that is allowed. */
void upstream_connect_name(struct flow *f);

/* ---- ask.c: hosts that no rule allows ---- */

void ask_init(struct gate *g, const struct gate_setup *s);
void ask_ready(struct loop_watch *w, uint32_t events);
/* Before a name or address is judged: removes the rules of answers "once". */
void ask_expire(struct gate *g);
/* True: the supervisor decides, and the look-up or connect(2) waits. */
bool ask_lookup(struct lookup *l);
bool ask_connect(struct flow *f);
/* dns/server.c: judges the name again. */
void dns_server_resume(struct lookup *l);

/* ---- denied_names.c ---- */

/* f->ip and f->port, which upstream_judge() allowed, are dialled unless a name of net.deny has that
 * address.  Records the decision. */
void denied_names_vet(struct flow *f);

/* ---- pending.c: connect(2) in progress while the upstream is dialled ---- */

bool pending_possible(const struct flow *f);
bool pending_begin(struct flow *f);    /* answers the call; false: the flow is over */
void pending_complete(struct flow *f); /* the upstream is connected, or f->dial_error is set */
void pending_take_socket(struct flow *f, int socket); /* WIRE_SOCKET; -1: the broker has none */

/* ---- tcp_reset.c: refuses a pending connect(2) with a TCP RST ---- */

void tcp_reset_record_syn(struct flow *f); /* right after the SYN was sent */
bool tcp_reset_send(const struct flow *f); /* false: the SYN's sequence number is not known */

/* ---- splice.c ---- */

enum moved { MOVED_ALL, MOVED_BROKEN };

/* Moves bytes from one socket to the other until one of them would block. */
enum moved splice_move(struct gate *g, struct direction *dir, int from, int to,
		       uint64_t *ret_bytes);
void splice_drop(struct gate *g, struct direction *dir); /* discards buffered bytes */
void splice_release_spares(struct gate *g); /* after EMFILE: closes pipes that are kept for reuse */

/* ---- inspect.c ---- */

/* Reads the client's next bytes with MSG_PEEK and decides.  False: the flow is over. */
bool inspect(struct flow *f);

/* UNSURE_MS is over: forwards a first line of an unknown protocol. */
void inspect_unsure(struct flow *f);

/* Refuses a request that has a secret.  Returns false: the flow is over. */
bool inspect_refuse_leak(struct flow *f);

/* Reads the server's answer while the client waits (conversation_reads_server()). */
bool inspect_answer(struct flow *f);

/* ---- proxy.c ---- */

void proxy_step(struct flow *f);    /* PHASE_REQUEST of FLOW_HTTP and FLOW_SOCKS */
void proxy_dialled(struct flow *f); /* the upstream is connected, or f->dial_error is set */
bool proxy_flush(struct flow *f);   /* sends the rewritten head; false: a part is left */

/* ---- scan.c: the leak scanner reads requests of plain HTTP ---- */

void scan_open(struct flow *f);                         /* before the client's first byte is read */
void scan_ready(struct loop_watch *w, uint32_t events); /* the supervisor's answers */

/* The next bytes of the client must not be inspected now: an answer or a slot is awaited. */
bool scan_pauses(const struct flow *f);

/* inspect() has read a head or a part of a body in f->gate->scratch; `before` is the state before
 * that.  Sets f->up.allow, now or when the answer comes.  False: the flow is over. */
bool scan_request(struct flow *f, const struct conversation *before,
		  const struct conversation_result *result);

/* The rewritten head of a proxy request: true when it may leave. */
bool scan_proxy_head(struct flow *f);

/* The server's first bytes: a client that waits for 100 Continue sends its body afterwards.
 * False: the flow is over. */
bool scan_answer(struct flow *f);

/* No byte of a final answer was forwarded. */
bool scan_unanswered(const struct flow *f);

void scan_end(struct flow *f); /* the flow ends */

/* ---- dns/server.c ---- */

void dns_server_datagram(struct loop_watch *w, uint32_t events);
void dns_server_step(struct flow *f); /* FLOW_DNS */
void dns_server_forget(struct flow *f);
void dns_server_end(struct gate *g); /* records and cancels every lookup */

/* ---- listener.c ---- */

int listener_open(struct listener *l);   /* l->gate and l->watch are set before; 0 or -errno */
int listener_accept(struct listener *l); /* -1: the queue is empty, or EMFILE */

/* ---- publish.c ---- */

void publish_accept(struct loop_watch *w, uint32_t events); /* of a publisher */
void publish_socket(struct flow *f, int socket);            /* WIRE_SOCKET; -1: none */

#endif
