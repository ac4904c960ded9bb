/* SPDX-License-Identifier: Apache-2.0 */
/* The vault's key in the kernel's user keyring.
 *
 * Should:   name the key after its id, so that an old and a new key exist side by side during a
 *           rekey (V2).
 * Must not: leave a key behind that was not stored completely.
 * Fails:    closed: without the key the vault cannot be opened.  The kernel forgets the keyring
 *           when the machine stops. */
#include "vault/key.h"

#include "base/kernel_keyring.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>

#define WHERE "vault"

struct description {
	char text[sizeof "corral:vault:" + (size_t)2 * VAULT_KEY_ID_BYTES];
};

static struct description describe(const unsigned char id[VAULT_KEY_ID_BYTES]) {
	struct description d;
	char hex[(size_t)2 * VAULT_KEY_ID_BYTES + 1];
	(void)sodium_bin2hex(hex, sizeof hex, id, VAULT_KEY_ID_BYTES);
	(void)snprintf(d.text, sizeof d.text, "corral:vault:%s", hex);
	return d;
}

static int unavailable(struct err *e, const char *what) {
	int sys = errno;
	(void)err_set(e, ERR_SETUP, WHERE, "%s", what);
	e->sys = sys;
	return err_fix(e, "containers often refuse keyrings; use a key file: --key file");
}

int keyring_add(const unsigned char id[VAULT_KEY_ID_BYTES], const unsigned char *key,
		struct err *e) {
	return kernel_keyring_put(describe(id).text, key, VAULT_KEY_BYTES) == 0
		       ? 0
		       : unavailable(e, "cannot add a key to the kernel's user keyring");
}

int keyring_read(const unsigned char id[VAULT_KEY_ID_BYTES], unsigned char *ret_key,
		 struct err *e) {
	if (kernel_keyring_get(describe(id).text, ret_key, VAULT_KEY_BYTES) == 0) {
		return 0;
	}
	if (errno != ENOENT) {
		return unavailable(e, "cannot read the vault's key from the kernel's user keyring");
	}
	(void)err_set(e, ERR_SETUP, WHERE,
		      "the vault's key is not in the kernel's user keyring, which is empty after "
		      "every start of the machine");
	return err_fix(e, "remove the vault and import the secrets again: man corral, SECRETS");
}

void keyring_remove(const unsigned char id[VAULT_KEY_ID_BYTES]) {
	kernel_keyring_drop(describe(id).text);
}
