/* Whether a place may be read or changed, by which rule, and what would allow it.
 *
 * Should:   say of every path what the kernel says to a command inside.
 * Must not: tell whether something hidden exists.
 * Fails:    closed: what no rule shows is outside. */
#ifndef CORRAL_FILES_ACCESS_H
#define CORRAL_FILES_ACCESS_H

#include "files/place.h"
#include "plan/refusal.h"

void access_judge(const struct lens *v, const struct place *p, enum access want,
		  struct verdict *ret);

/* After it: what the run's own directories do not have, and the host's may, is hidden, whether or
 * not the host has it.  A tool that reads it is told that it does not exist, as a command is. */
void access_is_hidden(const struct lens *v, const struct place *p, enum access want,
		      struct verdict *ret);

/* Whether the mode of the file, or of the directory that it would be made in, refuses the caller.
 */
bool access_is_closed(const struct place *p, enum access want);

/* As access_judge(); -1 with *e when the place is refused. */
int access_judge_or_fail(const struct lens *v, const struct place *p, enum access want,
			 struct err *e);

/* "outside", "sensitive", "protected", "unreachable": by name; NULL when allowed. */
const char *access_refusal_name(enum err_kind kind);

/* place_find() and the verdict; the place is the caller's only on success. */
int access_allowed(const struct lens *v, const char *path, unsigned how, enum access want,
		   struct place *ret, struct err *e);

#endif
