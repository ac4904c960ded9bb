/* SPDX-License-Identifier: Apache-2.0 */
/* The options of a run on macOS, as a policy. */
#ifndef CORRAL_MACOS_CHOICES_H
#define CORRAL_MACOS_CHOICES_H

#include "base/arena.h"
#include "base/err.h"
#include "plan/host.h"
#include "policy/policy.h"

struct choices {
	struct policy policy;
	bool json;    /* --json: the result as JSON, with the output in it */
	bool profile; /* --seatbelt: print the profile, run nothing */
	char **argv;  /* the command; argv[0] is NULL when there is none */
};

/* Reads the words after the verb. */
int choices_read(struct arena *a, const struct host *h, char **words, struct choices *ret,
		 struct err *e);

#endif
