/* clang-format off */
/* What is said on a connection that was made for a name: one state machine for both sides.
 *
 * Pure: bytes in, a verdict out; whoever holds the connection judges the names and moves the bytes.
 * A byte of the client's passes when the state has read it, and no byte is read in two states.
 *
 *   state    whose bytes are read        goes to
 *   FIRST    the client's first words    HELLO   a TLS hello: its server name is told, and is judged
 *                                        OPAQUE  where nothing has to be named (ports other than 80
 *                                                and 443), a protocol that is neither TLS nor HTTP
 *                                        HEAD's  whatever a lenient server could take for a request
 *                                        refused HTTP/2 without TLS; a hello that holds a request;
 *                                                where a name has to come: the rest
 *   HELLO    the server's answer; the    OPAQUE  it begins like TLS
 *            client waits                OVER    there is none
 *                                        refused another one: this server does not speak TLS
 *   HEAD     one request's head; its     BODY    it has a body
 *            host is told and is judged  SWITCH  it asks for another protocol (see below)
 *                                        HEAD    otherwise: the next request's
 *                                        refused what two servers could read in two ways (http.h)
 *   BODY     that request's body         HEAD    at its end, to the byte
 *                                        OVER    the same, of the one request that a proxy serves
 *                                        refused broken chunks; bytes that begin like a request, which a
 *                                                server that ignores bodies would serve (http_scan)
 *   SWITCH   the server's answer; the    SOCKET  101, and Sec-WebSocket-Accept is the digest of this
 *            client waits                        request's key: both speak WebSocket from here on
 *                                        HEAD    another status: nothing was switched
 *                                        refused 101 to a protocol that nobody judges, or without that digest
 *   SOCKET   the heads of the client's   SOCKET  with each frame, whatever it carries
 *            frames                      refused what is no client's frame (websocket.c says why)
 *   OPAQUE   nobody's; all passes
 *   OVER     nobody's; nothing passes
 *
 * Request and answer belong together: HTTP's are read in SWITCH alone, and SWITCH is entered by the
 * first request of a connection on which the server has said nothing.  So the first answer of the
 * connection (behind 100 to 199, which are heads without a body) is the answer to that request, and no
 * byte of an earlier answer's body can be taken for it.  An Upgrade in a later request, or in one that
 * has a body, is passed on and switches nothing here: what the client says next is read in HEAD, as a
 * request, whatever the server answers.
 *
 * The early verdicts, and why they may be early:
 *   - OPAQUE after a hello and its answer: what follows is encrypted, or TLS servers do not take it;
 *     a server that reads requests there, and takes any bytes for a method, has the hello alone;
 *   - OPAQUE for another protocol: http_sniff() says no only to what no server takes for a request,
 *     with any number of blank lines before it; it waits for the first line's end otherwise, unless
 *     64 bytes are there whose first word holds what no method may (XMPP and JSON send no line's end)
 *     or that word holds a control character (binary protocols send none either);
 *   - HEAD after another status than 101: RFC 9110, 15.2.2: only 101 switches. */
/* clang-format on */
#ifndef CORRAL_NET_CONVERSATION_H
#define CORRAL_NET_CONVERSATION_H

#include "net/http.h"
#include "net/websocket.h"

/* So many bytes may pass before it is known what they become: they are kept, and judged with what
 * comes behind them. */
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
	bool strict; /* FIRST: a host has to be named */
	bool spoken; /* the server has said something, or a request was passed on */
	bool single; /* nothing follows the request that is under way */
	bool http;   /* the client speaks it */
	struct http_body body;
	struct http_scan scan;
	enum http_upgrade upgrade;     /* SWITCH: what was asked for */
	char accept[WEBSOCKET_ACCEPT]; /* and what answers it; no NUL behind it */
};

enum conversation_verdict {
	SAID_MORE,   /* nothing passes before there is more */
	SAID_UNSURE, /* the same, but it may be all that is said before an answer, and no request */
	SAID_PASS,
	SAID_BAD,
};

struct conversation_result {
	enum conversation_verdict verdict;
	uint64_t pass; /* PASS: so many bytes, those beyond data as well; UINT64_MAX: all */
	bool names;    /* PASS, if this host may be named here: */
	bool tls;      /* in a hello */
	struct hostname host;
	uint16_t port;   /* as written; 0: none */
	const char *why; /* BAD: one clause */
	bool unread;     /* BAD for want of a reader: a rule for the address would help */
};

/* The client's bytes are looked at now. */
static inline bool conversation_listens(const struct conversation *t) {
	return t->state == CONVERSATION_FIRST || t->state == CONVERSATION_HEAD ||
	       t->state == CONVERSATION_BODY || t->state == CONVERSATION_SOCKET;
}

/* The server's bytes are looked at now, and the client waits. */
static inline bool conversation_waits(const struct conversation *t) {
	return t->state == CONVERSATION_HELLO || t->state == CONVERSATION_SWITCH;
}

/* Of which so many decide, mostly. */
size_t conversation_wants(const struct conversation *t);

/* The client's next bytes, all that came so far. */
struct conversation_result conversation_client(struct conversation *t, const uint8_t *data,
					       size_t len);

/* HELLO, SWITCH: the server's bytes, all of the answer that came so far; ended: no more will. PASS:
 * the state is another one, and UINT64_MAX bytes are all of the client's. */
struct conversation_result conversation_server(struct conversation *t, const uint8_t *data,
					       size_t len, bool ended);

/* A proxy has read this head and passes it on itself: its body follows, and then nothing. */
void conversation_single(struct conversation *t, const struct http_head *head);

#endif
