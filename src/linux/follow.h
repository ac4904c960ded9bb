/* SPDX-License-Identifier: Apache-2.0 */
/* Follows single files that are granted or hidden, when the host replaces them by rename.
 *
 * Theory.  A bind mount refers to a file, not to its name.  After a program outside has saved
 * a file by rename, as editors and resolvers do, the command still sees the old file; and if
 * the name is in a tree of the host that is mounted as well, the kernel removes the mount
 * with the old name, so that a read-only file would become writable, and a hidden one
 * readable.  So the supervisor polls each such name with statx(2).  When it is another file,
 * a helper process mounts it: the helper joins the sandbox's user namespace, which belongs to
 * the caller, clones the new file from a copy of the host's mounts, joins the sandbox's
 * mount namespace, attaches the clone beneath the old mount and unmounts the old one.  For a
 * hidden name it mounts a new mask, and for a generated text, such as the run's resolv.conf,
 * that text again.
 *
 * Polling is cheaper than inotify: a run that ends before the first check pays two system
 * calls, an inotify instance is one of 128 that a user has and takes milliseconds to close,
 * and network file systems send no events.  Until the next check a new secret is readable
 * by its mount; rules of fs.deny also hold by name, through the broker. */
#ifndef CORRAL_LINUX_FOLLOW_H
#define CORRAL_LINUX_FOLLOW_H

#include "plan/plan.h"

#include <stdint.h>

struct follow;

/* NULL in *ret when the plan has no file to follow. */
int follow_new(const struct plan *plan, struct follow **ret, struct err *e);

/* Kills a running helper.  NULL is fine. */
void follow_free(struct follow *f);

/* Passes the sandbox's mount namespace; f owns the descriptor, a NULL f closes it. */
void follow_begin(struct follow *f, int view);

/* The time of the next follow_look(), on the clock of `now`; -1 for never. */
int64_t follow_wake(const struct follow *f);

/* Checks the names when it is time; does not block. */
void follow_look(struct follow *f, int64_t now);

#endif
