/* SPDX-License-Identifier: Apache-2.0 */
/* The command line and the policy file of corral.exe.
 *
 * The options and keys that this system cannot do, or not yet, are refused by name: none is
 * accepted and ignored (policy/subset.h). */
#ifndef CORRAL_WINDOWS_CHOICES_H
#define CORRAL_WINDOWS_CHOICES_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "policy/subset.h"

#include <stddef.h>

/* The values that no option has set. */
int choices_default(struct arena *a, struct run_choices *c, struct err *e);

/* The arguments after the verb.  A list takes one element an option; later values replace earlier
 * ones of other keys. */
int choices_read(struct arena *a, const char *const *words, size_t n, struct run_choices *c,
		 struct err *e);

/* The text of --policy, in TOML.  Its values are replaced by those of options, so it is read
 * first. */
int choices_read_policy(struct arena *a, const char *name, const char *text, size_t len,
			struct run_choices *c, struct err *e);

/* The path that --policy names, without a check of anything else; NULL: there is none. */
const char *choices_policy_file(const char *const *words, size_t n);

/* The options that work here, as --help prints them. */
void choices_help(struct buf *out);

#endif
