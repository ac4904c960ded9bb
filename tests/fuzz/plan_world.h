/* SPDX-License-Identifier: Apache-2.0 */
/* A host and a policy that a text describes, one fact a line:
 *
 *   d|f|l|s|o PATH [TEXT]     a directory, file, link, socket, other entry; of a
 *                             link where it leads, of a file what it holds
 *   c PATH                    a file that the caller cannot reach
 *   e NAME=VALUE              a variable of the caller
 *   k KEY VALUE               a setting of the policy
 *   h WORD                    root, homeless, no-state, nolandlock, abi4, abi7,
 *                             nouserns, noseccomp, memory, pids, cpu, broker */
#ifndef CORRAL_TESTS_FUZZ_PLAN_WORLD_H
#define CORRAL_TESTS_FUZZ_PLAN_WORLD_H

#include "base/arena.h"
#include "plan/plan.h"
#include "policy/internal.h"

#define NODES_MAX 96
#define VARIABLES_MAX 16

struct node {
	char kind; /* as in the text; parents are directories without being named */
	const char *path, *text;
};

struct world {
	struct arena a;
	struct node nodes[NODES_MAX];
	size_t n;
	const char *environ[VARIABLES_MAX + 1];
	size_t nenviron;
	struct host h;
	struct policy p;
};

/* Where a path leads, through a link at its end too if last; NULL when it leads nowhere. */
char *world_walk(struct world *w, const char *path, bool last);

/* Everything is in w->a, which the caller ends. */
void world_init(struct world *w, const uint8_t *data, size_t size);

#endif
