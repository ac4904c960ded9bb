/* SPDX-License-Identifier: Apache-2.0 */
/* Judges a command and the text that it runs: sh -c, eval, trap.
 *
 * Should:   judge every command of a shell string.
 * Must not: read files or variables.
 * Fails:    closed: an inner command that cannot be known is undecided. */
#include "command/judging.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/str.h"
#include "data/commands.h"

#include <assert.h>
#include <string.h>

/* sh -c 'sh -c "..."': deeper is refused. */
#define STRINGS_MAX 8

/* env env env ...: deeper is undecided. */
#define CALLS_MAX 32

/* Of all calls: each level of a chain has the words of the next, and the kernel's ARG_MAX is large.
 */
#define CALL_WORDS_MAX ((size_t)512 * 1024)

/* ---- shells and builtins ---- */

/* export and similar builtins: their operands are assignments. */
static void judge_export(struct judge *j, const struct call *c) {
	static const char *const names[] = {"declare", "export", "local", "readonly", "typeset"};

	for (size_t k = 0; k < ARRAY_LEN(names); k++) {
		for (size_t i = 1; streq(c->words[0].text, names[k]) && i < c->n; i++) {
			judge_variable(j, c, c->words[i].text);
		}
	}
}

/* How a shell is started. */
struct shell_call {
	size_t operand; /* index of the first operand; n: there is none */
	bool string;    /* -c: the operand is the text */
	bool odd;       /* -s, an expansion, or options that shells read in different ways */
	bool prints;    /* --version, --help */
};

/* The options of a shell: each o or O of a cluster takes a word.  Returns how many words. */
static size_t shell_option(struct shell_call *ret, const char *text) {
	const char *name = text + 1 + (text[1] == '-');
	size_t words = 0;

	if (streq(name, "rcfile") || streq(name, "init-file")) {
		return 1;
	}
	if (text[1] == '-') {
		ret->prints = ret->prints || streq(name, "version") || streq(name, "help");
		return 0;
	}
	for (const char *p = name; *p != '\0'; p++) {
		bool takes = *p == 'o' || *p == 'O';
		words += takes;
		ret->odd = ret->odd || (takes && p[1] != '\0') || (*p == 's' && text[0] == '-');
		ret->string = ret->string || (*p == 'c' && text[0] == '-');
	}
	return words;
}

static struct shell_call read_shell_call(const struct call *c) {
	struct shell_call ret = {0};
	size_t i = 1;

	for (; i < c->n; i++) {
		const struct shell_word *w = &c->words[i];
		assert(w->text != NULL); /* every word of the parser has one */
		bool option = (w->text[0] == '-' || w->text[0] == '+') && w->text[1] != '\0';
		if (w->dynamic && (w->splits || w->text[0] == '\0' || option)) {
			ret.odd = true;
			break;
		}
		if (streq(w->text, "--") || streq(w->text, "-")) {
			i++;
			break;
		}
		if (!option) {
			break;
		}
		i += shell_option(&ret, w->text);
	}
	ret.operand = i < c->n ? i : c->n;
	return ret;
}

/* The index of the string after -c; 0 when there is none. */
static size_t judge_shell_string(const struct call *c) {
	struct shell_call s = read_shell_call(c);
	return s.string && s.operand < c->n ? s.operand : 0;
}

/* A shell whose text is not in its arguments.  `first`: its input is that of the whole run. */
static void judge_shell_input(struct judge *j, const struct call *c, bool first) {
	struct shell_call s = read_shell_call(c);
	const char *script = s.operand < c->n ? c->words[s.operand].text : "";
	bool input = s.operand == c->n && !first && !s.prints;

	if (s.odd) {
		judge_undecided(j, c, "the options of %s do not say which text it runs",
				judge_base_name(c->words[0].text));
	} else if (!s.string &&
		   (input || str_starts(script, "/dev/") || str_starts(script, "/proc/"))) {
		judge_undecided(j, c, "%s reads commands from its input",
				judge_base_name(c->words[0].text));
	}
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

/* Builtins of bash that run a command of their arguments, or bind a name to a file. */
static void judge_builtin(struct judge *j, const struct call *c) {
	static const struct {
		const char *name;
		char letter;
	} rows[] = {{"hash", 'p'}, {"jobs", 'x'}};

	for (size_t k = 0; k < ARRAY_LEN(rows); k++) {
		for (size_t i = 1; streq(c->words[0].text, rows[k].name) && i < c->n; i++) {
			const struct shell_word *w = &c->words[i];
			if (w->dynamic || (w->text[0] == '-' && strchr(w->text, rows[k].letter))) {
				judge_undecided(j, c, "%s -%c changes which command runs",
						rows[k].name, rows[k].letter);
			}
		}
	}
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

static void judge_evaluated(struct judge *j, const struct call *c) {
	const char *name = c->words[0].text;
	size_t from = c->n > 1 && streq(c->words[1].text, "--") ? 2 : 1;

	if (streq(name, "eval")) {
		judge_text(j, c, from, c->n);
	}
	if (streq(name, "trap") && from < c->n &&
	    (from == 2 || c->words[from].dynamic || c->words[from].text[0] != '-')) {
		judge_text(j, c, from, from + 1);
	}
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

/* git-push, also in /usr/lib/git-core, is `git push`.  *c has the words in that form. */
static bool as_git(struct judge *j, const char *base, struct call *c) {
	struct shell_word *words = arena_array(j->a, c->n + 1, sizeof *words);

	if (words == NULL) {
		j->out_of_memory = true;
		return false;
	}
	words[0] = (struct shell_word){.text = "git"};
	words[1] = (struct shell_word){.text = base + 4};
	memcpy(words + 2, c->words + 1, (c->n - 1) * sizeof *words);
	*c = (struct call){words, c->n + 1};
	return true;
}

static void judge_rules(struct judge *j, const struct call *c) {
	const char *base = judge_base_name(c->words[0].text);
	struct match_arguments m;

	if (!match_arguments(j->a, base, c->words + 1, c->n - 1, &m)) {
		j->out_of_memory = true;
		return;
	}
	judge_patterns(j, c, &m);
}

static void judge_arguments(struct judge *j, const struct call *c) {
	const char *base = judge_base_name(c->words[0].text);
	struct call git = *c;

	judge_rules(j, c);
	if (str_starts(base, "git-") && base[4] != '\0' && as_git(j, base, &git)) {
		judge_rules(j, &git);
	}
	for (size_t i = 1; i < c->n; i++) {
		judge_word_path(j, c, &c->words[i]);
	}
}

static void judge_started(struct judge *j, const struct call *c, bool first) {
	const char *name = c->words[0].text, *base = judge_base_name(name);
	const struct command_prefix *p = command_prefix_find(base);
	size_t string = command_is_shell(base) ? judge_shell_string(c) : 0;

	if (p != NULL && (!p->builtin || j->script != NULL || streq(name, "time"))) {
		judge_prefix(j, p, c);
	}
	if (command_is_runner(base)) {
		judge_undecided(j, c, "the command that %s runs is not looked for", base);
	}
	if (streq(base, "find")) {
		judge_find(j, c);
	}
	if (string > 0) {
		j->ret->shell = first ? name : j->ret->shell;
		judge_string(j, c, c->words[string].dynamic ? NULL : c->words[string].text);
	}
	if (command_is_shell(base)) {
		judge_shell_input(j, c, first);
	}
	if (j->script != NULL) {
		judge_export(j, c);
		judge_builtin(j, c);
		judge_evaluated(j, c);
	}
}

void judge_call(struct judge *j, struct call c, bool first) {
	if (c.n == 0) {
		return;
	}
	const struct shell_word *w = &c.words[0];
	j->words += c.n;
	if (j->nested == CALLS_MAX || (j->nested > 0 && j->words > CALL_WORDS_MAX)) {
		judge_undecided(j, &c, "commands that start commands are nested too deeply");
		return;
	}
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
	j->nested++;
	judge_started(j, &c, first);
	j->nested--;
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

void judge_string(struct judge *j, const struct call *c, const char *text) {
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
