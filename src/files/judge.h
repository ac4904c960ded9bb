/* Whether a place may be read or changed, by which rule, and what would allow it.
 *
 * Should:   say of every path what the kernel says to a command inside.
 * Must not: tell whether something hidden exists.
 * Fails:    closed: what no rule shows is outside. */
#ifndef CORRAL_FILES_JUDGE_H
#define CORRAL_FILES_JUDGE_H

#include "files/place.h"

enum access { ACCESS_READ, ACCESS_WRITE };

struct verdict {
	enum err_kind kind; /* ERR_NONE: allowed */
	const char *rule;   /* the key or table that says so: "fs.deny", "credential" */
	const char *detail; /* the pattern of such a key, and */
	const char *why;    /* why a table has it; both may be NULL */
	char origin[128];   /* where that was written */
	char reason[360];   /* one sentence; "" when allowed */
	char remedy[240];
};

void judge(const struct lens *v, const struct place *p, enum access want, struct verdict *ret);

/* As judge(); -1 with *e when the place is refused. */
int judge_or_fail(const struct lens *v, const struct place *p, enum access want, struct err *e);

/* "outside", "sensitive", "protected", "unreachable": by name; NULL when allowed. */
const char *refusal_name(enum err_kind kind);

/* place_find() and the verdict; the place is the caller's only on success. */
int place_allowed(const struct lens *v, const char *path, unsigned how, enum access want,
		  struct place *ret, struct err *e);

#endif
