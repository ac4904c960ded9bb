/* SPDX-License-Identifier: Apache-2.0 */
/* Denials: operations that the command was refused and that its caller could have done on the host.
 *
 * The broker records refused calls (backend/journal.h).  After the run each record is judged by the
 * code of `corral check path` (plan/refusal.h), which names the rule and the option that would
 * allow it, and the same operation is looked up on the host: what would have failed outside as
 * well is no denial. */
#ifndef CORRAL_RUN_DENIALS_H
#define CORRAL_RUN_DENIALS_H

#include "base/arena.h"
#include "backend/journal.h"
#include "plan/plan.h"

/* The rest is counted. */
#define DENIALS_MAX 100

struct denial {
	enum denial_op op;
	const char *call;     /* the system call; NULL: not about one */
	const char *path;     /* as the command named it, absolute; NULL: not about a file */
	const char *resolved; /* without symlinks; NULL: the same, or not known */
	const char *host;     /* address and port; NULL: not about the network */
	const char *limit;    /* the key of a limit that was reached; NULL: not about one */
	const char *value;    /* of the limit, as its option takes it */
	int error;            /* errno that the command got */
	const char *rule;     /* the policy key or table that decides, with its pattern */
	const char *origin;   /* where that was written */
	const char *why;      /* one sentence */
	const char *remedy;   /* a sentence with the option that allows it, or that there is none */
	const char
		*allow_with; /* the option alone; NULL: none, or none that a program should add */
	bool sensitive;      /* a rule about credentials hides the path */
	uint64_t count;
};

struct denials {
	struct arena arena; /* owns the rest */
	struct denial *items;
	size_t count, cap;
	uint64_t more;
	bool recorded; /* the run had a journal; without one an empty list means nothing */
};

/* In the order of the first refusal. */
void denials_read(const struct plan *plan, const struct policy *policy, const struct host *host,
		  const struct journal_part *part, struct denials *ret);

/* Adds a denial; the rest beyond DENIALS_MAX is counted. */
void denials_add(struct denials *d, const struct denial *one);

/* Removes secrets from paths, which the command chose, and with them reason and remedy.  Without a
 * source nothing is removed. */
struct leak_source;
void denials_clean(struct denials *d, const struct leak_source *source);

void denials_done(struct denials *d);

#endif
