/* SPDX-License-Identifier: Apache-2.0 */
/* Why the sandbox refuses access to a path, and which option allows it: the only place that turns
 * a verdict into a sentence and a remedy, for `corral check path`, the file tools and the hints.
 *
 * Should:   name the rule and its origin; print an option only where that option allows this very
 *           path, and state where none does.
 * Must not: read the host: the caller passes the facts about the path. */
#ifndef CORRAL_PLAN_REFUSAL_H
#define CORRAL_PLAN_REFUSAL_H

#include "plan/plan.h"

#include <limits.h>

enum access { ACCESS_READ, ACCESS_WRITE };

enum refusal_cause {
	CAUSE_NONE,       /* allowed */
	CAUSE_OUTSIDE,    /* not mounted in the sandbox */
	CAUSE_SOCKET,     /* … and its name is that of a unix socket */
	CAUSE_HOME,       /* the private HOME has no such file; the host's is hidden */
	CAUSE_OTHER_HOME, /* … and without namespaces HOME is another path: no option shows the
			   * host's files there */
	CAUSE_TMP,        /* likewise a private /tmp */
	CAUSE_OF_RUN,     /* it exists in one run only: a file tool cannot reach it */
	CAUSE_TMP_OF_RUN, /* likewise in a private /tmp, where the host has files too */
	CAUSE_LINK,       /* the path contains a symlink, and links are rejected */
	CAUSE_CREDENTIAL, /* a built-in table hides it, unless it is granted by name */
	CAUSE_OWN,        /* Corral's own files */
	CAUSE_DENY,       /* fs.deny */
	CAUSE_DENY_BOUND, /* … of the floor or of a project's file */
	CAUSE_HARD_LINK,  /* fs.deny matches another hard link of the file */
	CAUSE_HARD_LINKS, /* … or may match one: the search was incomplete */
	CAUSE_MODE,       /* mode read-only */
	CAUSE_MODE_BOUND, /* … of the floor */
	CAUSE_MODE_AGENT, /* … of the table of the run's agent, which no option overrides (P6) */
	CAUSE_MODE_SKILL, /* … of the run's skill, likewise */
	CAUSE_SKILL,      /* a grant would allow it, if the run's skill requests it too (P6) */
	CAUSE_PROTECT,    /* fs.protect */
	CAUSE_PROTECT_BOUND,
	CAUSE_GIT_LINK,    /* … of a repository that this file names (.git file) */
	CAUSE_GIT_MODULES, /* … the directory of submodules: `git submodule add` needs more */
	CAUSE_GIT_HEAD,    /* … with this file git would take the directory for a repository */
	CAUSE_PROJECT,     /* the project's own policy file */
	CAUSE_BESIDE,      /* only another file of the directory is granted */
	CAUSE_ABOVE,       /* beside the workspace, in a directory of the private HOME */
	CAUSE_READ_ONLY,   /* shown, but not for writing */
	CAUSE_RIGHTS,      /* likewise, and the caller cannot write it on the host either */
	CAUSE_MADE,        /* Corral generates it: /proc, /dev, a copy without credentials */
	CAUSE_COW,         /* a file tool would write below the overlay */
	CAUSE_KEPT, /* it cannot be renamed: it is or contains a mount point or a protected name */
	CAUSE_LEADS_OUT, /* a symlink with this name would lead out of its git repository */
	CAUSE_TOOLS,     /* fs.tools: the file tools are confined to the workspace */
	CAUSE_COUNT
};

struct refusal_question {
	const struct plan *plan;
	const struct policy *policy;
	const char *path; /* absolute and normal, inside, without links */
	enum access want;
	bool missing; /* the directory is visible, and it has no such name */
	bool rights;  /* the caller has no permission on the host either */
	/* The nearest directory above it that exists, where the command may learn that; NULL. */
	const char *exists;
	/* What an option for writing would have to name: the path, or the nearest directory above
	 * it that exists on the host; NULL: not known. */
	const char *grant;
};

struct verdict {
	enum refusal_cause cause;
	enum err_kind kind; /* ERR_NONE: allowed */
	const char *key;    /* the policy key that the remedy changes; NULL when allowed */
	const char *rule;   /* the key or table that decides: "fs.deny", "credential" */
	const char *detail; /* the pattern of such a key, and */
	const char *why;    /* why a table has it; both may be NULL */
	bool closed;        /* allowed, but the file's mode refuses the caller */
	char origin[128];   /* where that was written */
	char reason[360];   /* one sentence; "" when allowed */
	char remedy[640];   /* a sentence with the option as it can be pasted, or that there is none
			     */
	char option[640];   /* that option alone; "" when there is none, or it takes a decision that
			     * no program should take (a credential) */
	char at[PATH_MAX];  /* refused: the topmost path that the rule covers, for an exception */
};

/* The rule, its pattern and the reason, as far as they are known: "fs.deny *.pem (keys)". */
void refusal_put_rule(struct buf *out, const struct verdict *v);

/* Decides by the plan. */
void refusal_judge(const struct refusal_question *q, struct verdict *ret);

/* Why it cannot be moved or removed (EBUSY). */
void refusal_judge_move(const struct refusal_question *q, struct verdict *ret);

/* Likewise for a call that may have been to create a symlink. */
void refusal_judge_link(const struct refusal_question *q, struct verdict *ret);

/* The sentences for a cause that the caller determined; CAUSE_NONE: allowed, and by which rule. */
void refusal_say(const struct refusal_question *q, enum refusal_cause cause, struct verdict *ret);

/* Likewise for a path that is known to be hidden, by any rule. */
void refusal_hidden(const struct refusal_question *q, struct verdict *ret);

#endif
