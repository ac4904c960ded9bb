/* What a run left on the host that somebody runs or obeys later. */
#ifndef CORRAL_RUN_CREATED_H
#define CORRAL_RUN_CREATED_H

#include "base/arena.h"
#include "linux/journal.h"
#include "plan/plan.h"

/* A longer list is read by nobody; the rest is counted. */
#define CREATED_MAX 100

struct created_item {
	enum lasting kind;
	const char *path; /* on the host */
};

struct created {
	struct arena arena; /* owns the rest */
	struct created_item *items;
	size_t count;
	uint64_t more;
	bool recorded; /* somebody wrote it down; else an empty list means nothing */
};

/* Looks at every path of the journal again, on the host: what is gone, or is no longer
 * of its kind, is left out.  What matters most comes first.  j may be NULL. */
void created_read(const struct plan *plan, const struct journal *j, struct created *ret);
void created_done(struct created *c);

#endif
