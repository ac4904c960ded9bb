/* What the command made that lasts, written by pid 1 and read by the supervisor.
 *
 * A mapping that both share, made before the clone: what was written is there when
 * pid 1 is killed at any moment, and costs the supervisor nothing while the command
 * runs.  A record is whole or not there: the length is moved last. */
#ifndef CORRAL_LINUX_JOURNAL_H
#define CORRAL_LINUX_JOURNAL_H

#include "base/err.h"
#include "data/lasting.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All of it: enough for some thousand paths. */
#define JOURNAL_SIZE ((size_t)256 * 1024)

struct journal;

/* In the parent. */
int journal_new(struct journal **ret, struct err *e);
void journal_free(struct journal *j);

/* One path, once for each kind; what does not fit is counted.  A part of the room is
 * for what acts by itself, so that a thousand programs do not hide one hook.  By one
 * process; system calls only.  j may be NULL. */
void journal_add(struct journal *j, enum lasting kind, const char *path);

/* Something was not looked at. */
void journal_lose(struct journal *j);

/* A directory has another name: what was written about paths in it holds there. */
void journal_move(struct journal *j, const char *from, const char *to);

/* A file with several names was refused: one of them is denied, or nobody knows. */
enum link_refusal { LINK_DENIED, LINK_UNKNOWN };

/* The first one is kept.  By pid 1 and its helpers; system calls only.  j may be NULL. */
void journal_refuse_link(struct journal *j, enum link_refusal why, const char *path);

/* Its path, as much as is kept of it; NULL when there was none.  j may be NULL. */
const char *journal_refused_link(const struct journal *j, enum link_refusal *ret_why);

struct journal_entry {
	enum lasting kind;
	const char *path;
};

/* The next record from *at, which begins with 0; false at the end, and where the
 * content is not a journal's. */
bool journal_next(const struct journal *j, size_t *at, struct journal_entry *ret);

/* How many did not fit. */
uint64_t journal_lost(const struct journal *j);

#endif
