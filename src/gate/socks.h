/* SOCKS 5, and 4a for old clients: a proxy's side of the handshake.  Pure. */
#ifndef CORRAL_GATE_SOCKS_H
#define CORRAL_GATE_SOCKS_H

#include "gate/hello.h"

#define SOCKS_MAX 512 /* no message is longer */

struct socks {
	enum { SOCKS_GREETING, SOCKS_REQUEST, SOCKS_OVER } state;
	int version; /* 4 or 5 */
	struct hostname host;
	uint16_t port;
};

/* Takes what came so far (at most SOCKS_MAX bytes).  *ret_used is how many bytes were read;
 * answer (cap SOCKS_MAX) gets what is to be sent now, *ret_answer its length, 0 for nothing.
 * SNIFF_MORE: send the answer, wait for more.  SNIFF_DONE: host and port are known, the reply
 * is still to be sent (socks_reply).  SNIFF_BAD: send the answer, close. */
enum sniff socks_read(struct socks *s, const uint8_t *data, size_t len, size_t *ret_used,
		      uint8_t *answer, size_t *ret_answer);

enum socks_outcome { SOCKS_GRANTED, SOCKS_REFUSED_BY_RULE, SOCKS_UNREACHABLE, SOCKS_CONNECTION_REFUSED,
		     SOCKS_FAILED };

/* The reply to a request in its version's words; returns its length. */
size_t socks_reply(const struct socks *s, enum socks_outcome o, uint8_t *out);

#endif
