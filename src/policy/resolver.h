/* SPDX-License-Identifier: Apache-2.0 */
/* The state of policy_resolve(), shared by resolve.c and narrow.c. */
#ifndef CORRAL_POLICY_RESOLVER_H
#define CORRAL_POLICY_RESOLVER_H

#include "data/profiles.h"
#include "policy/agent.h"

/* The files, lowest first. */
enum source_id {
	SOURCE_SYSTEM,
	SOURCE_USER,
	SOURCE_XDG,
	SOURCE_PROJECT,
	SOURCE_CAMPAIGN,
	SOURCE_FILE,
	SOURCE_COUNT
};

struct source {
	const char *name; /* NULL: there is no such file */
	struct doc *doc;
	bool trusted;
};

struct resolver {
	struct arena *a;
	const struct policy_inputs *in;
	struct source sources[SOURCE_COUNT];
	const char *workspace;
	struct policy policy, floor;
	struct skill skill;
	/* A profile's row with a value that is not implemented: an error, unless a file or a
	 * setting replaces the value. */
	const struct profile_row *pending[KEY_COUNT];
};

struct where resolve_where(const struct resolver *r, enum source_id id);

/* An exception of an untrusted file concerns only that file's own rules (P3). */
void resolve_bind(struct policy *layer);

/* narrow.c: intersects the policy with the agent's tables and the skill's requests (P6). */
int narrow_policy(struct resolver *r, struct err *e);

#endif
