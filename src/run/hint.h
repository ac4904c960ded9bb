/* SPDX-License-Identifier: Apache-2.0 */
/* Guesses from the last output of a failed command which rule of the sandbox refused it.
 *
 * Should:   keep the last bytes of each stream, and search them only when the
 *           command has failed.
 * Must not: look up on the host a path that the output names and the sandbox does not show:
 *           the hint would reveal to the command whether it exists. */
#ifndef CORRAL_RUN_HINT_H
#define CORRAL_RUN_HINT_H

#include "data/hints.h"
#include "backend/journal.h"
#include "plan/plan.h"
#include "run/netlog.h"

/* A stack trace of Node or Python fits, with its message at either end. */
#define OUTPUT_TAIL_MAX ((size_t)4096)

struct output_tail {
	char text[OUTPUT_TAIL_MAX];
	size_t len;
};

void hint_record(struct output_tail *o, const char *data, size_t len);

/* Room for two destinations (a name of 253 bytes and a port each) and the gate's reason; or for a
 * reason and a remedy of plan/refusal.h. */
#define ADVICE_TEXT 1280

struct advice {
	const struct hint *hint; /* NULL: none */
	const char *rule;        /* replaces the rule of the row; or NULL */
	char path[256];          /* the path in the line, or "" */
	char text[ADVICE_TEXT];  /* replaces the text of the row; or "" */
};

/* streams: the likelier one first. */
void hint_find(const struct plan *plan, const struct policy *policy,
	       const struct output_tail *const streams[], size_t nstreams, struct advice *ret);

/* Names the value of a limit and the option that raises it.  False: the run has no such limit. */
bool hint_for_limit(const struct plan *plan, const struct policy *policy, const struct hint *hint,
		    struct advice *ret);

/* Replaces the advice when the journal records a refused hard link: a recorded refusal is more
 * certain than a phrase in the output.  j may be NULL. */
void hint_for_link(const struct journal *j, const struct plan *plan, const struct policy *policy,
		   struct advice *ret);

/* Likewise when the gate refused a destination, and either the output names it, or the output's
 * own advice concerns the network, or there is none.  Removes advice about the network when an
 * allowed connection failed outside. */
void hint_for_network(const struct netlog *n, const struct output_tail *const streams[],
		      size_t nstreams, struct advice *ret);

const char *hint_advice_text(const struct advice *a);
const char *hint_advice_rule(const struct advice *a);

/* The value of a limit as its option takes it: a size with the largest unit that divides it ("2M"),
 * a time in seconds or with "ms". */
#define HINT_LIMIT_TEXT 32
const char *hint_limit_text(enum key_id key, uint64_t value, char out[HINT_LIMIT_TEXT]);

#endif
