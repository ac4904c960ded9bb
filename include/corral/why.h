/* SPDX-License-Identifier: Apache-2.0 */
/* Answers why an access is allowed or refused, and which grant would allow it. */
#ifndef CORRAL_WHY_H
#define CORRAL_WHY_H

#include "error.h"
#include "format.h"
#include "policy.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

enum corral_subject { CORRAL_SUBJECT_PATH, CORRAL_SUBJECT_HOST, CORRAL_SUBJECT_COMMAND };
enum corral_access { CORRAL_ACCESS_READ, CORRAL_ACCESS_WRITE, CORRAL_ACCESS_EXEC };

struct corral_question {
	size_t size;             /* set by the caller to sizeof */
	const char *text;        /* a path in the sandbox; or HOST, HOST:PORT or a URL */
	const char *const *argv; /* a command; ends with NULL */
	int subject;             /* enum corral_subject: which of them */
	int access;              /* enum corral_access, to a path */
};

/* Whether a run with this policy on this host would be allowed it, by which rule, where that was
 * written, and the smallest grant that allows it.  A grant was tried: the plan with it allows the
 * same access.  No grant is proposed for a credential, for Corral's own files, for a metadata
 * service, or where a floor forbids it.  Resolves the name of a host that a rule allows.  Runs
 * nothing.  *allowed (may be NULL) is 1 or 0.  The answer has the caller's rights, so it is not
 * for the command inside. */
int corral_why(const struct corral_policy *policy, const struct corral_question *question,
	       enum corral_format format, char **text, int *allowed, struct corral_error *err);

/* The refusals of one run, from the audit log of the user: each as corral_why() prints an answer,
 * with the rule of that time.  id NULL: the last run; else the id, or its last characters, at least
 * four.  *count (may be NULL) is their number. */
int corral_why_run(const char *id, enum corral_format format, char **text, uint64_t *count,
		   struct corral_error *err);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
