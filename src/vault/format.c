/* SPDX-License-Identifier: Apache-2.0 */
/* Encodes, encrypts, decrypts and parses the vault's file.
 *
 * Should:   authenticate every byte of the file, header included (V1); bound every number of the
 *           header before it is used, because the header of a damaged file is read before the key.
 * Must not: leave plaintext in memory that is not locked (V3); do any input or output.
 * Fails:    closed: a file that is not exactly what format_seal() wrote is an error. */
#include "vault/format.h"

#include "base/auto.h"

#include <limits.h>
#include <sodium.h>
#include <string.h>

#define WHERE "vault"
#define VERSION 1

static const unsigned char magic[8] = {'C', 'R', 'L', 'V', 'A', 'U', 'L', 'T'};

/* The plaintext is padded to whole pages: its length says little about the values. */
#define PAGE ((size_t)4096)

/* Argon2id of a header: more would let a damaged file exhaust the memory. */
#define OPS_MAX 16
#define MEMORY_MAX ((uint64_t)1024 * 1024 * 1024)

#define TAG crypto_aead_xchacha20poly1305_ietf_ABYTES

_Static_assert(VAULT_KEY_BYTES == crypto_aead_xchacha20poly1305_ietf_KEYBYTES, "key");
_Static_assert(sizeof(((struct format_header *)0)->nonce) ==
		       crypto_aead_xchacha20poly1305_ietf_NPUBBYTES,
	       "nonce");
_Static_assert(VAULT_SALT_BYTES == crypto_pwhash_SALTBYTES, "salt");

static int damaged(struct err *e, const char *how) {
	return err_set(e, ERR_SETUP, WHERE, "the vault is damaged: %s", how);
}

/* ---- integers ---- */

static void put(unsigned char *out, uint64_t n, size_t bytes) {
	for (size_t i = 0; i < bytes; i++) {
		out[i] = (unsigned char)(n >> (8 * i));
	}
}

static uint64_t get(const unsigned char *from, size_t bytes) {
	uint64_t n = 0;
	for (size_t i = 0; i < bytes; i++) {
		n |= (uint64_t)from[i] << (8 * i);
	}
	return n;
}

/* ---- the header ---- */

static void write_header(const struct format_header *h, unsigned char out[FORMAT_HEADER_BYTES]) {
	memset(out, 0, FORMAT_HEADER_BYTES);
	memcpy(out, magic, sizeof magic);
	out[8] = VERSION;
	out[9] = (unsigned char)h->key.kind;
	put(out + 12, h->key.ops, 4);
	put(out + 16, h->key.memory, 8);
	memcpy(out + 24, h->key.salt, VAULT_SALT_BYTES);
	memcpy(out + 40, h->key.id, VAULT_KEY_ID_BYTES);
	put(out + 56, h->generation, 8);
	memcpy(out + 64, h->nonce, sizeof h->nonce);
	put(out + 88, h->length, 8);
}

static int check_key(const struct vault_key *k, struct err *e) {
	bool derived = k->kind == VAULT_KEY_PASSPHRASE;
	bool stored = k->kind == VAULT_KEY_FILE || k->kind == VAULT_KEY_KEYRING;
	if (!derived && !stored) {
		return damaged(e, "its header has an unknown kind of key");
	}
	bool cost = k->ops >= 1 && k->ops <= OPS_MAX && k->memory >= crypto_pwhash_MEMLIMIT_MIN &&
		    k->memory <= MEMORY_MAX;
	if (derived ? !cost : k->ops != 0 || k->memory != 0) {
		return damaged(e, "its header has impossible Argon2id parameters");
	}
	return 0;
}

int format_read_header(const unsigned char *file, size_t len, struct format_header *ret,
		       struct err *e) {
	struct format_header h = {0};
	if (len < sizeof magic || memcmp(file, magic, sizeof magic) != 0) {
		return damaged(e, "it does not begin like a vault");
	}
	if (len < FORMAT_HEADER_BYTES) {
		return damaged(e, "it ends within its header");
	}
	if (file[8] != VERSION) {
		(void)err_set(e, ERR_SETUP, WHERE,
			      "the vault has format version %u; this version of Corral reads "
			      "version %d",
			      file[8], VERSION);
		return err_fix(e, "use the version of Corral that wrote it");
	}
	h.key.kind = (enum vault_key_kind)file[9];
	h.key.ops = (uint32_t)get(file + 12, 4);
	h.key.memory = get(file + 16, 8);
	memcpy(h.key.salt, file + 24, VAULT_SALT_BYTES);
	memcpy(h.key.id, file + 40, VAULT_KEY_ID_BYTES);
	h.generation = get(file + 56, 8);
	memcpy(h.nonce, file + 64, sizeof h.nonce);
	h.length = get(file + 88, 8);
	if (check_key(&h.key, e) != 0) {
		return -1;
	}
	if (get(file + 10, 2) != 0 || len > VAULT_FILE_MAX ||
	    h.length != len - FORMAT_HEADER_BYTES || h.length < TAG) {
		return damaged(e, "its length is not the one that its header has");
	}
	*ret = h;
	return 0;
}

/* ---- the plaintext: count 4, then the secrets, then zeros ---- */

/* A secret: expose 1, changed 8, then name, agent, workspace, host with their NUL and value, each
 * after its length 4. */
#define FIXED 9
#define FIELDS 5

struct field {
	const void *bytes;
	size_t len;
};

static void fields_of(const struct secret *s, struct field out[FIELDS]) {
	out[0] = (struct field){s->name, strlen(s->name) + 1};
	out[1] = (struct field){s->agent, strlen(s->agent) + 1};
	out[2] = (struct field){s->workspace, strlen(s->workspace) + 1};
	out[3] = (struct field){s->host, strlen(s->host) + 1};
	out[4] = (struct field){s->value, s->len};
}

static size_t secret_size(const struct secret *s) {
	struct field f[FIELDS];
	size_t n = FIXED;
	fields_of(s, f);
	for (size_t i = 0; i < FIELDS; i++) {
		n += 4 + f[i].len;
	}
	return n;
}

static unsigned char *write_secret(unsigned char *at, const struct secret *s) {
	struct field f[FIELDS];
	at[0] = (unsigned char)s->expose;
	put(at + 1, (uint64_t)s->changed, 8);
	at += FIXED;
	fields_of(s, f);
	for (size_t i = 0; i < FIELDS; i++) {
		put(at, f[i].len, 4);
		if (f[i].len > 0) {
			memcpy(at + 4, f[i].bytes, f[i].len);
		}
		at += 4 + f[i].len;
	}
	return at;
}

struct reader {
	const unsigned char *at, *end;
};

static bool read_field(struct reader *r, size_t max, struct field *ret) {
	if (r->end - r->at < 4) {
		return false;
	}
	uint64_t len = get(r->at, 4);
	if (len > max || len > (uint64_t)(r->end - r->at - 4)) {
		return false;
	}
	*ret = (struct field){r->at + 4, (size_t)len};
	r->at += 4 + len;
	return true;
}

/* One string: the NUL at its end is its only one. */
static bool read_text(struct reader *r, size_t max, const char **ret) {
	struct field f;
	if (!read_field(r, max + 1, &f) || f.len == 0 ||
	    memchr(f.bytes, '\0', f.len) != (const char *)f.bytes + f.len - 1) {
		return false;
	}
	*ret = f.bytes;
	return true;
}

static bool read_secret(struct reader *r, struct secret *ret) {
	struct field value;
	if (r->end - r->at < FIXED || r->at[0] > EXPOSE_NEVER) {
		return false;
	}
	ret->expose = (enum vault_expose)r->at[0];
	ret->changed = (int64_t)get(r->at + 1, 8);
	r->at += FIXED;
	if (!read_text(r, VAULT_NAME_MAX, &ret->name) ||
	    !read_text(r, VAULT_NAME_MAX, &ret->agent) ||
	    !read_text(r, PATH_MAX, &ret->workspace) || !read_text(r, VAULT_NAME_MAX, &ret->host) ||
	    !read_field(r, VAULT_VALUE_MAX, &value)) {
		return false;
	}
	ret->value = value.bytes;
	ret->len = value.len;
	return true;
}

int format_parse(const unsigned char *plain, size_t len, struct vault *v, struct err *e) {
	struct reader r = {plain + 4, plain + len};
	uint64_t count = len < 4 ? UINT64_MAX : get(plain, 4);
	if (count > VAULT_SECRETS_MAX) {
		return damaged(e, "it holds an impossible number of secrets");
	}
	for (uint64_t i = 0; i < count; i++) {
		struct secret s = {0};
		struct err unused = {0};
		if (!read_secret(&r, &s) || secret_check(&s, &unused) != 0 ||
		    vault_find(v, s.name, s.agent) != NULL) {
			return damaged(e, "a secret in it cannot be parsed");
		}
		if (vault_put(v, &s, e) != 0) {
			return -1;
		}
	}
	for (; r.at < r.end; r.at++) {
		if (*r.at != 0) {
			return damaged(e, "bytes follow its last secret");
		}
	}
	return 0;
}

/* ---- the file ---- */

int format_open(const unsigned char *file, size_t len, struct vault *v, struct err *e) {
	struct format_header h;
	unsigned long long plain_len = 0;
	if (format_read_header(file, len, &h, e) != 0) {
		return -1;
	}
	v->plain = sodium_malloc((size_t)h.length);
	if (v->plain == NULL) {
		return err_memory(e, WHERE);
	}
	if (crypto_aead_xchacha20poly1305_ietf_decrypt(
		    v->plain, &plain_len, NULL, file + FORMAT_HEADER_BYTES, h.length, file,
		    FORMAT_HEADER_BYTES, h.nonce, v->key.bytes) != 0) {
		return damaged(e, "its content was changed or cut short");
	}
	v->generation = h.generation;
	return format_parse(v->plain, (size_t)plain_len, v, e);
}

static size_t plain_size(const struct vault *v) {
	size_t n = 4;
	for (size_t i = 0; i < v->n; i++) {
		n += secret_size(&v->list[i]);
	}
	return (n + PAGE - 1) / PAGE * PAGE;
}

static void write_plain(const struct vault *v, unsigned char *out, size_t len) {
	unsigned char *at = out + 4;
	memset(out, 0, len);
	put(out, v->n, 4);
	for (size_t i = 0; i < v->n; i++) {
		at = write_secret(at, &v->list[i]);
	}
}

int format_seal(const struct vault *v, unsigned char **ret, size_t *ret_len, struct err *e) {
	size_t len = plain_size(v), total = FORMAT_HEADER_BYTES + len + TAG;
	struct format_header h = {.key = v->key, .generation = v->generation, .length = len + TAG};
	if (total > VAULT_FILE_MAX) {
		(void)err_set(e, ERR_USAGE, WHERE, "the vault would be larger than %zu MiB",
			      VAULT_FILE_MAX >> 20);
		return err_fix(e, "remove secrets: corral secret rm NAME");
	}
	auto_free unsigned char *file = malloc(total);
	unsigned char *plain = sodium_malloc(len);
	if (file == NULL || plain == NULL) {
		sodium_free(plain);
		return err_memory(e, WHERE);
	}
	write_plain(v, plain, len);
	randombytes_buf(h.nonce, sizeof h.nonce);
	write_header(&h, file);
	(void)crypto_aead_xchacha20poly1305_ietf_encrypt(/* cannot fail */
							 file + FORMAT_HEADER_BYTES, NULL, plain,
							 len, file, FORMAT_HEADER_BYTES, NULL,
							 h.nonce, v->key.bytes);
	sodium_free(plain);
	*ret = take_ptr(file);
	*ret_len = total;
	return 0;
}
