/* Rules about names, judged when a name is used: for files that appear later, and
 * for patterns, which no mount can cover.
 *
 * A rule holds beneath its anchor.  Rules of one group are ordered, and the last that
 * matches decides; groups do not see each other's exceptions: the floor's rules and
 * those of an untrusted file stand for themselves. */
#ifndef CORRAL_PLAN_RULES_H
#define CORRAL_PLAN_RULES_H

#include "base/glob.h"
#include "policy/policy.h"

enum rule_effect { EFFECT_DENY, EFFECT_PROTECT, EFFECT_COUNT };

struct rule {
	struct glob glob;
	const char *anchor; /* absolute, inside */
	bool floating;      /* it holds where its anchor is the deepest granted tree */
	bool anywhere;      /* the floor's: granted trees themselves are held to it as well */
	enum rule_effect effect;
	enum rule_group group;
	bool except;
	bool yields;         /* a tree that is granted within what it denies is not its ground */
	bool until_made;     /* what the run itself made of a ".git" is free of it */
	const char *written; /* as the user or a table wrote it */
	const char *set;     /* of data/names.c; NULL */
	const char *reason;  /* of its row; NULL */
	struct origin origin;
};

struct anchor {
	const char *path; /* inside */
	bool folds;       /* its file system does not know case */
};

struct rules {
	struct rule *list;
	size_t count, cap;
	struct anchor *anchors; /* the granted trees */
	size_t nanchors;
	bool reads; /* a rule denies: reading is asked about as well */
	bool hides; /* a rule alone denies something */
	bool asked; /* somebody wrote one that nothing but a rule can hold */
};

/* What the rules say about a path; NULL where they say nothing. */
struct ruling {
	const struct rule *deny, *protect;
};

struct ruling rules_judge(const struct rules *rules, const char *path);

/* Its first half, in less time. */
bool rules_deny(const struct rules *rules, const char *path);

/* Whether a rule keeps the configuration of a repository that is at this path. */
bool rules_keep_repository(const struct rules *rules, const char *path);

/* Whether the last that matches is an exception from protection that we made. */
bool rules_except(const struct rules *rules, const char *path);

/* Whether both lie in the same granted tree, or in none. */
bool rules_same_tree(const struct rules *rules, const char *a, const char *b);

/* Whether what lies beneath one directory is judged otherwise than what lies beneath
 * another: if not, the one may take the other's name. */
bool rules_differ_beneath(const struct rules *rules, const char *a, const char *b);

/* Whether a link with these words would show, beneath itself, names that a rule speaks of
 * and does not find where the words lead. */
bool rules_lead_astray(const struct rules *rules, const char *link, const char *words);

#endif
