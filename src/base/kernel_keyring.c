/* SPDX-License-Identifier: Apache-2.0 */
/* Keys in the kernel's user keyring; all keyring system calls are here.
 *
 * Should:   let every process of this user read a key, since a service or a cron job has a session
 *           keyring of its own.
 * Must not: use the session keyring, which ends with the login.
 * Fails:    closed, with errno: a key that not all of them can read is removed. */
#include "base/kernel_keyring.h"

#include <errno.h>
#include <linux/keyctl.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

/* All rights for processes that possess it; view, read and search for the user's others. */
#define PERMISSIONS 0x3f0b0000U

static long find(const char *name) {
	return syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_USER_KEYRING, "user", name, 0);
}

int kernel_keyring_put(const char *name, const void *key, size_t len) {
	long serial = syscall(SYS_add_key, "user", name, key, len, KEY_SPEC_USER_KEYRING);

	if (serial < 0) {
		return -1;
	}
	if (syscall(SYS_keyctl, KEYCTL_SETPERM, serial, PERMISSIONS) != 0) {
		int error = errno;
		kernel_keyring_drop(name);
		errno = error;
		return -1;
	}
	return 0;
}

int kernel_keyring_get(const char *name, void *ret, size_t len) {
	long serial = find(name);

	if (serial < 0) {
		bool gone = errno == ENOKEY || errno == EKEYREVOKED || errno == EKEYEXPIRED;
		errno = gone ? ENOENT : errno;
		return -1;
	}
	long got = syscall(SYS_keyctl, KEYCTL_READ, serial, ret, len);
	if (got >= 0 && (size_t)got != len) {
		errno = EINVAL; /* a key of this name that another program made */
		return -1;
	}
	return got < 0 ? -1 : 0;
}

void kernel_keyring_drop(const char *name) {
	long serial = find(name);

	if (serial >= 0) {
		/* A key that stays opens nothing any more. */
		(void)syscall(SYS_keyctl, KEYCTL_UNLINK, serial, KEY_SPEC_USER_KEYRING);
	}
}
