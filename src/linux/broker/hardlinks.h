/* Files that have a denied name beside the one by which they are opened. */
#ifndef CORRAL_LINUX_BROKER_HARDLINKS_H
#define CORRAL_LINUX_BROKER_HARDLINKS_H

#include "linux/broker/resolve.h"

/* Not known before the search has ended: hardlinks_wait() in a process of its own. */
#define LINKS_LATER 1

/* Whether an open of this file has to ask at all. */
static inline bool links_concern(const struct broker *b, const struct stat *st) {
	return b->asks_links && st->st_nlink > 1;
}

/* A file whose own name is not denied: 0, -EACCES when another of its names is, or
 * LINKS_LATER.  The first question of a run begins the search. */
int hardlinks_judge(const struct call *c, const struct resolved *p);

/* The name by which it is held was removed, and the file has another, which may be any:
 * -EACCES, or 0. */
int hardlinks_judge_removed(const struct call *c, const struct resolved *p);

/* Before the marks or the name of a file change: 0, -EACCES, or -EBUSY when it is not known
 * yet whether another of its names is denied. */
int hardlinks_judge_copied(const struct call *c, const struct resolved *p);

/* In a helper: as hardlinks_judge(), without LINKS_LATER. */
int hardlinks_wait(const struct call *c, int fd);

/* Before a rename: whether the search has to hear of it, because a directory that changes
 * its place meanwhile may be missed.  Then hardlinks_moved() follows, whatever came of it. */
bool hardlinks_moving(struct broker *b, const struct resolved *from, const struct resolved *to);
void hardlinks_moved(struct broker *b, const struct resolved *from, const struct resolved *to);

#endif
