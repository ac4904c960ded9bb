/* SPDX-License-Identifier: Apache-2.0 */
/* Refuses files that have another hard link with a denied name (fs.deny). */
#ifndef CORRAL_LINUX_BROKER_HARDLINKS_H
#define CORRAL_LINUX_BROKER_HARDLINKS_H

#include "linux/broker/resolve.h"

/* The search has not ended: call hardlinks_wait() in a helper process. */
#define LINKS_LATER 1

/* Whether hard links are checked in an overlay: an open for writing copies the file up, and the
 * copy has one hard link, so the check has to come first. */
static inline bool links_copied(const struct broker *b) {
	return b->checks_links && b->plan->cow_dir != NULL;
}

/* Whether an open of this file needs hardlinks_judge(). */
static inline bool links_concern(const struct broker *b, const struct stat *st) {
	return b->checks_links && st->st_nlink > 1;
}

/* The caller has checked the file's own name.  0, -EACCES when another of its hard links is
 * denied, or LINKS_LATER.  The first call of a run starts the search. */
int hardlinks_judge(const struct call *c, const struct resolved *p);

/* For a descriptor of a removed name: -EACCES when the file has another hard link, of which the
 * name is not known; else 0. */
int hardlinks_judge_removed(const struct call *c, const struct resolved *p);

/* Before the metadata or the name of a file change: 0, -EACCES, or -EBUSY while the search has
 * not ended. */
int hardlinks_judge_copied(const struct call *c, const struct resolved *p);

/* In a helper: waits for the end of the search; 0 or -EACCES. */
int hardlinks_wait(const struct call *c, int fd);

/* Before a rename: true when a search is running, which may miss a directory that moves.  Then
 * call hardlinks_moved() after the rename, whether it succeeded or not. */
bool hardlinks_moving(struct broker *b, const struct resolved *from, const struct resolved *to);
void hardlinks_moved(struct broker *b, const struct resolved *from, const struct resolved *to);

#endif
