/* SPDX-License-Identifier: Apache-2.0 */
/* The variables that tell a program of a host product where it runs, under the product's own
 * names: ASH_WORKSPACE_DIR, OBEY_CAMPAIGN_DIR. */
#ifndef CORRAL_DATA_PREFIXES_H
#define CORRAL_DATA_PREFIXES_H

#include <stdbool.h>
#include <stddef.h>

/* The source of a value. */
enum prefix_source {
	SOURCE_SANDBOX_ID,     /* a new UUID for each run */
	SOURCE_WORKSPACE,      /* the workspace's path inside */
	SOURCE_AGENT,          /* /agent, with fs.agent */
	SOURCE_SOCKET,         /* the first of net.sockets, inside */
	SOURCE_LABEL,          /* env.labels of the same name */
	SOURCE_LABEL_OR_EMPTY, /* likewise; set without one too, as the product expects it */
};

struct prefix_row {
	const char *prefix; /* PREFIX_ANY for every product without rows of its own */
	const char *name;   /* after "PREFIX_" */
	enum prefix_source source;
};

#define PREFIX_ANY "*"

extern const struct prefix_row prefix_rows[]; /* sorted by prefix, then name */
extern const size_t prefix_rows_count;

/* The prefix whose rows apply: the same, or PREFIX_ANY. */
const char *prefixes_rows_of(const char *prefix);

/* Whether a row, or Corral itself, sets "PREFIX_NAME" or "CORRAL_NAME" from the run. */
bool prefixes_compute(const char *name);

#endif
