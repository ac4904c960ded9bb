/* SPDX-License-Identifier: Apache-2.0 */
/* Files that no other user may read or write. */
#ifndef CORRAL_VAULT_PRIVATE_H
#define CORRAL_VAULT_PRIVATE_H

#include "base/err.h"

#include <stddef.h>

/* Opens a regular file that only this user can read and write; -1 with errno ENOENT in e->sys
 * where there is none. */
int private_open(const char *path, const char *what, struct err *e);

/* Reads up to cap bytes and returns their number. */
long private_read(int fd, unsigned char *out, size_t cap);

/* An error when another user owns or can write the directory. */
int private_check_dir(const char *path, struct err *e);

/* Creates path with these bytes, mode 0600, on the disk when it returns; an old one is replaced. */
int private_write(const char *path, const unsigned char *bytes, size_t len, struct err *e);

/* Puts the names of a directory on the disk. */
int private_sync_dir(const char *dir, struct err *e);

#endif
