/* SPDX-License-Identifier: Apache-2.0 */
/* Where the vault's key comes from, and where a new one goes. */
#ifndef CORRAL_VAULT_KEY_H
#define CORRAL_VAULT_KEY_H

#include "vault/vault.h"

/* Finds the key with the id of k; fills k->bytes.  KEY_OTHER: there is a key, and it is not this
 * one, as during a rekey; *e has the error for it. */
enum key_found { KEY_FOUND = 0, KEY_FAILED = -1, KEY_OTHER = -2 };
enum key_found key_find(const struct vault *v, struct vault_key *k, struct err *e);

/* Makes a key of that kind, stored where key_find() finds it: a file as KEY_FILE.new, until
 * key_settle(). */
int key_make(const struct vault *v, enum vault_key_kind kind, struct vault_key *ret, struct err *e);

/* Gives a pending key file its name, in place of the old one. */
int key_settle(const struct vault *v, struct vault_key *k, struct err *e);

/* Removes the stored key old, which k replaced. */
int key_retire(const struct vault *v, const struct vault_key *old, const struct vault_key *k,
	       struct err *e);

void key_done(struct vault_key *k);

/* keyring.c: a key of the kernel's user keyring, by its id. */
int keyring_add(const unsigned char id[VAULT_KEY_ID_BYTES], const unsigned char *key,
		struct err *e);
int keyring_read(const unsigned char id[VAULT_KEY_ID_BYTES], unsigned char *ret_key, struct err *e);
void keyring_remove(const unsigned char id[VAULT_KEY_ID_BYTES]);

#endif
