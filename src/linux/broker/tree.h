/* Every name beneath a directory, one after the other. */
#ifndef CORRAL_LINUX_BROKER_TREE_H
#define CORRAL_LINUX_BROKER_TREE_H

#include "linux/broker/resolve.h"

/* One descriptor and one buffer a level; no project nests as deep. */
#define TREE_DEPTH 128
#define TREE_SPACE 8192

struct tree;

/* What is done about a name: the walk goes on, beneath it too if it is a directory; or
 * not beneath it; or it ends. */
enum tree_step { TREE_ON, TREE_PAST, TREE_END };

struct tree {
	struct broker *b;
	/* path: the name's own; the directory that has it is held */
	enum tree_step (*see)(struct tree *t, int dir, const char *name, bool is_directory);
	/* A directory that cannot be opened, as errno says. */
	enum tree_step (*closed)(struct tree *t, int dir, const char *name);
	char (*space)[TREE_SPACE]; /* TREE_DEPTH of them */
	uint32_t entries, entries_max;
	int64_t deadline; /* ms on the monotonic clock */
	char path[REAL_MAX];
};

/* The directory `name` of dir, whose path is `path`, and all beneath it; no link is
 * followed.  False when a step was TREE_END, or there is more than the bounds allow, or
 * something cannot be read: then not all was seen. */
bool tree_walk(struct tree *t, int dir, const char *name, const char *path);

#endif
