/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations shared by judge.c, judge_call.c and judge_prefix.c only. */
#ifndef CORRAL_COMMAND_JUDGING_H
#define CORRAL_COMMAND_JUDGING_H

#include "command/judge.h"
#include "command/match.h"
#include "command/shell.h"

struct judge {
	struct arena *a;
	const struct command_question *q;
	struct command_verdict *ret;
	const struct shell_script *script; /* NULL: argv, not a shell */
	const struct shell_command *at;    /* of the script */
	unsigned depth;                    /* of strings */
	unsigned nested;                   /* commands that start commands */
	size_t words;                      /* of all calls so far */
	bool out_of_memory;
};

/* One command with its arguments, as a range of words. */
struct call {
	const struct shell_word *words;
	size_t n;
};

/* judge.c: the rules about one command. */
void judge_undecided(struct judge *j, const struct call *c, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
const char *judge_base_name(const char *path);
bool judge_lists(struct judge *j, const char *written);
void judge_refuse_unlisted(struct judge *j, const struct call *c);
void judge_patterns(struct judge *j, const struct call *c, const struct match_arguments *m);
void judge_word_path(struct judge *j, const struct call *c, const struct shell_word *w);

/* judge_call.c: a command and the commands that it starts.  `first`: it is argv itself. */
void judge_call(struct judge *j, struct call c, bool first);
/* `text` NULL: it is an expansion. */
void judge_string(struct judge *j, const struct call *c, const char *text);

/* judge_prefix.c: the command in the arguments of another; an assignment of the environment. */
struct command_prefix;
void judge_prefix(struct judge *j, const struct command_prefix *p, const struct call *c);
void judge_find(struct judge *j, const struct call *c);
void judge_variable(struct judge *j, const struct call *c, const char *text);

#endif
