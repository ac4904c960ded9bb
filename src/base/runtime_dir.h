/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime directory of Corral, where the daemon has its sockets. */
#ifndef CORRAL_BASE_RUNTIME_DIR_H
#define CORRAL_BASE_RUNTIME_DIR_H

#include <stddef.h>

/* xdg is the caller's XDG_RUNTIME_DIR, or NULL.  -1: this user has none. */
int runtime_dir_find(const char *xdg, char *ret, size_t cap);

#endif
