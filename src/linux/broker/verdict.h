/* What the plan says about a place. */
#ifndef CORRAL_LINUX_BROKER_VERDICT_H
#define CORRAL_LINUX_BROKER_VERDICT_H

#include "linux/broker/resolve.h"

/* A file without a name in any directory that was ever the host's: a pipe, a
 * socket, a memfd.  It is the caller's own. */
bool place_is_nowhere(const struct place *p);

/* 0, or -EACCES for what is denied. */
int verdict_look(const struct plan *plan, const struct place *p);

/* The file's content or marks change: 0, -EACCES, or -EROFS outside what is writable. */
int verdict_change(const struct plan *plan, const struct place *p);

/* A name appears in its directory: as verdict_change(), for both. */
int verdict_make(const struct plan *plan, const struct place *p);

/* A name goes or is replaced: as verdict_make(), and -EBUSY when the plan speaks
 * about that path or one beneath it, because then the rule would lose its file. */
int verdict_remove(const struct plan *plan, const struct place *p);

/* The answer for a path that was not found: what is denied is denied, be it there
 * or not. */
int verdict_missing(const struct plan *plan, const struct place *p, int error);

#endif
