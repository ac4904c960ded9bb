/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
/* The state machine that inspects a connection to a name: TLS, HTTP/1, WebSocket or another protocol.
 *
 * Pure: bytes in, a verdict out; the caller (gate/relay/inspect.c) judges the host names and forwards
 * the bytes.  A byte of the client is forwarded once a state has read it, and each byte is read in one
 * state only.
 *
 *   state    bytes that are read         next state
 *   FIRST    the client's first bytes    HELLO   a TLS ClientHello: the caller judges its server name
 *                                        OPAQUE  a protocol that is neither TLS nor HTTP, on ports other
 *                                                than 80 and 443
 *                                        as HEAD any bytes that a lenient server could take for a request
 *                                        refused HTTP/2 without TLS; a ClientHello that contains a request;
 *                                                on ports 80 and 443: any other protocol
 *   HELLO    the server's answer; the    OPAQUE  it begins like TLS
 *            client waits                OVER    EOF without an answer
 *                                        refused any other answer: this server does not speak TLS
 *   HEAD     one request's head; the     BODY    it has a body
 *            caller judges its host      SWITCH  it has an Upgrade (see below)
 *                                        HEAD    otherwise: the next request
 *                                        refused a head that two servers could read in two ways (http.h)
 *   BODY     that request's body         HEAD    at its end, to the byte
 *                                        OVER    the same, after the one request that a proxy serves
 *                                        refused broken chunks; bytes that begin like a request, which a
 *                                                server that ignores bodies would serve (http_scan)
 *   SWITCH   the server's answer; the    SOCKET  101, and Sec-WebSocket-Accept is the digest of this
 *            client waits                        request's key: WebSocket from here on
 *                                        HEAD    another status: the protocol stays
 *                                        refused 101 to a protocol that cannot be inspected, or without
 *                                                that digest
 *   SOCKET   headers of the client's     SOCKET  after each frame; the payload is not inspected
 *            frames                      refused bytes that are no client frame (reason: websocket.c)
 *   OPAQUE   none; all bytes pass
 *   OVER     none; no byte passes
 *
 * Request and answer belong together: answers are read in SWITCH only, and the machine enters SWITCH
 * only with the first request of a connection on which the server has sent nothing.  So the first
 * answer of the connection (after 100 to 199, which are heads without a body) is the answer to that
 * request, and no byte of an earlier answer's body can be taken for it.  An Upgrade in a later request,
 * or in one that has a body, is forwarded and switches nothing here: HEAD reads the client's next bytes
 * as a request, even if the server answers 101.
 *
 * The early verdicts, and why they may be early:
 *   - OPAQUE after a hello and its answer: the rest is encrypted, or a TLS server rejects it; a server
 *     that reads requests there, and takes any bytes for a method, has received the hello only;
 *   - OPAQUE for another protocol: http_sniff() returns BAD only for bytes that no server takes for a
 *     request, with any number of blank lines before them; otherwise it waits for the end of the first
 *     line, unless 64 bytes are there whose first word contains a character that no method has (XMPP and
 *     JSON send no newline) or that word contains a control character (binary protocols send none
 *     either);
 *   - HEAD after a status other than 101: RFC 9110, 15.2.2: only 101 switches.
 *
 * A connection that is allowed by address is read only if the leak scanner reads its requests (scan.net);
 * `unjudged`: TLS and a switched protocol are then OPAQUE at once, a request needs no Host, and the bytes
 * after CONNECT are first bytes again (FIRST): a tunnel may have requests, and a server that is no proxy
 * takes them for its next request. */
/* clang-format on */
#ifndef CORRAL_NET_CONVERSATION_H
#define CORRAL_NET_CONVERSATION_H

#include "net/http.h"
#include "net/websocket.h"

/* So many bytes may be forwarded while the protocol is unknown: the caller keeps them and presents
 * them again with the bytes that follow. */
#define CONVERSATION_UNSURE_MAX 192

enum conversation_state {
	CONVERSATION_FIRST,
	CONVERSATION_HELLO,
	CONVERSATION_HEAD,
	CONVERSATION_BODY,
	CONVERSATION_SWITCH,
	CONVERSATION_SOCKET,
	CONVERSATION_OPAQUE,
	CONVERSATION_OVER,
};

struct conversation {
	enum conversation_state state;
	bool strict;    /* FIRST: only TLS with a server name, or HTTP with a Host */
	bool not_first; /* the server has sent a byte, or a request was forwarded: no SWITCH */
	bool single;    /* the request in progress is the last one */
	bool http;      /* the client speaks HTTP */
	bool unjudged;  /* allowed by address: the names of hosts decide nothing */
	bool whole;     /* each byte of a body is read: the caller scans it (scan.net) */
	struct http_body body;
	struct http_scan scan;
	enum http_upgrade upgrade;     /* SWITCH: the requested protocol, */
	char accept[WEBSOCKET_ACCEPT]; /* and the expected Sec-WebSocket-Accept, without NUL */
};

enum conversation_verdict {
	VERDICT_MORE,   /* forward nothing before more bytes arrive */
	VERDICT_UNSURE, /* the same, but if no more arrive it is no request and may be forwarded */
	VERDICT_PASS,
	VERDICT_BAD,
};

enum conversation_part { PART_OTHER, PART_HEAD, PART_BODY };

struct conversation_result {
	enum conversation_verdict verdict;
	enum conversation_part part; /* PASS: of a request, or neither */
	size_t line;                 /* PART_HEAD: where the target of the request line ends */
	uint64_t pass; /* PASS: bytes to forward, which may exceed data; UINT64_MAX: all */
	bool names;    /* PASS: only if the caller allows this host, */
	bool tls;      /* from a ClientHello */
	struct hostname host;
	uint16_t port;   /* as written; 0: none */
	const char *why; /* BAD: one clause */
	bool unread; /* BAD: the protocol cannot be inspected; a rule for the address would help */
};

/* The next bytes to inspect are the client's. */
static inline bool conversation_reads_client(const struct conversation *t) {
	return t->state == CONVERSATION_FIRST || t->state == CONVERSATION_HEAD ||
	       t->state == CONVERSATION_BODY || t->state == CONVERSATION_SOCKET;
}

/* The next bytes to inspect are the server's; the client waits. */
static inline bool conversation_reads_server(const struct conversation *t) {
	return t->state == CONVERSATION_HELLO || t->state == CONVERSATION_SWITCH;
}

/* How many bytes of the server usually decide: its SO_RCVLOWAT. */
size_t conversation_wants(const struct conversation *t);

/* data: all bytes of the client that are queued and not forwarded. */
struct conversation_result conversation_client(struct conversation *t, const uint8_t *data,
					       size_t len);

/* HELLO, SWITCH.  data: all bytes of the server's answer so far; ended: EOF.  PASS: the state has
 * changed, and pass is the client's: 0, or UINT64_MAX for all bytes. */
struct conversation_result conversation_server(struct conversation *t, const uint8_t *data,
					       size_t len, bool ended);

/* The proxy has read this head and forwards it itself: the body follows, and then no request. */
void conversation_single(struct conversation *t, const struct http_head *head);

#endif
