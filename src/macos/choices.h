/* SPDX-License-Identifier: Apache-2.0 */
/* The options of a run on macOS, as a policy. */
#ifndef CORRAL_MACOS_CHOICES_H
#define CORRAL_MACOS_CHOICES_H

#include "base/arena.h"
#include "base/err.h"
#include "plan/host.h"
#include "policy/policy.h"
#include "policy/subset.h"

struct choices {
	struct run_choices run; /* seatbelt: print the profile, run nothing */
	struct policy policy;   /* its values */
};

/* Reads the words after the verb. */
int choices_read(struct arena *a, const struct host *h, const char *const *words, size_t n,
		 struct choices *ret, struct err *e);

/* The options that work here, as --help prints them. */
void choices_help(struct buf *out);

#endif
