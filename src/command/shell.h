/* SPDX-License-Identifier: Apache-2.0 */
/* A parser of shell strings: POSIX sh, and the common extensions of bash.
 *
 * The result is the list of simple commands of the text, including those in substitutions,
 * here-documents, functions and compound commands, in the order of the text.  Nothing is expanded:
 * a word with an expansion keeps only the text before it. */
#ifndef CORRAL_COMMAND_SHELL_H
#define CORRAL_COMMAND_SHELL_H

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>

struct shell_word {
	const char *text; /* without quotes; when dynamic, the part before the first expansion */
	bool dynamic;     /* it has an expansion or a pattern; every result begins with text ... */
	bool splits;      /* ... unless this is set: it may become several words, or none */
};

struct shell_command {
	struct shell_word *words;
	size_t nwords, words_cap;
	struct shell_word *assigned; /* NAME=VALUE before the command */
	size_t nassigned, assigned_cap;
	const char *source; /* its text, len bytes, for messages */
	size_t len;
};

struct shell_fault {
	const char *why; /* NULL: out of memory */
	size_t at;       /* offset in the text */
};

struct shell_script {
	struct shell_command *commands;
	size_t ncommands, commands_cap;
	const char **functions; /* names that the text defines */
	size_t nfunctions, functions_cap;
	struct shell_word *files; /* the targets of redirections */
	size_t nfiles, files_cap;
	struct shell_fault doubt; /* why != NULL: shells differ in the text, or bash evaluates it */
};

/* Deeper nesting is refused, so that the parser's own stack is bounded. */
#define SHELL_DEPTH_MAX 48

/* More commands than a person or a model writes in one string. */
#define SHELL_COMMANDS_MAX 4096

/* Bounds the memory of attempts that read the text again. */
#define SHELL_WORDS_MAX 65536

/* The kernel's MAX_ARG_STRLEN: no argument is longer. */
#define SHELL_TEXT_MAX ((size_t)128 * 1024)

/* False: the text is not a complete program, or cannot be parsed here; *fault says why. */
/* After a fault, *ret has the commands before it: a shell runs them before it reads the rest. */
bool shell_parse(struct arena *a, const char *text, struct shell_script *ret,
		 struct shell_fault *fault);

#endif
