/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about names, which the broker checks at each system call: for files that are created later,
 * and for patterns, which no mount can cover.
 *
 * A rule applies beneath its anchor.  Rules of one group are ordered, and the last that matches
 * decides.  An exception applies to its own group only: it cannot weaken the floor's rules or those
 * of another group. */
#ifndef CORRAL_PLAN_RULES_H
#define CORRAL_PLAN_RULES_H

#include "base/glob.h"
#include "policy/policy.h"

enum rule_effect { EFFECT_DENY, EFFECT_PROTECT, EFFECT_COUNT };

struct rule {
	struct glob glob;
	const char *anchor; /* absolute, inside */
	bool floating;      /* it applies where its anchor is the deepest granted tree */
	bool anywhere;      /* of the floor: it applies to the granted trees themselves as well */
	enum rule_effect effect;
	enum rule_group group;
	bool except;
	bool yields;         /* a tree that is granted beneath the denied path is exempt */
	bool until_made;     /* a ".git" that the run itself created is exempt */
	const char *written; /* as the user or a table wrote it */
	const char *set;     /* of data/names.c; NULL */
	const char *reason;  /* of its row; NULL */
	struct origin origin;
};

struct anchor {
	const char *path; /* inside */
	bool folds;       /* its file system is case-insensitive */
};

struct rules {
	struct rule *list;
	size_t count, cap;
	struct anchor *anchors; /* the granted trees */
	size_t nanchors;
	bool reads;    /* a rule denies: the broker checks reads as well */
	bool hides;    /* a path is denied by a rule only, not by a mount */
	bool required; /* the policy has an item that only a rule can enforce */
};

/* The rules that deny and protect a path; NULL where none does. */
struct ruling {
	const struct rule *deny, *protect;
};

struct ruling rules_judge(const struct rules *rules, const char *path);

/* Whether a rule denies the path; faster than rules_judge(). */
bool rules_deny(const struct rules *rules, const char *path);

/* Whether a rule protects the configuration or the hooks of a git repository at this path.  Only an
 * exception for both gives up the repository: one for the configuration says nothing about a ".git"
 * file, which may lead to a repository outside. */
bool rules_keep_repository(const struct rules *rules, const char *path);

/* Whether the last match is an exception from protection in GROUP_OURS. */
bool rules_except(const struct rules *rules, const char *path);

/* Whether both lie in the same granted tree, or in none. */
bool rules_same_tree(const struct rules *rules, const char *a, const char *b);

/* Whether some rule treats paths beneath one directory differently from paths beneath the other:
 * if not, one may be renamed to the other. */
bool rules_differ_beneath(const struct rules *rules, const char *a, const char *b);

/* Whether a symlink with the target `words` would show, beneath itself, names that a rule covers
 * there but not at the target. */
bool rules_lead_astray(const struct rules *rules, const char *link, const char *words);

/* Whether any symlink that may have the path `from` may also have the path `to`, as far as
 * rules_lead_astray() decides. */
bool rules_lead_alike(const struct rules *rules, const char *from, const char *to);

/* The length of the path of the outermost ".git" above the path and within the granted tree, if
 * rules keep its repository; else 0. */
size_t rules_repository(const struct rules *rules, const char *path);

/* Whether a symlink in such a ".git" leads out of it, or might.  The host's git follows symlinks
 * when it writes there (logs, index, COMMIT_EDITMSG): it would write a file of the command's
 * choice. */
bool rules_lead_out(const struct rules *rules, const char *link, const char *words);

/* Whether symlinks beneath a directory could lead out of such a ".git" once the directory has the
 * path `to`, and do not now. */
bool rules_move_out(const struct rules *rules, const char *from, const char *to);

#endif
