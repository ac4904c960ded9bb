/* SPDX-License-Identifier: Apache-2.0 */
/* Paths in the sentences of plan/refusal.c, as a shell and a policy read them. */
#ifndef CORRAL_PLAN_REFUSAL_WORDS_H
#define CORRAL_PLAN_REFUSAL_WORDS_H

#include "base/buf.h"

/* The directory of submodules, of a repository with a work tree (plan/git/protect.c). */
#define GIT_MODULES "/.git/modules"

/* The path with a backslash before each character of a pattern, after the mark ("!" or ""), and
 * quoted. */
void refusal_put_written(struct buf *out, const char *mark, const char *path);

/* The exceptions for the files that `git submodule add` changes after it has cloned into `dir`,
 * which ends with GIT_MODULES; NULL: of the current directory.  An exception of that directory
 * alone would let it fail half-way. */
void refusal_put_modules(struct buf *out, const char *dir);

#endif
