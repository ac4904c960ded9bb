/* SPDX-License-Identifier: Apache-2.0 */
/* The records that broker and gate leave in memory shared with the supervisor.
 *
 * Should:   be taken before the child is finished, which would free them (child_take_records()). */
#ifndef CORRAL_RUN_RECORDS_H
#define CORRAL_RUN_RECORDS_H

#include "backend/child.h"
#include "backend/journal.h"
#include "gate/ledger.h"

static inline void records_free(struct records *r) {
	journal_free(r->journal);
	ledger_free(r->ledger);
	ledger_free(r->refusals);
}

#endif
