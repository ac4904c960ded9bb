/* SPDX-License-Identifier: Apache-2.0 */
/* Matches the arguments of one command against a subcommand pattern of the policy. */
#ifndef CORRAL_COMMAND_MATCH_H
#define CORRAL_COMMAND_MATCH_H

#include "command/shell.h"

enum match { MATCH_NO, MATCH_MAYBE, MATCH_YES };

/* The arguments of a command, sorted into operands and options. */
struct match_operand {
	const char *text; /* when dynamic, its beginning */
	bool dynamic;
	bool maybe_argument; /* of the option before it, which has no row */
};

struct match_arguments {
	const char *name; /* of the command, without its directory */
	struct match_operand *operands;
	size_t noperands;
	const char **longs; /* "--name" or "--name=value" */
	size_t nlongs;
	bool letters[128];
	bool wild;      /* a word may be any option, operand or several of them */
	size_t wild_at; /* the number of operands before the first such word */
};

/* `words` are the arguments after the command's name.  False: out of memory. */
bool match_arguments(struct arena *a, const char *name, const struct shell_word *words, size_t n,
		     struct match_arguments *ret);

/* For `allowed`: a pattern without operands matches only a command without operands. */
enum match match_pattern(const struct match_arguments *args, const char *pattern, bool allowed);

#endif
