/* A WebSocket (RFC 6455): the key of its handshake and what answers it (4.2.2), a client's frames
 * (5.2). */
#ifndef CORRAL_NET_WEBSOCKET_H
#define CORRAL_NET_WEBSOCKET_H

#include "net/tls_hello.h"

#include <stddef.h>
#include <stdint.h>

#define WEBSOCKET_KEY 24    /* base64 of 16 bytes */
#define WEBSOCKET_ACCEPT 28 /* base64 of 20 bytes */

/* Neither has a NUL behind it. */
void websocket_accept(const char key[WEBSOCKET_KEY], char ret[WEBSOCKET_ACCEPT]);

/* DONE: a frame with its payload is *ret_len bytes long, of which a part may be there.  BAD: no
 * client's frame, whose payload is masked. */
enum sniff websocket_frame(const uint8_t *data, size_t len, uint64_t *ret_len);

#endif
