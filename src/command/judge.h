/* SPDX-License-Identifier: Apache-2.0 */
/* Decides about a command line by the rules of commands.NAME, before anything runs.
 *
 * The rules are about names and arguments.  A listed program that runs other code (a shell, an
 * interpreter, make, a git hook or alias) can do what a rule forbids; the kernel's rules about
 * files and executables are the boundary. */
#ifndef CORRAL_COMMAND_JUDGE_H
#define CORRAL_COMMAND_JUDGE_H

#include "base/arena.h"
#include "base/err.h"
#include "policy/policy.h"

enum judged { JUDGED_ALLOWED, JUDGED_UNDECIDED, JUDGED_REFUSED };

struct command_question {
	const struct policy *policy;
	const char *path;      /* PATH of the command */
	const char *cwd;       /* inside */
	const char *workspace; /* inside */
	const char *home;      /* inside; NULL */
	/* Resolves a path inside, absolute or relative to cwd, as the kernel would: symlinks and
	 * "..".  False when it cannot be resolved; NULL: paths are compared as text. */
	bool (*resolve)(void *ctx, const char *path, char *ret, size_t cap);
	void *ctx;
};

struct command_verdict {
	enum judged kind;
	char command[160]; /* the simple command that decided, as written; may be cut */
	char rule[200];    /* "commands.git.blocked: push --force", "commands.default: deny"; "" */
	char origin[200];  /* of the rule; "" */
	char reason[360];
	char remedy[240];
	char key[160];     /* refused: a policy key, and the value of it that would allow the */
	char value[200];   /* command; "": none does */
	const char *shell; /* the shell that a listed command needs not list: "sh"; NULL */
};

/* Whether the policy has a rule about commands or path arguments: if not, every command is allowed
 * and need not be judged. */
bool command_has_rules(const struct policy *p);

/* An undecided command is refused in profile strict and with commands.default = deny; else it is
 * allowed, with the reason in the verdict. */
int command_judge(struct arena *a, const struct command_question *q, const char *const *argv,
		  struct command_verdict *ret, struct err *e);

/* Whether the policy lists the command or path, also for the floor. */
bool command_is_listed(const struct policy *p, const char *name);

/* Whether argv is a shell with -c; then its string is judged instead of the shell. */
bool command_runs_string(const char *const *argv);

#endif
