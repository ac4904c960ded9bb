/* SPDX-License-Identifier: Apache-2.0 */
/* Refuses to run with different real, effective, saved or file-system ids, or set-user-id.
 *
 * A process with different ids can switch between them, and so could the command.  A
 * program that the kernel started with more privileges than its caller has (AT_SECURE)
 * would read an environment that the caller chose.
 *
 * Should:   run before anything is read from HOME, the environment or a file.
 * Must not: call setfsuid(2) to query the id: service managers filter it.
 * Fails:    closed. */
#ifndef CORRAL_BASE_CREDENTIALS_H
#define CORRAL_BASE_CREDENTIALS_H

#include "base/err.h"

#include <sys/types.h>

/* 0, or -1 with ERR_SETUP. */
int credentials_check(struct err *e);

/* The same, and the ids. */
int credentials_read(uid_t *ret_uid, gid_t *ret_gid, struct err *e);

#endif
