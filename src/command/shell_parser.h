/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations shared by the files shell*.c only. */
#ifndef CORRAL_COMMAND_SHELL_PARSER_H
#define CORRAL_COMMAND_SHELL_PARSER_H

#include "command/shell.h"

/* More here-documents on one line are refused. */
#define HEREDOCS_MAX 16

struct heredoc {
	const char *delimiter;
	bool quoted; /* its text is not expanded */
	bool tabs;   /* <<-: leading tabs are removed */
};

/* Of the whole text, also of attempts that failed. */
struct shell_counts {
	unsigned attempts; /* at arithmetic */
	size_t words;
	bool literal;   /* a quoted $( or `: the text of a command, if bash evaluates it */
	bool evaluates; /* arithmetic, subscripts, [[, or a builtin that takes the name of a
			   variable */
};

struct shell {
	struct arena *a;
	const char *text, *p, *end;
	unsigned depth;
	struct shell_script *out;
	struct shell_fault *fault;
	struct heredoc pending[HEREDOCS_MAX];
	size_t npending;
	struct shell_counts *counts;
	bool plain; /* [[ and (( are ordinary text, as in dash */
};

/* A place to return to after a failed attempt. */
struct shell_mark {
	const char *p;
	size_t commands, functions, files, pending;
	struct shell_fault fault;
};

struct shell_mark shell_mark(const struct shell *s);
void shell_rewind(struct shell *s, const struct shell_mark *m);

/* Records the fault at the current place, if it is the first, and returns false. */
bool shell_fail(struct shell *s, const char *why);
bool shell_no_memory(struct shell *s);

/* Records that the text has another reading; parsing continues. */
void shell_doubt(struct shell *s, const char *why);

/* The first place at or after p that is not a backslash and a newline. */
const char *shell_after_joins(const char *p, const char *end);
/* At a backslash and a newline, outside quotes: both tokens beside them may be one. */
void shell_join(struct shell *s);

static inline char shell_at(const struct shell *s, size_t n) {
	if ((size_t)(s->end - s->p) <= n) {
		return '\0';
	}
	return s->p[n];
}

/* shell.c: commands up to a word or character that ends a list. */
bool shell_list(struct shell *s);
bool shell_newline(struct shell *s);
bool shell_newlines(struct shell *s);
void shell_blanks(struct shell *s);
bool shell_at_reserved(const struct shell *s, const char *word);
bool shell_take_reserved(struct shell *s, const char *word);
bool shell_need_reserved(struct shell *s, const char *word, const char *why);

/* shell_redirect.c: the text of a here-document, which begins here; redirections. */
bool shell_heredoc(struct shell *s, const struct heredoc *h);
bool shell_at_redirection(const struct shell *s);
bool shell_redirection(struct shell *s);
bool shell_redirections(struct shell *s);

/* shell_compound.c: a compound command with its redirections, if there is one at the current place;
 * the length of "name ()"; the body of a function. */
bool shell_compound(struct shell *s, bool *ret_found);
size_t shell_function_head(const struct shell *s, size_t *ret_name);
bool shell_function_body(struct shell *s, const char *name, size_t len);

/* shell_word.c: one word at the current place; the expansions of a here-document's text. */
bool shell_word(struct shell *s, struct shell_word *ret);
bool shell_expansions(struct shell *s, const char *from, const char *to);
/* The text of (( )) after the two parentheses.  False: it is none, and nothing was consumed. */
bool shell_arithmetic(struct shell *s);
bool shell_is_meta(char c);
bool shell_is_name(char c);

#endif
