/* SPDX-License-Identifier: Apache-2.0 */
/* WebSocket (RFC 6455): the key of the handshake and Sec-WebSocket-Accept (4.2.2), and the headers
 * of a client's frames (5.2). */
#ifndef CORRAL_NET_WEBSOCKET_H
#define CORRAL_NET_WEBSOCKET_H

#include "net/tls_hello.h"

#include <stddef.h>
#include <stdint.h>

#define WEBSOCKET_KEY 24    /* base64 of 16 bytes */
#define WEBSOCKET_ACCEPT 28 /* base64 of 20 bytes */

/* Computes the Sec-WebSocket-Accept for a key; both without NUL. */
void websocket_accept(const char key[WEBSOCKET_KEY], char ret[WEBSOCKET_ACCEPT]);

/* Reads a frame header.  DONE: the frame with its payload has *ret_len bytes, which may exceed len.
 * BAD: not a client's frame: those are masked. */
enum sniff websocket_frame(const uint8_t *data, size_t len, uint64_t *ret_len);

#endif
