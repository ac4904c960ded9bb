/* SPDX-License-Identifier: Apache-2.0 */
/* What every target shares: the entry that libFuzzer and replay.c call, the
 * properties, and a way to take an input apart.
 *
 * A crash is the floor.  A target states what must hold of the answer, in words
 * of its own and never with the code that it attacks. */
#ifndef CORRAL_TESTS_FUZZ_FUZZ_H
#define CORRAL_TESTS_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline _Noreturn void property_broken(const char *file, int line, const char *property) {
	(void)fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, property);
	abort();
}

#define HOLDS(property)                                                                            \
	do {                                                                                       \
		if (!(property)) {                                                                 \
			property_broken(__FILE__, __LINE__, #property);                            \
		}                                                                                  \
	} while (0)

/* The rest of an input; what lies behind its end reads as zero. */
struct input {
	const uint8_t *at;
	size_t left;
};

static inline uint8_t input_byte(struct input *in) {
	if (in->left == 0) {
		return 0;
	}
	in->left--;
	return *in->at++;
}

static inline uint32_t input_word(struct input *in) {
	uint32_t n = 0;
	for (int i = 0; i < 4; i++) {
		n = n << 8 | input_byte(in);
	}
	return n;
}

/* The bytes up to the next separator as a string, NULL at the end of the input;
 * a NUL inside ends the string early.  Free it. */
static inline char *input_until(struct input *in, char separator) {
	if (in->left == 0) {
		return NULL;
	}
	const uint8_t *end = memchr(in->at, separator, in->left);
	size_t len = end == NULL ? in->left : (size_t)(end - in->at);
	char *s = strndup((const char *)in->at, len);
	if (s == NULL) {
		abort();
	}
	in->at += len + (end != NULL);
	in->left -= len + (end != NULL);
	return s;
}

/* Everything that is left as a string. */
static inline char *input_rest(struct input *in) {
	char *s = strndup(in->left == 0 ? "" : (const char *)in->at, in->left);
	if (s == NULL) {
		abort();
	}
	in->left = 0;
	return s;
}

#endif
