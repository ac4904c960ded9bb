/* SPDX-License-Identifier: Apache-2.0 */
/* The journal of a run: files that the command created, and calls that the broker refused.  Pid 1
 * writes it, the supervisor reads it.
 *
 * A shared mapping (base/shared_log.h), created before the clone: records survive when pid 1 is
 * killed at any moment, and cost the supervisor nothing while the command runs. */
#ifndef CORRAL_BACKEND_JOURNAL_H
#define CORRAL_BACKEND_JOURNAL_H

#include "base/err.h"
#include "base/shared_log.h"
#include "data/denial_ops.h"
#include "data/lasting.h"

/* The most bytes of a refused hard link's path: as many as a hint prints. */
#define JOURNAL_LINK_PATH 256

struct journal {
	_Atomic uint32_t link; /* 0: none, 1: being written, 2: complete */
	uint32_t link_why;
	char link_path[JOURNAL_LINK_PATH];
	struct shared_log created;
	struct shared_log refused;
};

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

/* The records of one command of a session.  Files belong to it by time, refusals by its number; by
 * time if the caller had ended before its command was known.  All zero but the journal: a run. */
struct journal_part {
	const struct journal *journal; /* may be NULL */
	uint64_t exec;
	size_t created_from, refused_from;    /* where its first record may be */
	uint64_t created_lost, refusals_lost; /* before it */
};

/* Begins here and now. */
struct journal_part journal_part_from(const struct journal *j, uint64_t exec);

struct journal_entry {
	enum lasting kind;
	const char *path;
};

/* The next record from *at, which starts at 0; false at the end, and for invalid content. */
bool journal_next(const struct journal *j, size_t *at, struct journal_entry *ret);

/* The number of records that did not fit. */
uint64_t journal_lost(const struct journal *j);

/* A call that was refused.  Equal ones are one record with a count. */
struct journal_refusal {
	enum denial_op op;
	int error; /* errno */
	/* Absolute paths, or an address as text; [1] is the second path of a call that has two.
	 * named: as the caller wrote it; resolved: without links, "" where that is not known. */
	const char *named[2], *resolved[2];
	uint32_t count; /* ignored by journal_refuse() */
	uint64_t exec;  /* the number of the command in its session; 0: a run, or not known */
};

/* One writer; no system call.  j may be NULL. */
void journal_refuse(struct journal *j, const struct journal_refusal *r);

/* The next one from *at, which starts at 0; false at the end, and for invalid content. */
bool journal_next_refusal(const struct journal *j, size_t *at, struct journal_refusal *ret);

/* The number of refusals that did not fit. */
uint64_t journal_refusals_lost(const struct journal *j);

#endif
