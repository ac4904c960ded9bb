/* Which rule of the sandbox a failed command probably met, from its last words.
 *
 * Should:   keep the end of each stream as it passes, and look only when the
 *           command has failed.
 * Must not: ask the host about a path that the command names: whether it exists
 *           there would be an answer to the command's question. */
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

void overhear(struct overheard *o, const char *data, size_t len);

/* A place twice, each a name of 253 bytes and a port; the gate's reason; the words between. */
#define ADVICE_TEXT 768

struct advice {
	const struct hint *hint; /* NULL: none */
	char path[256];          /* that the line names, or "" */
	char text[ADVICE_TEXT];  /* instead of the row's own, which does not know; or "" */
};

/* streams: the likelier one first. */
void advise(const struct plan *plan, const struct overheard *const streams[], size_t nstreams,
	    struct advice *ret);

/* Instead, where pid 1 saw what happened: that is better than what words may mean.  j may
 * be NULL. */
void advise_link(const struct journal *j, struct advice *ret);

/* Likewise where the gate refused something that the words name, or when they are about
 * the network or say nothing; and none where what it let through failed outside. */
void advise_network(const struct netlog *n, const struct overheard *const streams[],
		    size_t nstreams, struct advice *ret);

const char *advice_text(const struct advice *a);

#endif
