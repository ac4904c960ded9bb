/* SOCKS 5, and 4 and 4a for old clients: a proxy's side of the handshake.  Pure. */
#ifndef CORRAL_NET_SOCKS_H
#define CORRAL_NET_SOCKS_H

#include "net/tls_hello.h"

#define SOCKS_MAX 512 /* no message is longer */

/* The greeting's answer and a reply behind it. */
#define SOCKS_ANSWER_MAX 16
#define SOCKS_REPLY_MAX 10

/* Zeroed at first. */
struct socks {
	enum { SOCKS_GREETING, SOCKS_REQUEST, SOCKS_OVER } state;
	int version; /* 4 or 5 */
	struct hostname host;
	uint16_t port;
	uint8_t answer[SOCKS_ANSWER_MAX];
	size_t answer_len;
	const char *why; /* SNIFF_BAD: one clause */
};

/* Takes what came and was not read yet (at most SOCKS_MAX bytes).  *ret_used is how many bytes
 * were read now; answer is what is to be sent now, in every case and before anything else.
 * SNIFF_MORE: wait for more.  SNIFF_DONE: host and port are known, the reply is still to be sent
 * (socks_reply), and what lies behind the used bytes is for the other side.  SNIFF_BAD: close. */
enum sniff socks_read(struct socks *s, const uint8_t *data, size_t len, size_t *ret_used);

enum socks_outcome {
	SOCKS_GRANTED,
	SOCKS_REFUSED_BY_RULE,
	SOCKS_UNREACHABLE,
	SOCKS_CONNECTION_REFUSED,
	SOCKS_FAILED,
};

/* The reply to a request in its version's words; returns its length. */
size_t socks_reply(const struct socks *s, enum socks_outcome o, uint8_t out[SOCKS_REPLY_MAX]);

#endif
