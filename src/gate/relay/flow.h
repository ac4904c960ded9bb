/* Inside the gate: one connection of a program, from its call to its last byte. */
#ifndef CORRAL_GATE_RELAY_FLOW_H
#define CORRAL_GATE_RELAY_FLOW_H

#include "base/auto.h"
#include "gate/gate.h"
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
#define GATE_PIPES 128 /* spare pipes that are kept */
#define GATE_STASHES 32
#define STASH_SIZE (HTTP_HEAD_MAX + 1024)

#define HOLD_MS                                                                                    \
	3 /* one that cannot be held (pending.c) is kept in its call so long for an answer */
#define MEET_MS 1000       /* for the broker to make a socket */
#define DIAL_MS 60000      /* until an upstream that does not answer is given up */
#define DIAL_NEXT_MS 300   /* until another address of the same name is tried beside it */
#define SILENCE_MS 60000   /* a client that has not said anything, where it has to */
#define HANDSHAKE_MS 10000 /* a client that has begun to say it */
#define UNSURE_MS 200      /* a first word of which nobody knows yet what it becomes goes on then */
#define DRAIN_MS 2000      /* what the sandbox sent before its end is delivered within */

/* The structure that holds a watch or an alarm. */
#define HOLDER(p, type, member) ((type *)(void *)((char *)(p)-offsetof(type, member)))

enum flow_kind {
	FLOW_THROUGH, /* to an address that a program named */
	FLOW_HOST,    /* to a port of the host's loopback */
	FLOW_DNS,     /* to the resolver, by TCP */
	FLOW_HTTP,    /* to the HTTP proxy */
	FLOW_SOCKS,   /* to the SOCKS proxy */
	FLOW_INWARD,  /* from the host to a server inside */
};

/* MEET: a caller that is held waits for its other end */
enum flow_phase { PHASE_FREE, PHASE_ASK, PHASE_DIAL, PHASE_MEET, PHASE_OPEN };

/* One direction. */
struct way {
	int pipe[2];    /* -1: none */
	size_t held;    /* bytes in it */
	uint64_t allow; /* bytes that may still be taken; WAY_OPEN: all */
	bool ends;      /* the sender has said its last, */
	bool ended;     /* and that was taken */
	bool shut;      /* and the receiver was told */
	bool urgent;    /* a byte of it is marked so: splice(2) does not go past that */
};
#define WAY_OPEN UINT64_MAX

struct gate;

struct flow {
	struct gate *gate;
	enum flow_kind kind;
	enum flow_phase phase;
	uint32_t serial;                         /* which of those that had this place */
	struct loop_watch client, server, other; /* other: a second address that is being dialled */
	struct loop_alarm alarm;
	struct way up, down;

	/* the call */
	int caller;  /* the program's socket until it is connected; -1 */
	uint64_t id; /* the broker's number for the call; 0: answered */
	uint16_t family;
	int flags;     /* of the caller's description */
	bool held;     /* answered; the socket is the program's alone, and pending */
	struct ip own; /* its own address then */
	uint16_t own_port;
	uint32_t first; /* the number of its first packet */
	bool heard;     /* and whether that is known */

	/* where to */
	struct ip ip;
	uint16_t port;
	char name[HOSTNAME_MAX + 1]; /* "": by address */
	const struct net_rule *rule;
	struct ledger_entry *entry;
	bool by_name; /* what it says must agree with a name */
	int dial_error;
	bool tried_other; /* address of the name */
	struct resolver_wait lookup;
	size_t denies;      /* rules of net.deny whose names were asked about */
	bool asking;        /* about one of them, in this very call */
	const char *denial; /* one of them has the address, or nobody knows; NULL */

	/* what it says */
	struct conversation talk;
	bool spoken; /* the first byte came */
	bool unsure; /* what came may become a request, and may be all that comes */
	uint8_t passed[CONVERSATION_UNSURE_MAX]; /* the part of the first word that went on already
						  */
	size_t npassed;
	bool by_address; /* a proxy was asked for an address */
	size_t low;      /* the client's SO_RCVLOWAT */
	bool heard_back; /* the server has said something */
	struct socks socks;
	bool connects; /* the proxy was asked for a tunnel */
	size_t stash, stash_at,
		stash_len; /* 1 + number of a buffer with a head that was rewritten */
};

/* Whether an address is this host's own, which is asked of the kernel once a second. */
#define OWN_KNOWN 64
#define OWN_MS 1000

struct local_address {
	struct ip ip;
	int64_t until;
	bool own;
};

struct lookup {
	struct gate *gate;
	struct resolver_wait wait;
	bool used;
	struct flow *flow; /* by TCP; NULL: by UDP */
	struct dns_question question;
	struct net_verdict verdict;
	uint8_t from[32];
	uint32_t from_len;
};

struct listener {
	struct gate *gate;
	struct loop_watch watch;
	struct loop_alarm pause; /* no descriptor was to be had: nobody watches it until then */
};

/* A port of the host behind which there is one of the inside. */
struct publisher {
	struct listener listener;
	uint16_t port;
};

struct gate {
	const struct net_plan *net;
	struct ledger *ledger;
	struct wire_peers *peers;
	bool host_loopback; /* no network namespace: the loopback is the host's */
	bool ending;
	uint32_t serial; /* of flows */
	struct loop loop;
	struct loop_watch channel, lifeline, dns;
	struct listener relay[2];
	int hold[2], ear[2];     /* a listener that hears nothing, and who hears for it; -1 */
	uint64_t held[2][65536]; /* who waits there, by its own port: tickets, some of them old */
	struct publisher publishers[GATE_PUBLISH_MAX];
	struct loop_alarm drained;
	struct resolver *resolver;
	struct dns_names given;
	int routes; /* local_address.h's */
	uint32_t route_questions;
	struct local_address own[OWN_KNOWN];
	size_t nflows;
	size_t free_flows[GATE_FLOWS], nfree_flows;
	struct flow flows[GATE_FLOWS];
	struct lookup lookups[GATE_LOOKUPS];
	int pipes[GATE_PIPES][2];
	size_t npipes;
	uint8_t scratch[TLS_HELLO_MAX]; /* a look at what a client says */
	uint8_t stash[GATE_STASHES][STASH_SIZE];
	bool stash_used[GATE_STASHES];
};

/* ---- flow.c ---- */

/* The caller blocks until it has its answer. */
static inline bool flow_waits(const struct flow *f) {
	return (f->flags & O_NONBLOCK) == 0;
}

struct flow *flow_new(struct gate *g, enum flow_kind kind); /* NULL: too many */

/* The last word to the program where it waits for one. */
void flow_answer(struct flow *f, int error);

/* The kernel goes on with the call.  Protects nothing: inside there is no way out (K1). */
void flow_go_on(struct flow *f);

/* As close(2), or as a reset that the other side can tell from an end. */
void flow_close(struct flow *f);
void flow_reset(struct flow *f);

/* The call fails, or the connection that it made is reset. */
void flow_fail(struct flow *f, int error);

/* Refused by a rule: the decision is written down, the call fails. */
void flow_refuse(struct flow *f, enum net_op op, const struct net_verdict *v);

/* A number for an answer that comes later, and whom it is for: NULL when that is over. */
uint64_t flow_ticket(const struct flow *f);
struct flow *flow_of(struct gate *g, uint64_t ticket);

/* The upstream is there: from now on its events are the flow's. */
void flow_reached(struct flow *f);

/* What a socket of a flow, or a listener for such, is set to: a close that flow_close() did not
 * make is a reset; keep: a silent end is noticed. */
void flow_tune(int fd, bool keep);

/* The loop tells of it when so many bytes are there, or no more will be. */
void flow_low_water(int fd, size_t bytes);
void flow_low(struct flow *f, size_t bytes); /* the client's, where it is another */

/* It is over, or there is an urgent byte, which no look goes past. */
bool flow_ended(int fd);

/* Waits until the client has said more than that; false: it will not, and an end would be
 * told without end. */
bool flow_more(struct flow *f, size_t seen);

/* Both ends are there. */
void flow_open(struct flow *f);

/* Moves what can be moved these ways; may end the flow. */
enum { STEP_UP = 1, STEP_DOWN = 2, STEP_BOTH = 3 };
void flow_step(struct flow *f, int ways);

/* A new program's call; takes the socket; -1: there was no room for it. */
void flow_begin(struct gate *g, const struct wire *w, int socket);

/* ---- client_socket.c: the program's socket ---- */

/* Connects the caller's socket to the relay and answers its call; false: the flow is over. */
bool client_socket_attach(struct flow *f);

/* Connects the caller's socket to a port of the loopback inside; 0 or -errno. */
int client_socket_connect(const struct flow *f, int which, uint16_t port);

/* The caller's socket is the program's alone again. */
void client_socket_release(struct flow *f);

/* A socket's own port; -1 when it has none. */
int client_socket_port(int fd);

/* Records a decision about this flow in the ledger. */
struct ledger_entry *flow_record(struct flow *f, enum net_op op, enum net_outcome outcome,
				 const struct net_verdict *v);

/* ---- upstream.c ---- */

/* Judges f->ip and f->port: by the rules about addresses, then by the names that the address
 * was given for.  Sets what the flow has to agree with. */
struct net_verdict upstream_judge(struct flow *f);

/* A program's address is judged, and dialled if a rule allows it. */
void upstream_open(struct flow *f);

/* f->ip and f->port were allowed by upstream_judge(): unless a denied name leads there too, they
 * are dialled.  Writes the decision down. */
void denied_names_vet(struct flow *f);

/* To f->ip and f->port, which were judged (G1). */
void upstream_connect(struct flow *f);
void upstream_timeout(struct flow *f);
void upstream_end(struct flow *f); /* forgets what is under way */

/* To f->name, resolved now; judged address by address. */
void upstream_connect_name(struct flow *f);

/* ---- pending.c: a caller while its upstream is dialled ---- */

bool pending_possible(const struct flow *f);
bool pending_begin(struct flow *f); /* answers its call; false: the flow is over */
void pending_meet(struct flow *f);  /* the upstream is there, or f->dial_error says why not */
void pending_take_socket(struct flow *f, int socket); /* which the broker made for it; -1: none */

/* ---- tcp_reset.c: how a caller that is held is refused ---- */

void tcp_reset_record_syn(struct flow *f); /* its first packet was sent just now */
bool tcp_reset_send(
	const struct flow *f); /* as a host does that has no such port; false: not possible */

/* ---- splice.c ---- */

enum moved { MOVED_ALL, MOVED_BROKEN };

/* From one end to the other as much as goes. */
enum moved splice_move(struct gate *g, struct way *way, int from, int to, uint64_t *ret_bytes);
void splice_drop(struct gate *g, struct way *way); /* what it holds is lost */
void splice_release_spares(
	struct gate *g); /* no descriptor was to be had: spare pipes give theirs */

/* ---- inspect.c ---- */

/* Looks at what the client said next.  False: the flow is over. */
bool inspect(struct flow *f);

/* A first word that nobody could place goes on. */
void inspect_unsure(struct flow *f);

/* Bytes that the server said, before the client may go on (conversation_waits()). */
bool inspect_answer(struct flow *f);

/* ---- proxy.c ---- */

void proxy_step(struct flow *f);    /* PHASE_ASK of FLOW_HTTP and FLOW_SOCKS */
void proxy_dialled(struct flow *f); /* the upstream is there, or f->dial_error says why not */
bool proxy_flush(struct flow *f);   /* the rewritten head goes first; false: not all of it yet */

/* ---- server.c ---- */

void dns_server_datagram(struct loop_watch *w, uint32_t events);
void dns_server_step(struct flow *f); /* FLOW_DNS */
void dns_server_forget(struct flow *f);
void dns_server_end(struct gate *g); /* nobody waits for what was asked */

/* ---- listener.c ---- */

int listener_open(struct listener *l);   /* l->gate and l->watch are set before; 0 or -errno */
int listener_accept(struct listener *l); /* -1: nobody, or no descriptor */

/* ---- publish.c ---- */

void publish_accept(struct loop_watch *w, uint32_t events); /* of a publisher */
void publish_socket(struct flow *f, int socket);

#endif
