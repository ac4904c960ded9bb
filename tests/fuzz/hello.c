/* SPDX-License-Identifier: Apache-2.0 */
/* A TLS client's first bytes.
 *
 * The answer does not depend on how the bytes came, nor on what follows them, nor on
 * where records cut the message; a name that is told stands in the message. */
#include "fuzz.h"

#include "net/tls_hello.h"

/* The records' fragments, one behind the other, while there are whole ones. */
static size_t join(const uint8_t *data, size_t size, uint8_t *out) {
	size_t len = 0;
	for (size_t at = 0; at + 5 <= size;) {
		size_t n = (size_t)data[at + 3] << 8 | data[at + 4];
		if (n > size - at - 5) {
			break;
		}
		memcpy(out + len, data + at + 5, n);
		len += n;
		at += 5 + n;
	}
	return len;
}

static bool stands_in(const char *name, const uint8_t *text, size_t len) {
	size_t n = strlen(name);
	for (size_t i = 0; i + n <= len; i++) {
		size_t k = 0;
		while (k < n && (text[i + k] == (uint8_t)name[k] ||
				 (text[i + k] | 0x20) == (uint8_t)name[k])) {
			k++;
		}
		if (k == n) {
			return true;
		}
	}
	return false;
}

static void same(const struct tls_hello *a, const struct tls_hello *b) {
	HOLDS(a->named == b->named);
	HOLDS(!a->named || strcmp(a->server.name, b->server.name) == 0);
}

/* Every prefix, or thousands of them. */
static void in_parts(const uint8_t *data, size_t size, enum sniff whole,
		     const struct tls_hello *h) {
	size_t step = 1 + size / 4096;
	enum sniff told = SNIFF_MORE;
	struct tls_hello part = {0};
	const char *why = NULL;
	for (size_t n = 0; n < size && told == SNIFF_MORE; n += step) {
		told = tls_hello_read(data, n, &part, &why);
		HOLDS(told == SNIFF_MORE || told == whole);
		HOLDS(told != SNIFF_BAD || why != NULL);
		HOLDS(tls_hello_begins(data, n) || told == SNIFF_BAD);
	}
	if (told == SNIFF_DONE) {
		same(&part, h);
	}
}

/* The same message in records of another size. */
static void cut_again(const uint8_t *message, size_t len, size_t cut, const struct tls_hello *h) {
	uint8_t *wire = malloc(6 * len + 5);
	size_t at = 0;
	struct tls_hello again = {0};
	const char *why = NULL;
	if (wire == NULL) {
		abort();
	}
	for (size_t i = 0; i < len; i += cut) {
		size_t n = len - i < cut ? len - i : cut;
		memcpy(wire + at, (uint8_t[]){22, 3, 3, (uint8_t)(n >> 8), (uint8_t)n}, 5);
		memcpy(wire + at + 5, message + i, n);
		at += 5 + n;
	}
	HOLDS(tls_hello_read(wire, at, &again, &why) == SNIFF_DONE);
	same(&again, h);
	free(wire);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	struct tls_hello h = {0};
	const char *why = NULL;
	enum sniff whole = tls_hello_read(data, size, &h, &why);
	in_parts(data, size, whole, &h);
	HOLDS(whole != SNIFF_BAD || why != NULL);
	if (whole != SNIFF_DONE) {
		return 0;
	}
	uint8_t *message = malloc(size + 1);
	if (message == NULL) {
		abort();
	}
	size_t joined = join(data, size, message);
	size_t len = 4 + ((size_t)message[1] << 16 | (size_t)message[2] << 8 | message[3]);
	HOLDS(len <= joined && message[0] == 1);
	HOLDS(!h.named || h.server.kind == HOST_NAME);
	HOLDS(!h.named || stands_in(h.server.name, message, len));
	if (len < 8192) {
		cut_again(message, len, 5 + len % 97, &h);
		cut_again(message, len, 1 + len / 1024, &h);
	}
	free(message);
	return 0;
}
