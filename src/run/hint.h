/* Which rule of the sandbox a failed command probably met, from its last words.
 *
 * Should:   keep the end of each stream as it passes, and look only when the
 *           command has failed.
 * Must not: ask the host about a path that the command names and the view does not show:
 *           whether it exists there would be an answer to the command's question. */
#ifndef CORRAL_RUN_HINT_H
#define CORRAL_RUN_HINT_H

#include "data/hints.h"
#include "linux/journal.h"
#include "plan/plan.h"
#include "run/netlog.h"

/* A stack trace of Node or Python fits, with its message at either end. */
#define OVERHEAR_MAX ((size_t)4096)

struct overheard {
	char text[OVERHEAR_MAX];
	size_t len;
};

void hint_listen(struct overheard *o, const char *data, size_t len);

/* A place twice, each a name of 253 bytes and a port; the gate's reason; the words between.  Or a
 * reason and a remedy of plan/refusal.h. */
#define ADVICE_TEXT 1280

struct advice {
	const struct hint *hint; /* NULL: none */
	const char *rule;        /* instead of the row's own; or NULL */
	char path[256];          /* that the line names, or "" */
	char text[ADVICE_TEXT];  /* instead of the row's own, which does not know; or "" */
};

/* streams: the likelier one first. */
void hint_find(const struct plan *plan, const struct policy *policy,
	       const struct overheard *const streams[], size_t nstreams, struct advice *ret);

/* A limit that the run has: its value, and the option that raises it.  False: the run has it not.
 */
bool hint_for_limit(const struct plan *plan, const struct policy *policy, const struct hint *hint,
		    struct advice *ret);

/* Instead, where pid 1 saw what happened: that is better than what words may mean.  j may
 * be NULL. */
void hint_for_link(const struct journal *j, const struct plan *plan, const struct policy *policy,
		   struct advice *ret);

/* Likewise where the gate refused something that the words name, or when they are about
 * the network or say nothing; and none where what it let through failed outside. */
void hint_for_network(const struct netlog *n, const struct overheard *const streams[],
		      size_t nstreams, struct advice *ret);

const char *hint_advice_text(const struct advice *a);
const char *hint_advice_rule(const struct advice *a);

#endif
