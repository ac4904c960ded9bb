/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the processes of a run in /proc, and measures their memory.
 *
 * Theory.  A process belongs to the run if its parent does: pid 1 of the sandbox, or the guard
 * and the wardens, which are subreapers, become the parents of orphans.  So membership never
 * changes, and the parent pid in /proc/PID/stat decides it.  Foreign processes are cached for
 * FOREIGN_MS, after which the kernel may have reused a pid; so a sample costs one open(2) for
 * each process of the run, and not for each process of the host. */
#ifndef CORRAL_LINUX_CENSUS_H
#define CORRAL_LINUX_CENSUS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct census_row {
	pid_t pid, parent;
	char state;
	bool ours;
	bool beneath; /* of census_mark_beneath() */
	uint32_t threads;
	uint64_t pages; /* resident: VmRSS, which counts a shared page in every process */
};

struct census {
	int proc;      /* /proc */
	pid_t root;    /* pid 1 of the sandbox, or the outer warden */
	uint64_t page; /* page size in bytes */
	int64_t refresh_at;
	uint64_t *foreign, *ours; /* bitmaps of process numbers */
	struct census_row *rows;
	size_t count;
	/* census_take() may end when it has counted more threads: their sum and that of the memory
	 * are too small then.  0: it counts all.  Among the runnable processes of a fork bomb the
	 * caller gets a share of a processor that a whole pass does not fit in. */
	uint64_t enough;
};

struct census_sum {
	uint64_t pages, threads;
};

/* System calls only; false if /proc cannot be opened or mmap fails. */
bool census_init(struct census *c, pid_t root, uint64_t page);

void census_done(struct census *c);

/* False when /proc cannot be listed or the root is not in it; its descendants are marked then
 * too. */
bool census_take(struct census *c, struct census_sum *ret);

/* Marks the rows of the last census_take() that descend from one of these processes of the run,
 * also from one that /proc hides. */
void census_mark_beneath(struct census *c, const pid_t *tops, size_t n);

/* The pid of a process in the innermost of its pid namespaces; 0: it has ended. */
pid_t census_inner_pid(const struct census *c, const struct census_row *row);

/* Whether the process of this row still has this pid: it lives, and its parent is the same. */
bool census_is_same(const struct census *c, const struct census_row *row);

/* The last number of the line NSpid of /proc/PID/status; 0: there is none. */
pid_t census_parse_inner(const char *text);

/* Anonymous memory of one process, in pages: no page is counted twice. */
uint64_t census_private(const struct census *c, const struct census_row *row);

/* Its proportional share (PSS) of anonymous and shared memory and of swap, in bytes
 * (smaps_rollup).  Pages of mapped files are excluded: the kernel can drop them.  A process
 * with an unreadable smaps_rollup counts with all its resident pages. */
uint64_t census_share(const struct census *c, const struct census_row *row);

/* Parses /proc/PID/stat; false for invalid text. */
bool census_parse(const char *text, struct census_row *ret);

/* Parses smaps_rollup; false when it has no such lines. */
bool census_parse_share(const char *text, uint64_t *ret);

#endif
