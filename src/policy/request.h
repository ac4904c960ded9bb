/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of an agent's table and of a skill, and how the policy answers them.
 *
 * An [agent.ID] table and the [requires] of a skill are layers that grant nothing: they ask.  The
 * policy that results is the intersection, key by key, with the grants of all other layers:
 *
 *   limits, choices, switches   the stricter of the two
 *   fs.read, fs.write           a path that a granted tree contains, symlinks resolved
 *   net.allow                   a rule whose hosts and ports net.mode and net.allow cover
 *   other lists that grant      the common items; of net.private also smaller networks
 *   lists that restrict         both together (an agent's table only)
 *   commands                    the common names
 *
 * A key that a table does not name stays as it is.  A skill is closed: a list that it does not name
 * is empty, and without a request about the network there is none.  So no request can widen a
 * policy, and it does not matter who wrote the file. */
#ifndef CORRAL_POLICY_REQUEST_H
#define CORRAL_POLICY_REQUEST_H

#include "policy/internal.h"

struct asker {
	struct arena *a;
	const char *name;           /* "agent bot", "skill pdf" */
	const struct policy_fs *fs; /* NULL: the file system itself */
	const char *home;           /* or NULL */
	bool closed;                /* a skill */
};

/* Intersects the policy with the layer, and adds the answers to p->requests. */
int request_apply(const struct asker *by, const struct policy *layer, struct policy *p,
		  struct err *e);

/* Whether an agent's table, or a skill, may name the key. */
bool request_agent_may(const struct key *k);
bool request_skill_may(const struct key *k);

/* ---- shared by the files request*.c ---- */

struct asking {
	const struct asker *by;
	const struct policy *layer;
	struct policy *p;          /* becomes the intersection */
	const struct policy *base; /* before; with the scalars of the layer */
	size_t cap;
	struct err *e;
};

/* Each records the answer to one item; returns -1 out of memory. */
int request_granted(struct asking *q, enum key_id key, const struct item *it);
int request_refused(struct asking *q, enum key_id key, const struct item *it, const char *why,
		    const char *fix);
int request_reduced(struct asking *q, enum key_id key, const struct item *it, const char *given,
		    const char *why);
/* "--read PATH": the option that grants the item; NULL: none does. */
const char *request_option(const struct asking *q, enum key_id key, const struct item *it);

/* request_paths.c, request_net.c */
int request_paths(struct asking *q);
int request_net(struct asking *q);

/* request_part.c: why a path beneath a granted tree cannot be granted alone: a rule that holds in
 * the tree might not hold for the part.  NULL: it can be. */
struct part {
	const char *tree, *path; /* canonical */
	bool write;
};
const char *request_part_obstacle(struct asking *q, const struct part *part);
/* Which rule or table hides the path itself; NULL: none. */
const char *request_hidden_by(struct asking *q, const struct part *part);

#endif
