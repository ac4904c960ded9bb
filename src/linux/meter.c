/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the processes of a run and their memory for the live line.
 *
 * Should:   open /proc once for a run.
 * Must not: be used by a run without that line: each reading opens a file for each process.
 * Fails:    open: without /proc there are no figures. */
#include "backend/child.h"

#include "linux/census.h"
#include "linux/spawn.h"

#include <stdlib.h>
#include <unistd.h>

/* Of the sandbox itself: pid 1, or two wardens and the guard. */
#define OWN_PROCESSES 1
#define OWN_WARDENS 3

struct meter {
	struct census census;
	size_t own;
};

struct meter *meter_new(const struct child *c) {
	struct meter *m = calloc(1, sizeof *m);

	if (m == NULL) {
		return NULL;
	}
	if (!census_init(&m->census, c->pid, (uint64_t)sysconf(_SC_PAGESIZE))) {
		meter_free(m);
		return NULL;
	}
	m->own = c->wardens ? OWN_WARDENS : OWN_PROCESSES;
	return m;
}

void meter_free(struct meter *m) {
	if (m != NULL) {
		census_done(&m->census);
		free(m);
	}
}

bool meter_read(struct meter *m, uint64_t *ret_processes, uint64_t *ret_bytes) {
	struct census_sum sum;
	uint64_t pages = 0, processes = 0;

	if (m == NULL || !census_take(&m->census, &sum)) {
		return false;
	}
	for (size_t i = 0; i < m->census.count; i++) {
		const struct census_row *row = &m->census.rows[i];
		processes += row->ours;
		pages += row->ours ? census_private(&m->census, row) : 0;
	}
	*ret_processes = processes > m->own ? processes - m->own : 0;
	*ret_bytes = pages * m->census.page;
	return true;
}
