/* SPDX-License-Identifier: Apache-2.0 */
/* The vault's key in the kernel's user keyring; all keyring system calls are here.
 *
 * Should:   name the key after its id, so that an old and a new key exist side by side during a
 *           rekey (V2); let every process of this user read it, since a service or a cron job has
 *           a session keyring of its own.
 * Must not: use the session keyring, which ends with the login.
 * Fails:    closed: without the key the vault cannot be opened.  The kernel forgets the keyring
 *           when the machine stops. */
#include "vault/key.h"

#include <errno.h>
#include <linux/keyctl.h>
#include <sodium.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#define WHERE "vault"

/* All rights for processes that possess it; view, read and search for the user's others. */
#define PERMISSIONS 0x3f0b0000U

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

static long find(const unsigned char id[VAULT_KEY_ID_BYTES]) {
	struct description d = describe(id);
	return syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_USER_KEYRING, "user", d.text, 0);
}

static int unavailable(struct err *e, const char *what) {
	int sys = errno;
	(void)err_set(e, ERR_SETUP, WHERE, "%s", what);
	e->sys = sys;
	return err_fix(e, "containers often refuse keyrings; use a key file: --key file");
}

int keyring_add(const unsigned char id[VAULT_KEY_ID_BYTES], const unsigned char *key,
		struct err *e) {
	struct description d = describe(id);
	long serial = syscall(SYS_add_key, "user", d.text, key, (size_t)VAULT_KEY_BYTES,
			      KEY_SPEC_USER_KEYRING);
	if (serial < 0) {
		return unavailable(e, "cannot add a key to the kernel's user keyring");
	}
	if (syscall(SYS_keyctl, KEYCTL_SETPERM, serial, PERMISSIONS) != 0) {
		(void)unavailable(e, "cannot set the permissions of the key in the user keyring");
		keyring_remove(id);
		return -1;
	}
	return 0;
}

int keyring_read(const unsigned char id[VAULT_KEY_ID_BYTES], unsigned char *ret_key,
		 struct err *e) {
	long serial = find(id);
	if (serial < 0 && (errno == ENOKEY || errno == EKEYREVOKED || errno == EKEYEXPIRED)) {
		(void)err_set(e, ERR_SETUP, WHERE,
			      "the vault's key is not in the kernel's user keyring, which is empty "
			      "after every start of the machine");
		return err_fix(e, "remove the vault and import the secrets again: man corral, "
				  "SECRETS");
	}
	if (serial < 0 || syscall(SYS_keyctl, KEYCTL_READ, serial, ret_key,
				  (size_t)VAULT_KEY_BYTES) != VAULT_KEY_BYTES) {
		return unavailable(e, "cannot read the vault's key from the kernel's user keyring");
	}
	return 0;
}

void keyring_remove(const unsigned char id[VAULT_KEY_ID_BYTES]) {
	long serial = find(id);
	if (serial >= 0) {
		/* A key that stays opens no vault any more. */
		(void)syscall(SYS_keyctl, KEYCTL_UNLINK, serial, KEY_SPEC_USER_KEYRING);
	}
}
