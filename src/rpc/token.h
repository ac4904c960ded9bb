/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens: 32 random bytes that let a client outside use one session.
 *
 * The daemon returns the text once, and keeps BLAKE2b of the bytes: a copy of the database opens no
 * session.  The bytes are random, so a hash without salt and stretching is enough. */
#ifndef CORRAL_RPC_TOKEN_H
#define CORRAL_RPC_TOKEN_H

#include <stdbool.h>
#include <stddef.h>

#define TOKEN_HASH_SIZE 32

/* "corral_" and 64 hexadecimal digits; the prefix lets scanners of secrets find it. */
#define TOKEN_TEXT_LENGTH 71

struct token_hash {
	unsigned char bytes[TOKEN_HASH_SIZE];
};

void token_make(char ret_text[TOKEN_TEXT_LENGTH + 1], struct token_hash *ret_hash);

/* -1: the text is not a token. */
int token_hash_text(const char *text, struct token_hash *ret);

/* In constant time. */
bool token_hash_equal(const struct token_hash *a, const struct token_hash *b);

#endif
