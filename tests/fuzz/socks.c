/* SPDX-License-Identifier: Apache-2.0 */
/* SOCKS as a client may speak it.
 *
 * The conversation does not depend on how the bytes came; a host that is told is one, and its
 * port is not 0; an answer is one that the protocol has. */
#include "fuzz.h"

#include "net/socks.h"

struct conversation {
	struct socks s;
	enum sniff told;
	size_t used, len;
	uint8_t said[2 * SOCKS_ANSWER_MAX];
};

/* step bytes more with every read(2). */
static void talk(struct conversation *t, const uint8_t *data, size_t size, size_t step) {
	size_t come = 0;
	*t = (struct conversation){0};
	while (t->told == SNIFF_MORE && come < size) {
		size_t used = 0;
		come = size - come < step ? size : come + step;
		size_t left = come - t->used < SOCKS_MAX ? come - t->used : SOCKS_MAX;
		t->told = socks_read(&t->s, data + t->used, left, &used);
		HOLDS(used <= left && t->s.answer_len <= SOCKS_ANSWER_MAX);
		HOLDS(t->len + t->s.answer_len <= sizeof t->said);
		memcpy(t->said + t->len, t->s.answer, t->s.answer_len);
		t->len += t->s.answer_len;
		t->used += used;
	}
}

static void is_right(const struct conversation *t) {
	uint8_t reply[SOCKS_REPLY_MAX];
	if (t->told == SNIFF_BAD) {
		HOLDS(t->s.why != NULL);
		HOLDS(t->len == 0 || t->said[0] == 5 || t->said[0] == 0);
	}
	if (t->told == SNIFF_DONE) {
		HOLDS(t->s.host.kind != HOST_BAD && t->s.port != 0);
		HOLDS(t->s.version == 4 || t->s.version == 5);
		HOLDS(t->len == (t->s.version == 5 ? 2 : 0));
		HOLDS(socks_reply(&t->s, SOCKS_GRANTED, reply) == (t->s.version == 5 ? 10 : 8));
		HOLDS(reply[1] == (t->s.version == 5 ? 0 : 90));
		HOLDS(socks_reply(&t->s, SOCKS_REFUSED_BY_RULE, reply) > 0 && reply[1] != 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	static struct conversation whole, parts;
	size = size < 2 * SOCKS_MAX ? size : 2 * SOCKS_MAX;
	talk(&whole, data, size, SOCKS_MAX);
	is_right(&whole);
	for (size_t step = 1; step < 8; step += 3) {
		talk(&parts, data, size, step);
		is_right(&parts);
		HOLDS(parts.told == whole.told && parts.len == whole.len);
		HOLDS(memcmp(parts.said, whole.said, whole.len) == 0);
		HOLDS(parts.told != SNIFF_DONE || parts.used == whole.used);
		HOLDS(parts.s.port == whole.s.port && parts.s.host.kind == whole.s.host.kind);
	}
	return 0;
}
