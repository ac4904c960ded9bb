/* SPDX-License-Identifier: Apache-2.0 */
/* What both sides of the parity test share: operations on stdin, one a line,
 *
 *     read|write|list|create|link|mkdir|remove|move HEX [HEX]
 *
 * with the bytes of the path in hex (a link: its words, then its path; a move: the old path, then
 * the new one), and one line of answer each. */
#ifndef CORRAL_TESTS_PROPS_PARITY_H
#define CORRAL_TESTS_PROPS_PARITY_H

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX_ (4 * PATH_MAX + 64)

struct operation {
	char what[16];
	char first[2 * PATH_MAX], second[2 * PATH_MAX];
	char content[32]; /* of what is written: another for each line */
};

static inline void from_hex(const char *hex, char *out, size_t cap) {
	size_t n = 0;
	unsigned byte;

	while (n + 1 < cap && sscanf(hex + 2 * n, "%2x", &byte) == 1) {
		out[n++] = (char)byte;
	}
	out[n] = '\0';
}

/* The next operation; 0 at the end. */
static inline int next_operation(struct operation *op) {
	static char line[LINE_MAX_], first[LINE_MAX_], second[LINE_MAX_];
	static int number;

	if (fgets(line, sizeof line, stdin) == NULL) {
		return 0;
	}
	first[0] = second[0] = '\0';
	if (sscanf(line, "%15s %16000s %16000s", op->what, first, second) < 1) {
		return 0;
	}
	from_hex(first, op->first, sizeof op->first);
	from_hex(second, op->second, sizeof op->second);
	(void)snprintf(op->content, sizeof op->content, "written by %d\n", number++);
	return 1;
}

/* FNV-1a: what was read or listed, in a word. */
static inline uint64_t digest(uint64_t hash, const char *bytes, size_t n) {
	for (size_t i = 0; i < n; i++) {
		hash = (hash ^ (unsigned char)bytes[i]) * 0x100000001b3ULL;
	}
	return hash;
}
#define DIGEST_START 0xcbf29ce484222325ULL

#endif
