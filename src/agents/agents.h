/* SPDX-License-Identifier: Apache-2.0 */
/* Agents that use Corral: answers to their hooks, entries in their settings, the state of a host.
 *
 * A hook is a program that an agent starts before it runs a tool.  It gets the call as JSON on
 * stdin and answers with JSON, or with exit status 2, which each of the protocols takes for "do
 * not run it".  Every other failure of a hook lets some of the agents run the command bare; so
 * each failure here has status 2 and a reason on stderr, and the command line in the settings
 * turns each other end of the program into that.
 *
 * Should:   include corral.h, base/ and data/ and nothing else of this tree.
 * Must not: run a command of the agent. */
#ifndef CORRAL_AGENTS_AGENTS_H
#define CORRAL_AGENTS_AGENTS_H

#include "base/buf.h"
#include "base/err.h"
#include "data/agents.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* ---- hook.c ---- */

/* The status of a denial, in all protocols. */
#define HOOK_DENIED 2

/* Larger inputs are denied. */
#define HOOK_INPUT_MAX ((size_t)16 * 1024 * 1024)

struct hook_call {
	enum hook_protocol protocol;
	const char *program;        /* absolute: the corral that runs the command */
	const char *shell;          /* absolute: the shell that interprets it */
	const char *project;        /* the project's directory, from the agent's variable; NULL */
	const char *const *options; /* of `corral run`; ends with NULL */
	bool inside;                /* this process is in a sandbox of Corral */
};

/* Writes the answer for the agent's input: the call with its command rewritten to run inside, or
 * "no opinion" where the agent itself runs inside.  -1: denied, and *e has the reason. */
int hook_answer(const struct hook_call *call, const char *input, size_t len, struct buf *out,
		struct err *e);

/* The denial in the agent's protocol. */
void hook_deny(enum hook_protocol protocol, const char *reason, struct buf *out);

/* quote.c: appends one word for sh, bash, zsh and fish, which differ about a backslash between
 * quotes. */
void quote_word(struct buf *out, const char *text, size_t len);

/* inside.c: whether this process runs in a sandbox of Corral. */
bool agents_inside(void);

/* ---- settings.c, installed.c ---- */

/* The places of an agent on this host. */
struct agent_place {
	const char *home;
	bool moved;               /* a variable names dir */
	char dir[PATH_MAX];       /* its directory */
	char hook_file[PATH_MAX]; /* "" when it has no hook */
	char mcp_file[PATH_MAX];  /* "" when it has no entry for MCP that Corral writes */
};

int agents_place(const struct agent *agent, struct agent_place *ret, struct err *e);
int agents_path(char out[PATH_MAX], const char *dir, const char *name, struct err *e);

/* One file of an agent's settings, before and after. */
struct change {
	char path[PATH_MAX];
	bool missing; /* the file does not exist yet */
	struct buf before, after;
};

#define CHANGES_MAX 2

struct changes {
	struct change items[CHANGES_MAX];
	size_t n; /* files that differ; 0: nothing to do */
};

void settings_done(struct changes *c);

/* Computes the files with the hook, or with the MCP entry, and without it.  `program` is the
 * corral to start.  A file that is no valid JSON is an error. */
int settings_install(const struct agent *agent, bool mcp, const char *program, struct changes *ret,
		     struct err *e);
int settings_uninstall(const struct agent *agent, struct changes *ret, struct err *e);

/* The command line of the hook that is entered in the settings, for `check`; *ret stays empty when
 * there is none. */
int installed_hook_command(const struct agent *agent, struct buf *ret, struct err *e);
bool installed_mcp(const struct agent *agent);

/* Whether hooks are switched on, and the matcher of the entry covers the shell tool. */
bool installed_applies(const struct agent *agent);
/* switched_off.c: whether settings of the user, of the working directory or above it, or of the
 * host switch the agent's hooks off, and the first file that does. */
bool switched_off(const struct agent *agent, char ret_path[PATH_MAX]);
/* Whether the entry has the time limit that Corral enters, or a longer one, and what else makes the
 * agent block when the hook fails. */
bool installed_blocks(const struct agent *agent);

/* For Codex: whether its hook is trusted as it is entered now; true for the others. */
bool installed_trusted(const struct agent *agent);

/* change.c: prints the difference, and replaces the file atomically. */
void change_print(const struct change *c, struct buf *out);
int change_write(const struct change *c, struct err *e);

/* ---- check.c ---- */

/* Runs the hook as the agent would, with made-up events, and appends one line for each test to
 * out; *failed counts those that the hook failed. */
int check_hook(const struct agent *agent, struct buf *out, size_t *failed, struct err *e);

/* ---- survey.c ---- */

/* The parts of an agent that this host has; a text is "" if the part is missing. */
struct agent_found {
	char program[PATH_MAX]; /* in PATH */
	char version[64];
	char dir[PATH_MAX];
	const char *key;    /* the variable with its key in the environment; NULL */
	bool login;         /* the file with an account's login exists */
	bool hook, trusted; /* the hook is entered; the agent will start it */
	bool mcp;
};

void survey_agent(const struct agent *agent, struct agent_found *ret);

#endif
