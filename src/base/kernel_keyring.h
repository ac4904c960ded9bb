/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of this user in the kernel's keyring, by name.  The kernel forgets them when the machine
 * stops. */
#ifndef CORRAL_BASE_KERNEL_KEYRING_H
#define CORRAL_BASE_KERNEL_KEYRING_H

#include <stddef.h>

/* Both return 0, or -1 with errno; ENOENT: there is no such key, or it has expired. */
int kernel_keyring_put(const char *name, const void *key, size_t len);
int kernel_keyring_get(const char *name, void *ret, size_t len);

void kernel_keyring_drop(const char *name);

#endif
