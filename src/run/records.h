/* SPDX-License-Identifier: Apache-2.0 */
/* The records that broker and gate leave in memory shared with the supervisor.
 *
 * Should:   be taken before the child is finished, which would free them. */
#ifndef CORRAL_RUN_RECORDS_H
#define CORRAL_RUN_RECORDS_H

#include "gate/ledger.h"
#include "backend/journal.h"
#include "linux/spawn.h"

/* The shared-memory logs of broker and gate; complete when all sandboxed processes are dead. */
struct records {
	struct journal *journal;
	struct ledger *ledger, *refusals;
};

static inline struct records records_take(struct child *c) {
	struct records r = {.journal = c->journal, .ledger = c->ledger, .refusals = c->refusals};
	c->journal = NULL;
	c->ledger = c->refusals = NULL;
	return r;
}

static inline void records_free(struct records *r) {
	journal_free(r->journal);
	ledger_free(r->ledger);
	ledger_free(r->refusals);
}

#endif
