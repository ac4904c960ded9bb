/* Sec-WebSocket-Accept: base64 of the SHA-1 of the key and a fixed text.
 *
 * A server that answers 101 because a request asked for that status, and goes on to read HTTP,
 * does not compute it.  SHA-1 is what the protocol has; nothing secret rests on it here.
 *
 * A request may ask for the right value too, where a server lets its clients write its answers.  So
 * the client has to send frames: one of the first two bytes of each is above 0x7f, which no method
 * of HTTP has, and a server that reads on finds no request.
 *
 * Should:   compute the one value that answers a key; know where each frame ends.
 * Must not: allocate; read beyond the key.
 * Fails:    closed: what is not a client's frame is refused. */
#include "net/websocket.h"

#include <stddef.h>
#include <string.h>

#define BLOCK 64
#define DIGEST 20

static const char text[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

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

/* Of a text that fills one block with its end's mark, and whose length stands in the second. */
static void digest_of(const char key[WEBSOCKET_KEY], uint8_t ret[DIGEST]) {
	uint8_t blocks[2 * BLOCK] = {0};
	const size_t len = WEBSOCKET_KEY + sizeof text - 1;
	uint32_t h[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};

	memcpy(blocks, key, WEBSOCKET_KEY);
	memcpy(blocks + WEBSOCKET_KEY, text, sizeof text - 1);
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
#define MASKED 0x80 /* of the second byte; the rest is the length, or how many bytes hold it */
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
