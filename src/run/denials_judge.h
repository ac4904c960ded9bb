/* SPDX-License-Identifier: Apache-2.0 */
/* How a record of the journal becomes a denial: one file for each kind of object. */
#ifndef CORRAL_RUN_DENIALS_JUDGE_H
#define CORRAL_RUN_DENIALS_JUDGE_H

#include "run/denials.h"

struct judging {
	struct arena *a;
	const struct plan *plan;
	const struct policy *policy;
	const struct host *host;
};

/* The host's path for a path inside: by the mount that shows it, else by its own name. */
const char *denials_host_path(struct arena *a, const struct plan *plan, const char *path);

/* These return false for a refusal that is no denial: no rule causes it, or the host refuses it as
 * well. */

/* A program that the sandbox shows, and that the command may not execute. */
bool denied_exec_judge(const struct judging *g, const struct journal_refusal *r,
		       struct denial *ret);

/* Whether the caller could execute the file on the host. */
bool denied_exec_works(const char *path);

/* A connect to an address, where no gate decides: there is no network. */
bool denied_net_judge(const struct judging *g, const struct journal_refusal *r, struct denial *ret);

/* A limit that the broker reports. */
bool denied_limits_judge(const struct judging *g, const struct journal_refusal *r,
			 struct denial *ret);

#endif
