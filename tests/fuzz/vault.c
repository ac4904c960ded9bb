/* SPDX-License-Identifier: Apache-2.0 */
/* The vault's file, damaged or made by somebody else.
 *
 * An input is the plaintext of a vault, and also a whole file.  A plaintext that is accepted can
 * be sealed, and opens with the same secrets; a file that was not sealed with the key never opens.
 */
#include "vault/format.h"

#include "fuzz.h"

#include <sodium.h>

static void start(struct vault *v) {
	HOLDS(sodium_init() >= 0);
	*v = (struct vault){.lock = -1};
	v->key.kind = VAULT_KEY_FILE;
	v->key.bytes = sodium_malloc(VAULT_KEY_BYTES);
	HOLDS(v->key.bytes != NULL);
	memset(v->key.bytes, 1, VAULT_KEY_BYTES);
}

static void same(const struct secret *a, const struct secret *b) {
	HOLDS(strcmp(a->name, b->name) == 0 && strcmp(a->agent, b->agent) == 0);
	HOLDS(strcmp(a->workspace, b->workspace) == 0 && strcmp(a->host, b->host) == 0);
	HOLDS(a->expose == b->expose && a->changed == b->changed && a->len == b->len);
	HOLDS(a->len == 0 || memcmp(a->value, b->value, a->len) == 0);
}

static void seal_and_open(const struct vault *v) {
	struct vault w;
	struct err e = {0};
	unsigned char *file = NULL;
	size_t len = 0;
	start(&w);
	HOLDS(format_seal(v, &file, &len, &e) == 0);
	HOLDS(format_open(file, len, &w, &e) == 0 && w.n == v->n);
	for (size_t i = 0; i < v->n; i++) {
		same(&v->list[i], &w.list[i]);
		HOLDS(vault_find(&w, v->list[i].name, v->list[i].agent) == &w.list[i]);
	}
	free(file);
	vault_close(&w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
	struct vault v;
	struct err e = {0};
	uint8_t *copy = malloc(size == 0 ? 1 : size); /* exact, for the sanitizer */
	HOLDS(copy != NULL);
	if (size > 0) {
		memcpy(copy, data, size);
	}
	start(&v);
	HOLDS(format_open(copy, size, &v, &e) != 0 && e.what[0] != '\0');
	vault_close(&v);
	start(&v);
	if (format_parse(copy, size, &v, &e) == 0) {
		seal_and_open(&v);
	}
	vault_close(&v);
	free(copy);
	return 0;
}
