/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the commands that a command starts, and judges each: env, xargs, sh -c, find -exec, eval.
 *
 * Should:   find the inner command of every program in data/commands.c.
 * Must not: read files or variables.
 * Fails:    closed: an inner command that cannot be known is undecided. */
#include "command/judging.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/str.h"
#include "data/commands.h"

#include <string.h>

/* sh -c 'sh -c "..."': deeper is refused. */
#define STRINGS_MAX 8

/* ---- programs that start another ---- */

static void judge_string(struct judge *j, const struct call *c, const char *text);

static bool takes_argument(const struct command_prefix *p, const char *text) {
	size_t len = strlen(text);

	if (text[1] == '-') {
		for (const char *const *l = p->longs; *l != NULL; l++) {
			if (streq(*l, text)) {
				return true;
			}
		}
		return false;
	}
	/* The last letter takes the next word; an earlier one takes the rest of this one. */
	for (size_t i = 1; i < len; i++) {
		if (strchr(p->letters, text[i]) != NULL) {
			return i + 1 == len;
		}
	}
	return false;
}

/* A variable that changes which file a name means, or which settings git has. */
static void judge_variable(struct judge *j, const struct call *c, const char *text) {
	static const char *const names[] = {
		"PATH=", "PATH+=", "IFS=", "BASH_ENV=", "ENV=", "GIT_CONFIG"};

	for (size_t k = 0; k < ARRAY_LEN(names); k++) {
		if (str_starts(text, names[k])) {
			judge_undecided(j, c,
					"it sets %.*s, which changes the meaning of a command",
					(int)strcspn(text, "+="), text);
		}
	}
}

/* export and similar builtins: their operands are assignments. */
static void judge_export(struct judge *j, const struct call *c) {
	static const char *const names[] = {"declare", "export", "local", "readonly", "typeset"};

	for (size_t k = 0; k < ARRAY_LEN(names); k++) {
		for (size_t i = 1; streq(c->words[0].text, names[k]) && i < c->n; i++) {
			judge_variable(j, c, c->words[i].text);
		}
	}
}

static bool is_assignment(const char *text) {
	size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
	return n > 0 && text[n] == '=' && (text[0] < '0' || text[0] > '9');
}

static bool is_script_option(const struct command_prefix *p, const char *text) {
	return p->script_letter != NULL &&
	       ((text[1] == p->script_letter[0] && text[2] == '\0') || streq(text, "--command"));
}

/* The index of the command in the arguments of a prefix; n when there is none, or SIZE_MAX when it
 * cannot be known. */
static size_t inner_start(struct judge *j, const struct command_prefix *p, const struct call *c) {
	size_t i = 1, operands = p->operands;

	for (; i < c->n; i++) {
		const struct shell_word *w = &c->words[i];
		if (w->dynamic && (w->splits || w->text[0] == '\0' || w->text[0] == '-')) {
			return SIZE_MAX;
		}
		if (streq(w->text, "--")) {
			i++;
			break;
		}
		if (w->text[0] == '-' && w->text[1] != '\0') {
			bool split = streq(p->name, "env") &&
				     (str_starts(w->text, "-S") || str_starts(w->text, "--split"));
			if (split) {
				return SIZE_MAX;
			}
			if (is_script_option(p, w->text) && i + 1 < c->n) {
				judge_string(j, c,
					     c->words[i + 1].dynamic ? NULL : c->words[i + 1].text);
			}
			i += takes_argument(p, w->text) ? 1 : 0;
		} else if (p->assignments && is_assignment(w->text)) {
			judge_variable(j, c, w->text);
		} else if (operands > 0) {
			operands--;
		} else {
			break;
		}
	}
	return i < c->n ? i : c->n;
}

static void judge_inner(struct judge *j, const struct command_prefix *p, const struct call *c) {
	size_t start = inner_start(j, p, c);

	if (start == SIZE_MAX) {
		judge_undecided(j, c, "the command that %s runs cannot be known", p->name);
		return;
	}
	if (start >= c->n) {
		return;
	}
	struct call inner = {c->words + start, c->n - start};
	if (p->appends) {
		struct shell_word *more = arena_array(j->a, inner.n + 1, sizeof *more);
		if (more == NULL) {
			j->out_of_memory = true;
			return;
		}
		memcpy(more, inner.words, inner.n * sizeof *more);
		more[inner.n] = (struct shell_word){.text = "", .dynamic = true, .splits = true};
		inner = (struct call){more, inner.n + 1};
	}
	judge_call(j, inner, false);
}

/* find ... -exec COMMAND ... ; */
static void judge_find(struct judge *j, const struct call *c) {
	static const char *const actions[] = {"-exec", "-execdir", "-ok", "-okdir"};

	for (size_t i = 1; i < c->n; i++) {
		bool runs = false;
		for (size_t k = 0; k < ARRAY_LEN(actions); k++) {
			runs = runs || streq(c->words[i].text, actions[k]);
		}
		if (!runs || i + 1 >= c->n) {
			continue;
		}
		size_t end = i + 1;
		while (end < c->n && !streq(c->words[end].text, ";") &&
		       !streq(c->words[end].text, "+")) {
			end++;
		}
		judge_call(j, (struct call){c->words + i + 1, end - i - 1}, false);
		i = end;
	}
}

/* Whether an option of a shell takes the next word: -o, +O, --rcfile. */
static bool shell_option_takes_word(const char *text) {
	char last = text[strlen(text) - 1];

	return text[1] == '-' ? streq(text, "--rcfile") || streq(text, "--init-file")
			      : last == 'o' || last == 'O';
}

/* The index of the string after -c; 0 when there is none. */
static size_t judge_shell_string(const struct call *c) {
	bool wants = false;

	for (size_t i = 1; i < c->n && c->words[i].text != NULL; i++) {
		const char *text = c->words[i].text;
		bool option = (text[0] == '-' || text[0] == '+') && text[1] != '\0';
		if (!option || streq(text, "--")) {
			i += option;
			return wants && i < c->n ? i : 0;
		}
		wants = wants || (text[0] == '-' && text[1] != '-' && strchr(text, 'c') != NULL);
		i += shell_option_takes_word(text);
	}
	return 0;
}

bool command_runs_string(const char *const *argv) {
	struct shell_word words[16] = {0};
	size_t n = 0;

	while (n < ARRAY_LEN(words) && argv[n] != NULL) {
		words[n].text = argv[n];
		n++;
	}
	return n > 0 && command_is_shell(judge_base_name(argv[0])) &&
	       judge_shell_string(&(struct call){words, n}) > 0;
}

/* eval and trap: their arguments are text of the same shell. */
static void judge_text(struct judge *j, const struct call *c, size_t from, size_t to) {
	struct buf text;

	buf_init(&text);
	for (size_t i = from; i < to && i < c->n; i++) {
		if (c->words[i].dynamic) {
			buf_done(&text);
			judge_undecided(j, c, "%s runs text that is not known before",
					c->words[0].text);
			return;
		}
		buf_printf(&text, "%s%s", i > from ? " " : "", c->words[i].text);
	}
	if (buf_failed(&text)) {
		j->out_of_memory = true;
	} else if (text.data != NULL) {
		judge_string(j, c, text.data);
	}
	buf_done(&text);
}

static bool is_function(const struct judge *j, const char *name) {
	for (size_t i = 0; j->script != NULL && i < j->script->nfunctions; i++) {
		if (streq(j->script->functions[i], name)) {
			return true;
		}
	}
	return false;
}

/* ---- one command ---- */

static bool denies(const struct judge *j) {
	return policy_num(j->q->policy, KEY_COMMANDS_DEFAULT) == COMMANDS_DENY;
}

/* Whether the program itself need not be listed. */
static bool is_exempt(const struct judge *j, const struct call *c, bool first) {
	const char *name = c->words[0].text;
	bool plain = strchr(name, '/') == NULL;
	const struct command_prefix *p = command_prefix_find(name);

	if (j->script != NULL && plain &&
	    (command_is_builtin(name) || is_function(j, name) || (p != NULL && p->builtin) ||
	     streq(name, "eval") || streq(name, "trap") || streq(name, "[["))) {
		return true;
	}
	return first && command_is_shell(judge_base_name(name)) && judge_shell_string(c) > 0;
}

static void judge_arguments(struct judge *j, const struct call *c) {
	const char *base = judge_base_name(c->words[0].text);
	struct match_arguments m;

	if (!match_arguments(j->a, base, c->words + 1, c->n - 1, &m)) {
		j->out_of_memory = true;
		return;
	}
	judge_patterns(j, c, &m);
	for (size_t i = 1; i < c->n; i++) {
		judge_word_path(j, c, &c->words[i]);
	}
}

static void judge_started(struct judge *j, const struct call *c, bool first) {
	const char *name = c->words[0].text, *base = judge_base_name(name);
	const struct command_prefix *p = command_prefix_find(base);
	size_t string = command_is_shell(base) ? judge_shell_string(c) : 0;

	if (p != NULL && (!p->builtin || j->script != NULL || streq(name, "time"))) {
		judge_inner(j, p, c);
	}
	if (streq(base, "find")) {
		judge_find(j, c);
	}
	if (string > 0) {
		j->ret->shell = first ? name : j->ret->shell;
		judge_string(j, c, c->words[string].dynamic ? NULL : c->words[string].text);
	}
	if (j->script != NULL) {
		judge_export(j, c);
	}
	if (j->script != NULL && streq(name, "eval")) {
		judge_text(j, c, 1, c->n);
	}
	if (j->script != NULL && streq(name, "trap") && c->n > 1 && c->words[1].text[0] != '-') {
		judge_text(j, c, 1, 2);
	}
}

void judge_call(struct judge *j, struct call c, bool first) {
	if (c.n == 0) {
		return;
	}
	const struct shell_word *w = &c.words[0];
	if (w->dynamic) {
		judge_undecided(j, &c, "the command itself is an expansion");
		return;
	}
	if (j->script != NULL && command_is_opaque(w->text)) {
		judge_undecided(j, &c, "%s runs text that is not known before", w->text);
		return;
	}
	if (denies(j) && !is_exempt(j, &c, first) && !judge_lists(j, w->text)) {
		judge_refuse_unlisted(j, &c);
		return;
	}
	bool string = command_is_shell(judge_base_name(w->text)) && judge_shell_string(&c) > 0;
	if (!string) {
		judge_arguments(j, &c);
	}
	judge_started(j, &c, first);
}

/* ---- strings ---- */

static void judge_assigned(struct judge *j, const struct shell_command *command) {
	struct call c = {command->words, command->nwords};

	for (size_t i = 0; i < command->nassigned; i++) {
		judge_variable(j, &c, command->assigned[i].text);
	}
}

static void judge_script(struct judge *j, const struct shell_script *script) {
	const struct shell_script *outer = j->script;
	const struct shell_command *outer_at = j->at;

	j->script = script;
	for (size_t i = 0; i < script->ncommands; i++) {
		const struct shell_command *command = &script->commands[i];
		j->at = command;
		judge_assigned(j, command);
		judge_call(j, (struct call){command->words, command->nwords}, false);
	}
	j->at = NULL;
	for (size_t i = 0; i < script->nfiles; i++) {
		struct call c = {&script->files[i], 1};
		judge_word_path(j, &c, &script->files[i]);
	}
	j->script = outer;
	j->at = outer_at;
}

/* `text` NULL: it is an expansion. */
static void judge_string(struct judge *j, const struct call *c, const char *text) {
	struct shell_script script;
	struct shell_fault fault;

	if (text == NULL) {
		judge_undecided(j, c, "the text for %s is an expansion",
				judge_base_name(c->words[0].text));
		return;
	}
	if (j->depth == STRINGS_MAX) {
		judge_undecided(j, c, "shell strings are nested too deeply");
		return;
	}
	bool parsed = shell_parse(j->a, text, &script, &fault);
	j->out_of_memory = j->out_of_memory || (!parsed && fault.why == NULL);
	if (j->out_of_memory) {
		return;
	}
	j->depth++;
	judge_script(j, &script);
	j->depth--;
	if (!parsed) {
		judge_undecided(j, c, "the shell string cannot be parsed: %s, at byte %zu",
				fault.why, fault.at);
	} else if (script.doubt.why != NULL) {
		judge_undecided(j, c, "the shell string is ambiguous: %s, at byte %zu",
				script.doubt.why, script.doubt.at);
	}
}
