/* What the plan says about a place. */
#ifndef CORRAL_LINUX_BROKER_VERDICT_H
#define CORRAL_LINUX_BROKER_VERDICT_H

#include "linux/broker/resolve.h"

/* A file without a name in any directory that was ever the host's: a pipe, a
 * socket, a memfd.  It is the caller's own. */
bool verdict_is_nowhere(const struct resolved *p);

/* 0, or -EACCES for what is denied. */
int verdict_look(const struct call *c, const struct resolved *p);

/* What is read of a file without opening it, of whatever kind: 0, or -EACCES for what is
 * denied or not shown. */
int verdict_tell(const struct call *c, const struct resolved *p);

/* The file's content or marks change: 0, -EACCES, or -EROFS outside what is writable. */
int verdict_change(const struct call *c, const struct resolved *p);

/* A name appears in its directory: as verdict_change(), for both. */
int verdict_make(const struct call *c, const struct resolved *p);

/* A name goes or is replaced: as verdict_make(), and -EBUSY when the plan speaks
 * about that path or one beneath it, because then the rule would lose its file. */
int verdict_remove(const struct call *c, const struct resolved *p);

/* A symlink with these words appears at the place: -EBUSY where a rule speaks of names
 * beneath it, which would then be files that are judged by another path. */
int verdict_lead(const struct call *c, const struct resolved *p, const char *words);

/* A directory takes another name, and what lies beneath would be judged otherwise:
 * -EBUSY, as for a mount point; -EXDEV from one tree to another, so that who moves it
 * copies file by file, and each is judged.  A symlink: as verdict_lead(). */
int verdict_move(const struct call *c, const struct resolved *from, const struct resolved *to);

/* The answer for a path that was not found: what is denied is denied, be it there
 * or not. */
int verdict_missing(const struct call *c, const struct resolved *p, int error);

#endif
