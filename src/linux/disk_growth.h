/* How much a run has added to the directories that it may write to.
 *
 * Theory.  The blocks of all files beneath these directories are summed before the command
 * starts, and again while it runs.  A file with several names counts once, spread over them,
 * so that a hard link adds nothing.  Walking a large tree takes long, so the free space of its
 * file system is asked in between: a walk is due when that fell by what is left of the
 * limit, and now and then.
 *
 * Not counted: files that were removed and are still open, directories of the run's own
 * tmpfs (limits.tmp_size), and files that were granted by themselves (limits.file_size). */
#ifndef CORRAL_LINUX_DISK_GROWTH_H
#define CORRAL_LINUX_DISK_GROWTH_H

#include "base/arena.h"
#include "base/err.h"
#include "plan/plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Directories that were granted for writing, beside the workspace, home and /tmp. */
#define GROWTH_ROOTS_MAX 32

struct disk_growth_root {
	const char *path;
	bool same; /* a root before it lies on the same file system */
	uint64_t dev;
	int64_t free_before; /* the run */
	int64_t free_then;   /* before the last walk; bytes */
};

struct disk_growth {
	struct disk_growth_root roots[GROWTH_ROOTS_MAX];
	size_t count;
	char *space;    /* for directory entries */
	int64_t before; /* bytes when the run began */
	size_t unread;  /* directories that could not be read then */
};

/* Measures before the command starts: takes as long as `du` does.  Parent. */
int disk_growth_begin(struct arena *a, const struct plan *plan, struct disk_growth **ret,
		      struct err *e);

/* System calls only.  Bytes that were added; a fall counts as none. */
int64_t disk_growth_measure(struct disk_growth *g);

/* By how much free space fell since the last walk. */
int64_t disk_growth_fall(const struct disk_growth *g);

#endif
