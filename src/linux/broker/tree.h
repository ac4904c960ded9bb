/* SPDX-License-Identifier: Apache-2.0 */
/* Walks a directory tree and calls a function for each entry. */
#ifndef CORRAL_LINUX_BROKER_TREE_H
#define CORRAL_LINUX_BROKER_TREE_H

#include "linux/broker/resolve.h"

/* One descriptor and one buffer per level; no project nests as deep. */
#define TREE_DEPTH 128
#define TREE_SPACE 8192

struct tree;

/* TREE_ON: continue, and descend if the entry is a directory; TREE_PAST: continue without
 * descending; TREE_END: end the walk. */
enum tree_step { TREE_ON, TREE_PAST, TREE_END };

struct tree {
	struct broker *b;
	/* Called for each entry; t->path is its path, dir an open descriptor of its directory. */
	enum tree_step (*visit)(struct tree *t, int dir, const char *name, bool is_directory);
	/* Called for a directory that cannot be opened; errno has the reason. */
	enum tree_step (*unreadable)(struct tree *t, int dir, const char *name);
	char (*space)[TREE_SPACE]; /* TREE_DEPTH buffers */
	uint32_t entries, entries_max;
	int64_t deadline; /* ms on the monotonic clock */
	char path[REAL_MAX];
};

/* Walks the directory `name` of dir, which has the path `path`; follows no symlink.  False when
 * the walk is incomplete: a step was TREE_END, a bound was exceeded, or a directory could not be
 * read. */
bool tree_walk(struct tree *t, int dir, const char *name, const char *path);

#endif
