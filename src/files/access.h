/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a file tool may read or change a place, by which rule, and the option that allows it.
 *
 * Should:   give the same answer for every path as the kernel gives a command in the sandbox.
 * Must not: reveal whether a hidden file exists.
 * Fails:    closed: a path that no rule grants is outside. */
#ifndef CORRAL_FILES_ACCESS_H
#define CORRAL_FILES_ACCESS_H

#include "files/place.h"
#include "plan/refusal.h"

void access_judge(const struct lens *v, const struct place *p, enum access want,
		  struct verdict *ret);

/* After access_judge(): a path that is missing in the run's own directories, and may exist on the
 * host, is hidden in both cases.  A tool that reads it gets ENOENT, as a command does. */
void access_is_hidden(const struct lens *v, const struct place *p, enum access want,
		      struct verdict *ret);

/* Whether the mode of the file, or of the directory of a new file, refuses the caller. */
bool access_is_closed(const struct place *p, enum access want);

/* Likewise whether its name may be removed, replaced or given to another file.  Hard links are no
 * concern: its content is not touched.  CAUSE_KEPT for an entry that no command could move: a mount
 * point, a directory with one in it, a git repository. */
void access_judge_name(const struct lens *v, const struct place *p, struct verdict *ret);

/* -1 with the reason and the remedy of a refusal; 0 for ERR_NONE. */
int access_fail(const struct verdict *verdict, struct err *e);

/* As access_judge(); -1 with *e for a refusal. */
int access_judge_or_fail(const struct lens *v, const struct place *p, enum access want,
			 struct err *e);

/* "outside", "sensitive", "protected", "unreachable"; NULL when allowed. */
const char *access_refusal_name(enum err_kind kind);

/* place_find() and access_judge(); the caller owns the place only on success. */
int access_allowed(const struct lens *v, const char *path, unsigned how, enum access want,
		   struct place *ret, struct err *e);

#endif
