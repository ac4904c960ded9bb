/* SPDX-License-Identifier: Apache-2.0 */
/* The files that a caller in a user namespace of its own sees. */
#ifndef CORRAL_LINUX_BROKER_VIEW_H
#define CORRAL_LINUX_BROKER_VIEW_H

#include "linux/broker/resolve.h"

/* Finds the caller's root for this call: 0 or -errno. */
int view_begin(const struct call *c);
void view_end(struct broker *b);

/* The caller may have another root or mount namespace than the guard. */
static inline bool view_is_foreign(const struct broker *b) {
	return b->view != b->root;
}

/* The directory is the caller's root. */
bool view_is_root(const struct broker *b, int fd);

/* Settles what a resolved place is in the guard's own view: 0, or -EACCES. */
int view_settle(const struct call *c, struct resolved *p);

/* A procfs of a pid namespace that the guard is not in: no entry of it is the guard's. */
bool view_is_inner_proc(const struct broker *b, uint64_t dev);

/* The caller's process has this directory in its /proc.  Otherwise a magic link in it leads to a
 * file that only ptrace(2) rights would give the caller. */
bool view_is_own_proc(const struct call *c, int fd);

/* The caller's process id in that procfs. */
long view_process(const struct call *c, uint64_t dev);

/* The caller's user namespace if the file is one of its id maps, which the kernel checks against
 * the user namespace of the process that opened it; else -1. */
int view_userns_of(const struct call *c, const struct resolved *p);

#endif
