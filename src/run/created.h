/* SPDX-License-Identifier: Apache-2.0 */
/* The files that a run left on the host and that a program runs or reads later. */
#ifndef CORRAL_RUN_CREATED_H
#define CORRAL_RUN_CREATED_H

#include "base/arena.h"
#include "backend/journal.h"
#include "plan/plan.h"

/* The rest is counted. */
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
	bool recorded; /* the run had a journal; without one an empty list means nothing */
};

/* Checks every path of the journal on the host, and leaves out the paths that are gone or no
 * longer of their kind.  The gravest kind comes first. */
void created_read(const struct plan *plan, const struct journal_part *part, struct created *ret);
void created_done(struct created *c);

#endif
