/* SPDX-License-Identifier: Apache-2.0 */
/* Measures limits.disk: the growth of the directories that a run may write to.
 *
 * Theory.  The blocks of all files beneath these directories are summed before the command
 * starts, and again while it runs.  The blocks of a file are divided among its hard links, so
 * that a new link adds nothing.  Walking a large tree takes long, so statfs(2) reads the free
 * space of its file system in between: a walk is due when that fell by the rest of the limit,
 * and from time to time.
 *
 * Not counted: files that were removed and are still open, directories of the run's own
 * tmpfs (limits.tmp_size), and single files that were granted (limits.file_size). */
#ifndef CORRAL_LINUX_DISK_GROWTH_H
#define CORRAL_LINUX_DISK_GROWTH_H

#include "base/arena.h"
#include "base/err.h"
#include "plan/plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The most directories that are granted for writing, with the workspace, home and /tmp. */
#define GROWTH_ROOTS_MAX 32

struct disk_growth_root {
	const char *path;
	bool same; /* an earlier root is on the same file system */
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

/* Measures before the command starts, which takes as long as `du`.  Parent. */
int disk_growth_begin(struct arena *a, const struct plan *plan, struct disk_growth **ret,
		      struct err *e);

/* System calls only.  Added bytes; 0 if the directories shrank. */
int64_t disk_growth_measure(struct disk_growth *g);

/* The loss of free space since the last walk, in bytes. */
int64_t disk_growth_fall(const struct disk_growth *g);

#endif
