/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a path against the plan: may it be read, changed, created, removed? */
#ifndef CORRAL_LINUX_BROKER_VERDICT_H
#define CORRAL_LINUX_BROKER_VERDICT_H

#include "linux/broker/resolve.h"

/* A file that never had a name in a directory: a pipe, a socket, a memfd.  It is the caller's
 * own. */
bool verdict_is_nowhere(const struct resolved *p);

/* Open for reading: 0, or -EACCES for a denied path. */
int verdict_look(const struct call *c, const struct resolved *p);

/* Read attributes or a symlink's target, of any kind of file: 0, or -EACCES for a path that is
 * denied or not shown. */
int verdict_tell(const struct call *c, const struct resolved *p);

/* Change the file's content or metadata: 0, -EACCES, or -EROFS for a path that is not writable. */
int verdict_change(const struct call *c, const struct resolved *p);

/* Create a name: as verdict_change(), for the directory and the name. */
int verdict_make(const struct call *c, const struct resolved *p);

/* With namespaces: no rule is about this real path, so that a file there may be opened, changed and
 * created, regardless of the file.  False where a rule depends on it. */
bool verdict_is_free(const struct call *c, const char *real);

/* Remove or replace a name: as verdict_make(), and -EBUSY when a rule is about that path or one
 * beneath it, because the rule would no longer apply to its file. */
int verdict_remove(const struct call *c, const struct resolved *p);

/* Create a symlink with this target: -EBUSY where a rule is about names beneath it, because these
 * would then be files with another real path; and where it leads out of a repository. */
int verdict_lead(const struct call *c, const struct resolved *p, const char *target);

/* Rename a directory, if other rules would apply to the files beneath it: -EBUSY, as for a mount
 * point; -EXDEV from one tree to another, so that mv(1) copies file by file, and each copy is
 * checked.  The same for a directory that is renamed into a repository.  A symlink: as
 * verdict_lead().  Needs from->entry. */
int verdict_move(const struct call *c, const struct resolved *from, const struct resolved *to);

/* Whether any entry that may have the name `from` may also have the name `to`.  Otherwise a rename
 * has to hold the entry that verdict_move() has checked: another run of the workspace, or a helper,
 * may put another one in its place. */
bool verdict_moves_any(const struct call *c, const struct resolved *from,
		       const struct resolved *to);

/* The error for a path that was not found: -EACCES for a denied path, whether it exists or not. */
int verdict_missing(const struct call *c, const struct resolved *p, int error);

#endif
