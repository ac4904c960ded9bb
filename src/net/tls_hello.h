/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the server name (SNI) of a TLS ClientHello.  Pure. */
#ifndef CORRAL_NET_TLS_HELLO_H
#define CORRAL_NET_TLS_HELLO_H

#include "base/hostname.h"

/* The result of a parser of the first bytes of a connection. */
enum sniff {
	SNIFF_MORE, /* undecided: more bytes are needed */
	SNIFF_DONE,
	SNIFF_BAD, /* not this protocol, or malformed */
};

/* With record and handshake headers: a longer hello is refused. */
#define TLS_HELLO_MAX ((size_t)64 * 1024)

struct tls_hello {
	size_t len;             /* including record headers */
	bool named;             /* it has a server name */
	struct hostname server; /* kind HOST_NAME; with Encrypted ClientHello the outer name, which
				 * cannot be told from a GREASE one */
};

/* Whether the first bytes, even fewer than two, can be TLS: content type 22, version 3. */
bool tls_hello_begins(const uint8_t *data, size_t len);

/* A server's first two bytes: a TLS record with a handshake message or an alert. */
bool tls_hello_answered(const uint8_t *data);

/* data: all bytes so far, at most TLS_HELLO_MAX.  Records may split the hello anywhere.
 * SNIFF_BAD: *why is one clause. */
enum sniff tls_hello_read(const uint8_t *data, size_t len, struct tls_hello *ret, const char **why);

#endif
