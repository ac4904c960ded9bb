/* Which processes belong to a run, and how much memory they have.
 *
 * Theory.  A process belongs to the run when its parent does: orphans fall to pid 1 inside,
 * or to the guard and the wardens, which are subreapers.  So membership never changes, and
 * /proc/PID/stat of every process tells it by its parent's number.  Processes that were seen
 * to be of somebody else are remembered for FOREIGN_MS, after which a number may have been
 * given to another one; so a sample costs one open(2) for each process of the run, and not
 * for each of the host. */
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
	uint32_t threads;
	uint64_t pages; /* resident: VmRSS, which counts a shared page in every process */
};

struct census {
	int proc;      /* /proc */
	pid_t root;    /* pid 1 inside, or the outer warden */
	uint64_t page; /* bytes of one */
	int64_t refresh_at;
	uint64_t *foreign, *ours; /* bitmaps of process numbers */
	struct census_row *rows;
	size_t count;
};

struct census_sum {
	uint64_t pages, threads;
};

/* In the process that samples.  System calls only; false when /proc or memory is not to be had. */
bool census_init(struct census *c, pid_t root, uint64_t page);

/* False when /proc cannot be listed or the root is not in it. */
bool census_take(struct census *c, struct census_sum *ret);

/* Anonymous memory of one process, in pages: nothing of it is counted twice. */
uint64_t census_private(const struct census *c, const struct census_row *row);

/* Its proportional share of anonymous and shared memory, with what lies in swap, in bytes
 * (smaps_rollup).  Pages of mapped files are left out: the kernel can drop them.  A process
 * that may not be looked into counts with all its resident pages. */
uint64_t census_share(const struct census *c, const struct census_row *row);

/* One line of /proc/PID/stat; false when it is none. */
bool census_parse(const char *text, struct census_row *ret);

/* Bytes by the text of smaps_rollup; false when it has no such figures. */
bool census_parse_share(const char *text, uint64_t *ret);

#endif
