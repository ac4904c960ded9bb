/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of the vault's file, without any file. */
#ifndef CORRAL_VAULT_FORMAT_H
#define CORRAL_VAULT_FORMAT_H

#include "vault/vault.h"

/* magic 8, version 1, key kind 1, reserved 2, ops 4, memory 8, salt 16, key id 16, generation 8,
 * nonce 24, length of the ciphertext 8; integers little-endian. */
#define FORMAT_HEADER_BYTES 96

struct format_header {
	struct vault_key key; /* without the key itself */
	uint64_t generation;
	unsigned char nonce[24];
	uint64_t length; /* of the ciphertext, with its tag */
};

/* Reads the header and compares the length of the file with it. */
int format_read_header(const unsigned char *file, size_t len, struct format_header *ret,
		       struct err *e);

/* Decrypts and parses the secrets into v->plain and v->list; v->key has the key. */
int format_open(const unsigned char *file, size_t len, struct vault *v, struct err *e);

/* The whole file for v, with v->generation as it is; *ret is freed with free(). */
int format_seal(const struct vault *v, unsigned char **ret, size_t *ret_len, struct err *e);

/* The plaintext on its own, for the fuzzer: parses it into v->list, which points into it. */
int format_parse(const unsigned char *plain, size_t len, struct vault *v, struct err *e);

#endif
