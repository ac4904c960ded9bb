/* SPDX-License-Identifier: Apache-2.0 */
/* The vault: the secrets of a user, encrypted in one file.
 *
 * Theory.  The file is a header in clear and one ciphertext (XChaCha20-Poly1305).  The header is
 * the additional data of the ciphertext, so that no byte of either can change unnoticed; names,
 * agents, workspaces and lengths are inside the ciphertext, which is padded to whole pages.
 * Each save draws a new nonce.  vault/store.c replaces the file atomically:
 *
 *     lock; read; change; write secrets.new; fsync; link secrets to secrets.old;
 *     rename secrets.new to secrets; fsync the directory; unlock
 *
 * A reader takes no lock: it sees the state before the rename or the one after it.  The key is
 * never in that directory: it is a file of the configuration directory, a key of the kernel's user
 * keyring, or derived from a passphrase (vault/key.c).
 *
 * Invariants, cited by tests:
 *  V1  a file that differs in one byte from the one that was written is an error, and a missing
 *      file is an empty vault;
 *  V2  a process that is killed at any moment leaves the old state or the new one, and a key for
 *      it;
 *  V3  a value lies in locked memory that no core dump contains, or in the file of the caller, and
 *      is overwritten when it is no longer needed;
 *  V4  a run gets a value only if its policy names the secret or its agent. */
#ifndef CORRAL_VAULT_VAULT_H
#define CORRAL_VAULT_VAULT_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VAULT_KEY_BYTES 32
#define VAULT_SALT_BYTES 16
#define VAULT_KEY_ID_BYTES 16

/* Bounds.  A variable of the environment has at most 128 KiB with its name. */
#define VAULT_VALUE_MAX ((size_t)64 * 1024)
#define VAULT_NAME_MAX ((size_t)128)
#define VAULT_SECRETS_MAX ((size_t)4096)
#define VAULT_FILE_MAX ((size_t)16 * 1024 * 1024)
#define VAULT_PASSPHRASE_MAX ((size_t)1024)

enum vault_key_kind { VAULT_KEY_ANY, VAULT_KEY_FILE, VAULT_KEY_KEYRING, VAULT_KEY_PASSPHRASE };

enum vault_expose { EXPOSE_ENV, EXPOSE_FILE, EXPOSE_NEVER };

/* Strings end with NUL and are "" when not set.  They belong to the vault's plaintext, or to the
 * caller that put the secret. */
struct secret {
	const char *name;
	const char *agent;     /* "": shared */
	const char *workspace; /* "": any */
	const char *host;      /* "": any; else uname(2)'s nodename */
	enum vault_expose expose;
	int64_t changed; /* seconds since 1970 */
	const unsigned char *value;
	size_t len;
};

/* Everything about the key that the header has, and the key itself in locked memory. */
struct vault_key {
	enum vault_key_kind kind; /* VAULT_KEY_ANY: there is none yet */
	uint32_t ops;             /* Argon2id, of a passphrase; else 0 */
	uint64_t memory;
	unsigned char salt[VAULT_SALT_BYTES];
	unsigned char id[VAULT_KEY_ID_BYTES]; /* a hash of the key: finds a wrong key */
	unsigned char *bytes;                 /* VAULT_KEY_BYTES; NULL: not known */
	bool pending;                         /* its file is KEY_FILE.new */
};

/* Stores a passphrase without a NUL and returns its length, or -1 when there is none; fresh is 1
 * for a new one, else 0. */
struct passphrase_source {
	long (*read)(void *arg, int fresh, char *out, size_t cap);
	void *arg;
};

struct vault_place {
	const char *dir;      /* of the vault: STATE/vault */
	const char *key_file; /* CONFIG/vault.key */
};

struct vault {
	struct vault_place place;
	struct vault_key key;
	struct passphrase_source ask;
	int lock;             /* flock(2)ed: for a writer; else -1 */
	bool exists;          /* there is a file */
	uint64_t generation;  /* saves so far */
	unsigned char *plain; /* sodium_malloc(); NULL: none */
	struct secret *list;  /* sorted by name and agent */
	size_t n, cap;
};

/* ---- store.c ---- */

enum vault_use { VAULT_READ, VAULT_WRITE };

/* Opens the vault, or an empty one where there is no file; VAULT_WRITE takes the lock.  kind is
 * the key of a new vault; an existing one with another kind is an error.  The caller calls
 * vault_close(), also after a failure. */
int vault_open(const struct vault_place *place, enum vault_use use, enum vault_key_kind kind,
	       const struct passphrase_source *ask, struct vault *ret, struct err *e);
void vault_close(struct vault *v);

/* Replaces the file.  forget: also removes the previous state, which has what was removed. */
int vault_save(struct vault *v, bool forget, struct err *e);

/* Saves under a new key of that kind. */
int vault_rekey(struct vault *v, enum vault_key_kind kind, struct err *e);

/* ---- secrets.c ---- */

/* NULL when there is none. */
const struct secret *vault_find(const struct vault *v, const char *name, const char *agent);

/* Adds or replaces; the strings and the value have to outlive the vault. */
int vault_put(struct vault *v, const struct secret *s, struct err *e);

/* False when there is none. */
bool vault_remove(struct vault *v, const char *name, const char *agent);

/* The form of a secret, which the file is checked for too; and whether a command may get a
 * variable of this name: none that Corral or a loader uses. */
int secret_check(const struct secret *s, struct err *e);
int secret_check_name(const char *name, struct err *e);
int secret_check_agent(const char *agent, struct err *e);
int secret_check_variable(const char *name, struct err *e);

extern const char *const vault_expose_names[];   /* by enum vault_expose; NULL-terminated */
extern const char *const vault_key_kind_names[]; /* by enum vault_key_kind; [0] is "" */
int vault_expose_parse(const char *text, enum vault_expose *ret, struct err *e);
int vault_key_kind_parse(const char *text, enum vault_key_kind *ret, struct err *e);

#endif
