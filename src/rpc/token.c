/* SPDX-License-Identifier: Apache-2.0 */
/* Makes, hashes and compares tokens.
 *
 * Should:   wipe the random bytes after use; compare in constant time.
 * Must not: keep or print the text.
 * Fails:    closed: a text of another form has no hash. */
#include "rpc/token.h"

#include "base/str.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#define PREFIX "corral_"
#define PREFIX_LENGTH 7
#define RANDOM_SIZE 32

static void hash_bytes(const unsigned char random[RANDOM_SIZE], struct token_hash *ret) {
	/* Fails only for sizes out of range. */
	(void)crypto_generichash(ret->bytes, sizeof ret->bytes, random, RANDOM_SIZE, NULL, 0);
}

void token_make(char ret_text[TOKEN_TEXT_LENGTH + 1], struct token_hash *ret_hash) {
	unsigned char random[RANDOM_SIZE];

	randombytes_buf(random, sizeof random);
	(void)snprintf(ret_text, TOKEN_TEXT_LENGTH + 1, "%s", PREFIX); /* it fits */
	(void)sodium_bin2hex(ret_text + PREFIX_LENGTH, (size_t)RANDOM_SIZE * 2 + 1, random,
			     sizeof random);
	hash_bytes(random, ret_hash);
	sodium_memzero(random, sizeof random);
}

int token_hash_text(const char *text, struct token_hash *ret) {
	unsigned char random[RANDOM_SIZE];
	size_t len = 0;

	if (strnlen(text, TOKEN_TEXT_LENGTH + 1) != TOKEN_TEXT_LENGTH ||
	    !str_starts(text, PREFIX) ||
	    sodium_hex2bin(random, sizeof random, text + PREFIX_LENGTH, (size_t)RANDOM_SIZE * 2,
			   NULL, &len, NULL) != 0 ||
	    len != sizeof random) {
		return -1;
	}
	hash_bytes(random, ret);
	sodium_memzero(random, sizeof random);
	return 0;
}

bool token_hash_equal(const struct token_hash *a, const struct token_hash *b) {
	return sodium_memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}
