/* SPDX-License-Identifier: Apache-2.0 */
/* The profile of a run for Seatbelt, the sandbox of macOS, in its language SBPL.
 *
 * Theory.  A profile is a list of rules "(allow OPERATION FILTER)"; of the rules that match an
 * operation the last decides, and (deny default) decides where none matches.  The mounts of a plan
 * are ordered in the same way: a path comes after every path above it (L1).  So one rule for each
 * mount, in their order, says the same as plan_mount_visibility().  The rules about names follow:
 * each denies the paths that its pattern matches, except where a later exception of its group does,
 * so that no exception opens more than its own group closed.  Patterns become regular expressions.
 *
 * Seatbelt compares the canonical path of the file (/private/var, not /var), and at a rename only
 * the two paths, not the files beneath them.  Therefore every directory on the way to a denied or
 * protected name is kept from being renamed or put in place.
 *
 * Invariants, cited by tests:
 *  I1  no path and no pattern can add a rule: paths are parameters, patterns are in quoted strings;
 *  I2  for a canonical path the profile allows reading, writing and executing exactly where the
 *      plan does;
 *  I3  a directory that leads to a denied or protected path in a writable tree cannot be renamed.
 *
 * Pure: generated and tested on every system.  It has not been run on macOS. */
#ifndef CORRAL_PLAN_SEATBELT_SEATBELT_H
#define CORRAL_PLAN_SEATBELT_SEATBELT_H

#include "base/buf.h"
#include "plan/plan.h"

/* -D NAME=VALUE of sandbox-exec(1). */
struct seatbelt_param {
	const char *name, *value;
};

struct seatbelt_profile {
	const char *text;
	struct seatbelt_param *params;
	size_t nparams, cap;
};

/* The ports of the gate's proxies on the host's loopback; 0 for none. */
struct seatbelt_ports {
	uint16_t http, socks;
};

/* Everything belongs to the arena.  Fails with ERR_SETUP for a setting that Seatbelt cannot
 * enforce. */
int seatbelt_profile_make(struct arena *a, const struct plan *plan, struct seatbelt_ports ports,
			  struct seatbelt_profile *ret, struct err *e);

/* The parameters as comments, then the text. */
void seatbelt_profile_print(const struct seatbelt_profile *profile, struct buf *out);

#endif
