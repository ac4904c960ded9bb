/* SPDX-License-Identifier: Apache-2.0 */
/* The vault's key: made, found, replaced.
 *
 * A key file is made at the first use, without a prompt, so that a service works too.  It lies in
 * the configuration directory and the vault in the state directory: a copy of one of them opens
 * nothing.  A passphrase becomes a key by Argon2id with the salt and the cost of the header.
 *
 * Should:   store a new key before the vault is saved under it, and remove the old one after (V2).
 * Must not: make a key where a vault exists and its key is missing: the secrets would be lost.
 * Fails:    closed: a key with another id than the header's opens nothing. */
#include "vault/key.h"

#include "base/auto.h"
#include "base/dirs.h"
#include "base/path.h"
#include "vault/private.h"

#include <errno.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WHERE "vault"
#define NEW_SUFFIX ".new"

/* RFC 9106's second recommended set, with one lane: half a second at most, and no machine lacks
 * the memory. */
#define ARGON_OPS 3U
#define ARGON_MEMORY ((uint64_t)64 * 1024 * 1024)

static const unsigned char id_context[] = "corral vault key id, version 1";

void key_done(struct vault_key *k) {
	sodium_free(k->bytes); /* overwrites it; accepts NULL */
	*k = (struct vault_key){0};
}

static void identify(const unsigned char *key, unsigned char ret_id[VAULT_KEY_ID_BYTES]) {
	/* Cannot fail with these lengths. */
	(void)crypto_generichash(ret_id, VAULT_KEY_ID_BYTES, id_context, sizeof id_context, key,
				 VAULT_KEY_BYTES);
}

static bool has_id(const unsigned char *key, const struct vault_key *k) {
	unsigned char id[VAULT_KEY_ID_BYTES];
	identify(key, id);
	return sodium_memcmp(id, k->id, sizeof id) == 0;
}

static bool new_path(const char *path, char out[PATH_MAX]) {
	int n = snprintf(out, PATH_MAX, "%s" NEW_SUFFIX, path);
	return n > 0 && n < PATH_MAX;
}

/* ---- a file ---- */

static int read_key_file(const char *path, unsigned char *ret_key, struct err *e) {
	unsigned char more;
	auto_fd fd = private_open(path, "cannot open the vault's key", e);
	if (fd < 0) {
		return -1;
	}
	if (private_read(fd, ret_key, VAULT_KEY_BYTES) != VAULT_KEY_BYTES ||
	    private_read(fd, &more, 1) != 0) {
		return err_set(e, ERR_SETUP, WHERE, "the vault's key %s is not %d bytes long", path,
			       VAULT_KEY_BYTES);
	}
	return 0;
}

static enum key_found find_file(const struct vault *v, struct vault_key *k, struct err *e) {
	char other[PATH_MAX], dir[PATH_MAX];
	struct err unused = {0};
	if (path_parent(v->place.key_file, dir) && private_check_dir(dir, e) != 0) {
		return e->sys == ENOENT ? KEY_OTHER : KEY_FAILED;
	}
	int rc = read_key_file(v->place.key_file, k->bytes, e);
	if (rc == 0 && has_id(k->bytes, k)) {
		return KEY_FOUND;
	}
	/* A rekey that was killed between the vault's rename and the key's. */
	if (new_path(v->place.key_file, other) && read_key_file(other, k->bytes, &unused) == 0 &&
	    has_id(k->bytes, k)) {
		k->pending = true;
		return KEY_FOUND;
	}
	if (rc != 0 && e->kind == ERR_REFUSED) {
		return KEY_FAILED;
	}
	if (rc != 0) {
		(void)err_fix(e, "restore %s from a backup; without it the vault stays closed",
			      v->place.key_file);
		return e->sys == ENOENT ? KEY_OTHER : KEY_FAILED;
	}
	(void)err_set(e, ERR_SETUP, WHERE, "%s is not the key of this vault", v->place.key_file);
	(void)err_fix(e, "restore the key from a backup; without it the vault stays closed");
	return KEY_OTHER;
}

/* Without a vault an existing key is used: an earlier call may have been killed after it. */
static int adopt_file(const struct vault *v, struct vault_key *k, struct err *e) {
	if (v->exists || access(v->place.key_file, F_OK) != 0) {
		return 1;
	}
	return read_key_file(v->place.key_file, k->bytes, e);
}

static int make_file(const struct vault *v, struct vault_key *k, struct err *e) {
	char path[PATH_MAX], dir[PATH_MAX], failed[PATH_MAX];
	if (!path_parent(v->place.key_file, dir) || !new_path(v->place.key_file, path)) {
		return err_set(e, ERR_SETUP, WHERE, "the path of the key file is too long");
	}
	if (dirs_make(dir, failed) != 0) {
		return err_sys_at(e, WHERE, "cannot create the directory", failed);
	}
	if (private_check_dir(dir, e) != 0) {
		return -1;
	}
	int adopted = adopt_file(v, k, e);
	if (adopted <= 0) {
		return adopted;
	}
	randombytes_buf(k->bytes, VAULT_KEY_BYTES);
	k->pending = true;
	return private_write(path, k->bytes, VAULT_KEY_BYTES, e) != 0 ? -1
								      : private_sync_dir(dir, e);
}

/* ---- a passphrase ---- */

static int no_passphrase(struct err *e) {
	(void)err_set(e, ERR_SETUP, WHERE, "the vault needs its passphrase");
	return err_fix(e, "use a terminal, or pass it: --passphrase-fd 3 3<FILE");
}

static int derive(const struct vault *v, int fresh, struct vault_key *k, struct err *e) {
	if (v->ask.read == NULL) {
		return no_passphrase(e);
	}
	char *words = sodium_malloc(VAULT_PASSPHRASE_MAX);
	if (words == NULL) {
		return err_memory(e, WHERE);
	}
	long len = v->ask.read(v->ask.arg, fresh, words, VAULT_PASSPHRASE_MAX);
	int rc = -1;
	if (len < 0) {
		(void)no_passphrase(e);
	} else if (len == 0) {
		(void)err_set(e, ERR_USAGE, WHERE, "the passphrase is empty");
	} else if (crypto_pwhash(k->bytes, VAULT_KEY_BYTES, words, (size_t)len, k->salt, k->ops,
				 k->memory, crypto_pwhash_ALG_ARGON2ID13) != 0) {
		(void)err_set(e, ERR_MEMORY, WHERE, "not enough memory for Argon2id: %llu MiB",
			      (unsigned long long)(k->memory >> 20));
	} else {
		rc = 0;
	}
	sodium_free(words);
	return rc;
}

/* ---- all kinds ---- */

enum key_found key_find(const struct vault *v, struct vault_key *k, struct err *e) {
	k->bytes = sodium_malloc(VAULT_KEY_BYTES);
	if (k->bytes == NULL) {
		(void)err_memory(e, WHERE);
		return KEY_FAILED;
	}
	if (k->kind == VAULT_KEY_FILE) {
		return find_file(v, k, e);
	}
	int rc = k->kind == VAULT_KEY_KEYRING ? keyring_read(k->id, k->bytes, e)
					      : derive(v, 0, k, e);
	if (rc != 0) {
		return k->kind == VAULT_KEY_KEYRING ? KEY_OTHER : KEY_FAILED;
	}
	if (!has_id(k->bytes, k)) {
		(void)err_set(e, ERR_REFUSED, WHERE, "wrong passphrase");
		return KEY_FAILED;
	}
	return KEY_FOUND;
}

int key_make(const struct vault *v, enum vault_key_kind kind, struct vault_key *ret,
	     struct err *e) {
	struct vault_key k = {.kind = kind, .bytes = sodium_malloc(VAULT_KEY_BYTES)};
	int rc = 0;
	if (k.bytes == NULL) {
		return err_memory(e, WHERE);
	}
	if (kind == VAULT_KEY_PASSPHRASE) {
		k.ops = ARGON_OPS;
		k.memory = ARGON_MEMORY;
		randombytes_buf(k.salt, sizeof k.salt);
		rc = derive(v, 1, &k, e);
	} else if (kind == VAULT_KEY_FILE) {
		rc = make_file(v, &k, e);
	} else {
		randombytes_buf(k.bytes, VAULT_KEY_BYTES);
	}
	if (rc == 0) {
		identify(k.bytes, k.id);
	}
	if (rc != 0 || (kind == VAULT_KEY_KEYRING && keyring_add(k.id, k.bytes, e) != 0)) {
		key_done(&k);
		return -1;
	}
	*ret = k;
	return 0;
}

int key_settle(const struct vault *v, struct vault_key *k, struct err *e) {
	char path[PATH_MAX], dir[PATH_MAX];
	if (!k->pending) {
		return 0;
	}
	if (!new_path(v->place.key_file, path) || !path_parent(v->place.key_file, dir)) {
		return err_set(e, ERR_SETUP, WHERE, "the path of the key file is too long");
	}
	if (rename(path, v->place.key_file) != 0) {
		return err_sys_at(e, WHERE, "cannot rename the new key", path);
	}
	k->pending = false;
	return private_sync_dir(dir, e);
}

int key_retire(const struct vault *v, const struct vault_key *old, const struct vault_key *k,
	       struct err *e) {
	if (old->kind == VAULT_KEY_KEYRING) {
		keyring_remove(old->id);
	}
	if (old->kind == VAULT_KEY_FILE && k->kind != VAULT_KEY_FILE &&
	    unlink(v->place.key_file) != 0 && errno != ENOENT) {
		return err_sys_at(e, WHERE, "cannot remove the old key", v->place.key_file);
	}
	return 0;
}
