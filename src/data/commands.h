/* SPDX-License-Identifier: Apache-2.0 */
/* Tables about commands, for src/command: which programs start another program, which options
 * take an argument, and which options of a subcommand have the same effect. */
#ifndef CORRAL_DATA_COMMANDS_H
#define CORRAL_DATA_COMMANDS_H

#include <stdbool.h>
#include <stddef.h>

/* A program or builtin that runs the command in its own arguments.  An option that is not in the
 * row makes the command undecided; abbreviations are not in it. */
struct command_prefix {
	const char *name;
	const char *letters;       /* short options that take an argument */
	const char *attached;      /* short options whose argument is only the rest of the word */
	const char *flag_letters;  /* short options without an argument */
	const char *const *longs;  /* long options that take an argument; NULL-terminated */
	const char *const *flags;  /* long options without, or with one only after = */
	size_t operands;           /* own operands before the command: timeout 5 CMD */
	bool builtin;              /* of the shell; nothing is executed for it */
	bool assignments;          /* NAME=VALUE may come before the command: env */
	bool appends;              /* it adds arguments to the command: xargs */
	const char *script_letter; /* short option whose argument is a shell string; NULL */
};

/* Options with an argument before a subcommand, and equivalents. */
struct command_options {
	const char *name;       /* of the command */
	const char *subcommand; /* NULL: options before the subcommand */
	const char *letters;    /* short options that take an argument */
	const char *const *longs;
	const char *flag_letters; /* options without an argument; others may have one or not */
	const char *const *flags;
};

/* `option` of a subcommand, and another word with the same effect.  `prefix`: the word begins
 * with this text ("+main" forces as --force does). */
struct command_equal {
	const char *name, *subcommand, *option;
	const char *word;
	bool prefix;
};

extern const struct command_prefix command_prefixes[];
extern const size_t command_prefixes_count;
extern const struct command_options command_options[];
extern const size_t command_options_count;
extern const struct command_equal command_equals[];
extern const size_t command_equals_count;

const struct command_prefix *command_prefix_find(const char *name);
const struct command_options *command_options_find(const char *name, const char *subcommand);

/* Shells: their -c takes a string. */
bool command_is_shell(const char *name);

/* Programs that run a command of their arguments, without a row here. */
bool command_is_runner(const char *name);

/* Builtins of POSIX shells that change only the shell, or print. */
bool command_is_builtin(const char *name);

/* Builtins whose effect cannot be known: they read other text as commands. */
bool command_is_opaque(const char *name);

/* Trees that a listed command executes programs of, or loads code from. */
struct command_tree {
	const char *name; /* of the command; the longest row that starts it, with a trailing '*' */
	const char *path;
	bool executes; /* programs are executed there; false: only loaded */
	const char *reason;
};

extern const struct command_tree command_trees[];
extern const size_t command_trees_count;

#endif
