/* SPDX-License-Identifier: Apache-2.0 */
/* WebSocket: Sec-WebSocket-Accept (base64 of the SHA-1 of the key and a fixed GUID), frame headers.
 *
 * The value shows that the server has really switched: a server that returns 101 because a request
 * made it (a status in the URL), and continues to read HTTP, does not compute it.  The protocol
 * prescribes SHA-1; no secret depends on it here.
 *
 * A request could also make such a server return the right value, if clients control its response
 * fields.  So the client must send frames: one of the first two bytes of each frame is above 0x7f,
 * which no HTTP method contains, and a server that reads HTTP finds no request.
 *
 * Should:   compute the value for a key; find the end of each frame.
 * Must not: allocate; read beyond the key.
 * Fails:    closed: bytes that are not a client's frame are refused. */
#include "net/websocket.h"

#include <stddef.h>
#include <string.h>

#define BLOCK 64
#define DIGEST 20

static const char guid[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

static uint32_t rotated(uint32_t x, unsigned by) {
	return x << by | x >> (32 - by);
}

static uint32_t word_at(const uint8_t *p) {
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* FIPS 180-4, 6.1.2. */
static void take_block(uint32_t h[5], const uint8_t block[BLOCK]) {
	static const uint32_t k[] = {0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6};
	uint32_t w[80] = {0}, a = h[0], b = h[1], c = h[2], d = h[3], e = h[4];

	for (size_t i = 0; i < 80; i++) {
		w[i] = i < 16 ? word_at(block + 4 * i)
			      : rotated(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
		uint32_t f = i < 20              ? (b & c) | (~b & d)
			     : i >= 40 && i < 60 ? (b & c) | (b & d) | (c & d)
						 : b ^ c ^ d;
		uint32_t next = rotated(a, 5) + f + e + k[i / 20] + w[i];
		e = d;
		d = c;
		c = rotated(b, 30);
		b = a;
		a = next;
	}
	h[0] += a;
	h[1] += b;
	h[2] += c;
	h[3] += d;
	h[4] += e;
}

/* SHA-1 of key and GUID: 60 bytes, so that padding and length need a second block. */
static void digest_of(const char key[WEBSOCKET_KEY], uint8_t ret[DIGEST]) {
	uint8_t blocks[2 * BLOCK] = {0};
	const size_t len = WEBSOCKET_KEY + sizeof guid - 1;
	uint32_t h[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};

	memcpy(blocks, key, WEBSOCKET_KEY);
	memcpy(blocks + WEBSOCKET_KEY, guid, sizeof guid - 1);
	blocks[len] = 0x80;
	blocks[2 * BLOCK - 2] = (uint8_t)(len * 8 >> 8);
	blocks[2 * BLOCK - 1] = (uint8_t)(len * 8);
	take_block(h, blocks);
	take_block(h, blocks + BLOCK);
	for (size_t i = 0; i < DIGEST; i++) {
		ret[i] = (uint8_t)(h[i / 4] >> (24 - 8 * (i % 4)));
	}
}

void websocket_accept(const char key[WEBSOCKET_KEY], char ret[WEBSOCKET_ACCEPT]) {
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint8_t digest[DIGEST + 1] = {0};

	digest_of(key, digest);
	for (size_t i = 0; i < WEBSOCKET_ACCEPT; i++) {
		size_t bit = 6 * i;
		unsigned pair = (unsigned)digest[bit / 8] << 8;
		pair |= bit / 8 + 1 < sizeof digest ? digest[bit / 8 + 1] : 0U;
		ret[i] = letters[pair >> (10 - bit % 8) & 63];
	}
	ret[WEBSOCKET_ACCEPT - 1] = '=';
}

/* ---- frames ---- */

#define HEAD 2
#define MASKED 0x80 /* in the second byte; its low 7 bits: the length, or 126, 127 */
#define MASK 4

static size_t length_bytes(uint8_t second) {
	return (second & 0x7f) == 126 ? 2 : (second & 0x7f) == 127 ? 8 : 0;
}

enum sniff websocket_frame(const uint8_t *data, size_t len, uint64_t *ret_len) {
	if (len < HEAD) {
		return SNIFF_MORE;
	}
	if ((data[1] & MASKED) == 0) {
		return SNIFF_BAD;
	}
	size_t more = length_bytes(data[1]);
	uint64_t size = more > 0 ? 0 : data[1] & 0x7f;
	if (len < HEAD + more) {
		return SNIFF_MORE;
	}
	for (size_t i = 0; i < more; i++) {
		size = size << 8 | data[HEAD + i];
	}
	if (size > INT64_MAX) {
		return SNIFF_BAD;
	}
	*ret_len = HEAD + more + MASK + size;
	return SNIFF_DONE;
}
