/* SPDX-License-Identifier: Apache-2.0 */
/* Explains a policy before a run: the plan for this host or for a recorded one. */
#ifndef CORRAL_EXPLAIN_H
#define CORRAL_EXPLAIN_H

#include "error.h"
#include "format.h"
#include "policy.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* The resolved policy and the plan for this host; runs nothing.  argv may be NULL. */
int corral_explain(const struct corral_policy *policy, const char *const *argv,
		   enum corral_format format, char **text, struct corral_error *err);

/* The same for another host, argv may be NULL: path names a snapshot of it.  Uses no
 * fact and no file of this host, and no policy file but that of corral_policy_file(). */
int corral_explain_host(const struct corral_policy *policy, const char *path,
			const char *const *argv, enum corral_format format, char **text,
			struct corral_error *err);

/* Records the facts and files of this host that plans for this policy depend on, as JSON without
 * secrets; runs nothing.  corral(1) lists the contents. */
int corral_snapshot(const struct corral_policy *policy, char **text, struct corral_error *err);

/* One line on level, engine, workspace and network of a run, and one for each note,
 * such as an optional path that was skipped; no newline at the end. */
int corral_summary(const struct corral_policy *policy, char **text, struct corral_error *err);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
