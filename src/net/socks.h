/* SPDX-License-Identifier: Apache-2.0 */
/* SOCKS 5, and 4 and 4a for old clients: the proxy's side of the handshake.  Pure. */
#ifndef CORRAL_NET_SOCKS_H
#define CORRAL_NET_SOCKS_H

#include "net/tls_hello.h"

#define SOCKS_MAX 512 /* no message is longer */

/* The answer to the greeting, followed by a reply. */
#define SOCKS_ANSWER_MAX 16
#define SOCKS_REPLY_MAX 10

/* Begins zeroed. */
struct socks {
	enum { SOCKS_GREETING, SOCKS_REQUEST, SOCKS_OVER } state;
	int version; /* 4 or 5 */
	struct hostname host;
	uint16_t port;
	uint8_t answer[SOCKS_ANSWER_MAX];
	size_t answer_len;
	const char *why; /* SNIFF_BAD: one clause */
};

/* data: the queued bytes, at most SOCKS_MAX.  *ret_used: how many of them were consumed.  The
 * caller sends s->answer (answer_len bytes) in every case, before anything else.  SNIFF_MORE: wait
 * for more bytes.  SNIFF_DONE: host and port are known; the reply (socks_reply) is still to be
 * sent, and the bytes after *ret_used belong to the tunnel.  SNIFF_BAD: close. */
enum sniff socks_read(struct socks *s, const uint8_t *data, size_t len, size_t *ret_used);

enum socks_outcome {
	SOCKS_GRANTED,
	SOCKS_REFUSED_BY_RULE,
	SOCKS_UNREACHABLE,
	SOCKS_CONNECTION_REFUSED,
	SOCKS_FAILED,
};

/* Writes the reply to the request in its version; returns the length. */
size_t socks_reply(const struct socks *s, enum socks_outcome o, uint8_t out[SOCKS_REPLY_MAX]);

#endif
