/* SPDX-License-Identifier: Apache-2.0 */
/* Looks up entries of a ledger for the tests. */
#ifndef CORRAL_TESTS_LEDGER_READ_H
#define CORRAL_TESTS_LEDGER_READ_H

#include "gate/ledger.h"

/* Copies entry number n; false: there are not so many. */
static inline bool ledger_entry_at(const struct ledger *l, size_t n, struct ledger_entry *ret) {
	size_t at = 0;

	for (size_t i = 0; i <= n; i++) {
		if (!ledger_next(l, &at, ret)) {
			return false;
		}
	}
	return true;
}

static inline size_t ledger_entries(const struct ledger *l) {
	struct ledger_entry e;
	size_t at = 0, n = 0;

	while (ledger_next(l, &at, &e)) {
		n++;
	}
	return n;
}

/* The first entry with this outcome, and this operation unless it is -1; valid until the next
 * call. */
static inline const struct ledger_entry *ledger_find(const struct ledger *l, int op,
						     enum net_outcome outcome) {
	static struct ledger_entry e;
	size_t at = 0;

	while (ledger_next(l, &at, &e)) {
		if (e.outcome == outcome && (op < 0 || e.op == (enum net_op)op)) {
			return &e;
		}
	}
	return NULL;
}

#endif
