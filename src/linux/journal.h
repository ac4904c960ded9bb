/* SPDX-License-Identifier: Apache-2.0 */
/* The journal of files that the command created: pid 1 writes it, the supervisor reads it.
 *
 * A shared mapping, created before the clone: records survive when pid 1 is killed at any
 * moment, and cost the supervisor nothing while the command runs.  A record is complete or
 * absent: the length is stored last. */
#ifndef CORRAL_LINUX_JOURNAL_H
#define CORRAL_LINUX_JOURNAL_H

#include "base/err.h"
#include "data/lasting.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Enough for some thousand paths. */
#define JOURNAL_SIZE ((size_t)256 * 1024)

struct journal;

/* In the parent. */
int journal_new(struct journal **ret, struct err *e);
void journal_free(struct journal *j);

/* Adds one path, once for each kind; a record that does not fit is counted.  A part of the
 * space is reserved for grave kinds, so that a thousand programs do not hide one hook.  One
 * writer; system calls only.  j may be NULL. */
void journal_add(struct journal *j, enum lasting kind, const char *path);

/* Counts a file that could not be examined. */
void journal_lose(struct journal *j);

/* A directory was renamed: changes the paths of the records in it. */
void journal_move(struct journal *j, const char *from, const char *to);

/* The broker refused a file with several hard links: one is denied, or the search for one was
 * incomplete. */
enum link_refusal { LINK_DENIED, LINK_UNKNOWN };

/* Records the first one.  In pid 1 and its helpers; system calls only.  j may be NULL. */
void journal_refuse_link(struct journal *j, enum link_refusal why, const char *path);

/* Its path, "" if it was too long; NULL if there was none.  j may be NULL. */
const char *journal_refused_link(const struct journal *j, enum link_refusal *ret_why);

struct journal_entry {
	enum lasting kind;
	const char *path;
};

/* The next record from *at, which starts at 0; false at the end, and for invalid content. */
bool journal_next(const struct journal *j, size_t *at, struct journal_entry *ret);

/* The number of records that did not fit. */
uint64_t journal_lost(const struct journal *j);

#endif
