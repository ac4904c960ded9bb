/* SPDX-License-Identifier: Apache-2.0 */
/* The features of this host: probe, status report and self-test. */
#ifndef CORRAL_HOST_H
#define CORRAL_HOST_H

#include "error.h"
#include "format.h"
#include "policy.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

struct corral_probe {
	size_t size;         /* set by the caller to sizeof */
	int landlock_abi;    /* 0: none */
	int user_namespaces; /* 1 when they can be created */
	int seccomp;
	char userns_why[240]; /* if not: the reason and the remedy */
	char level[16];       /* "full", "standard", "minimal", "none" */
};

int corral_probe(struct corral_probe *probe, struct corral_error *err);

/* Tries every mechanism of this host, and sets a run with this policy up, without a command.
 * Reports level, engine, guarantees, and how to raise them.  *starts (may be NULL) is 1 when the
 * run would start. */
int corral_status(const struct corral_policy *policy, enum corral_format format, char **text,
		  int *starts, struct corral_error *err);

/* Plants bait on this host, attacks it without a sandbox and in runs with this policy, and
 * compares the effects on the host with the guarantees that each run reported.  program is the
 * absolute path of the corral program, which makes the attempts.  *failed (may be NULL) counts the
 * failed checks, including checks that could not be made although their guarantee is reported as
 * enforced.  Starts child processes of its own and waits for them. */
int corral_selftest(const struct corral_policy *policy, const char *program,
		    enum corral_format format, char **text, int *failed, struct corral_error *err);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
