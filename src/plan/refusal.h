/* Why the sandbox refuses a path, and which option allows it: the one place where a verdict
 * becomes a sentence and a remedy, for `corral check path`, the file tools and the hints.
 *
 * Should:   name the rule and where it was written; print an option only where that option
 *           opens this very path, and say plainly where none does.
 * Must not: look at the host: the caller says what it knows of the path. */
#ifndef CORRAL_PLAN_REFUSAL_H
#define CORRAL_PLAN_REFUSAL_H

#include "plan/plan.h"

enum access { ACCESS_READ, ACCESS_WRITE };

enum refusal_cause {
	CAUSE_NONE,       /* allowed */
	CAUSE_OUTSIDE,    /* the view has nothing there */
	CAUSE_SOCKET,     /* … where a unix socket of the host's is meant */
	CAUSE_HOME,       /* the private HOME has no such file; the host's is hidden */
	CAUSE_OTHER_HOME, /* … and it is another directory: no option shows the host's there */
	CAUSE_TMP,        /* likewise a private /tmp */
	CAUSE_OF_RUN,     /* it belongs to one run: a file tool does not reach it */
	CAUSE_TMP_OF_RUN, /* likewise in a private /tmp, where the host has files too */
	CAUSE_LINK,       /* a link is on the way, and links are rejected */
	CAUSE_CREDENTIAL, /* a table hides it, unless it is granted by name */
	CAUSE_OWN,        /* Corral's own files */
	CAUSE_DENY,       /* fs.deny */
	CAUSE_DENY_BOUND, /* … of the floor or of a project's file */
	CAUSE_HARD_LINK,  /* fs.deny has another name of the file */
	CAUSE_HARD_LINKS, /* … or may have one */
	CAUSE_MODE,       /* mode read-only */
	CAUSE_MODE_BOUND, /* … of the floor */
	CAUSE_PROTECT,    /* fs.protect */
	CAUSE_PROTECT_BOUND,
	CAUSE_GIT_LINK,  /* … of a repository, to which this file leads git */
	CAUSE_GIT_HEAD,  /* … or beside which it would make another */
	CAUSE_PROJECT,   /* the project's own policy file */
	CAUSE_BESIDE,    /* another file of the directory alone is granted */
	CAUSE_ABOVE,     /* beside the workspace, in a directory of the private HOME */
	CAUSE_READ_ONLY, /* shown, but not for writing */
	CAUSE_RIGHTS,    /* likewise, and the caller may not write it outside either */
	CAUSE_MADE,      /* a file of Corral's: /proc, /dev, a copy without credentials */
	CAUSE_COW,       /* a file tool would write past the copy */
	CAUSE_KEPT,      /* it cannot be moved: it is, or holds, what stays in its place */
	CAUSE_COUNT
};

struct refusal_question {
	const struct plan *plan;
	const struct policy *policy;
	const char *path; /* absolute and normal, inside, without links */
	enum access want;
	bool missing; /* the view shows the directory, and it has no such name */
	bool rights;  /* the caller may not do it outside either */
	/* The nearest directory above it that exists, where the command may know that; NULL. */
	const char *exists;
};

struct verdict {
	enum refusal_cause cause;
	enum err_kind kind; /* ERR_NONE: allowed */
	const char *key;    /* of the policy, that the remedy is about; NULL when allowed */
	const char *rule;   /* the key or table that says so: "fs.deny", "credential" */
	const char *detail; /* the pattern of such a key, and */
	const char *why;    /* why a table has it; both may be NULL */
	bool closed;        /* allowed, but the file's mode refuses the caller */
	char origin[128];   /* where that was written */
	char reason[360];   /* one sentence; "" when allowed */
	char remedy[640];   /* the option as it can be pasted, or that there is none */
};

/* What the plan says about the path. */
void refusal_judge(const struct refusal_question *q, struct verdict *ret);

/* Why it cannot be moved or removed (EBUSY). */
void refusal_judge_move(const struct refusal_question *q, struct verdict *ret);

/* The words for a cause that the caller found out itself; CAUSE_NONE: allowed, by which rule. */
void refusal_say(const struct refusal_question *q, enum refusal_cause cause, struct verdict *ret);

/* Likewise for what is known to be hidden, whichever rule hides it. */
void refusal_hidden(const struct refusal_question *q, struct verdict *ret);

#endif
