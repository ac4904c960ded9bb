/* A TLS client's first message: which server it names.  Pure. */
#ifndef CORRAL_NET_TLS_HELLO_H
#define CORRAL_NET_TLS_HELLO_H

#include "base/hostname.h"

/* What a parser of a client's first bytes says. */
enum sniff {
	SNIFF_MORE, /* cannot tell yet */
	SNIFF_DONE,
	SNIFF_BAD, /* not the protocol's grammar: refused */
};

/* Records and handshake headers together: larger ones are refused. */
#define TLS_HELLO_MAX ((size_t)64 * 1024)

struct tls_hello {
	size_t len;             /* with its records */
	bool named;             /* it has a server name */
	struct hostname server; /* kind HOST_NAME; the outer one of an encrypted hello, which
				 * cannot be told from one that only pretends to be */
};

/* Whether the first bytes, as many as came, can be TLS: content type 22, version 3. */
bool tls_hello_begins(const uint8_t *data, size_t len);

/* A server's first bytes, two of them: a record of TLS with a message or an alert. */
bool tls_hello_answered(const uint8_t *data);

/* data is everything that came so far, at most TLS_HELLO_MAX.  Records may split the hello
 * anywhere.  *why for SNIFF_BAD: one clause. */
enum sniff tls_hello_read(const uint8_t *data, size_t len, struct tls_hello *ret, const char **why);

#endif
