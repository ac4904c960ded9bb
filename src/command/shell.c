/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the commands of a shell string: lists, pipelines, simple commands.
 *
 * The grammar is that of POSIX (Shell Command Language, 2.10), with these extensions of bash:
 * `function`, `select`, [[ ]], (( )), |&, &>, <<<, <( ), arrays, ;& and ;;&.
 *
 * Should:   find every simple command that the shell could run.
 * Must not: accept text that a shell would parse into other commands.
 * Fails:    closed: text that this grammar does not cover is a fault. */
#include "command/shell.h"

#include "base/auto.h"
#include "base/str.h"
#include "command/shell_parser.h"

#include <string.h>

bool shell_fail(struct shell *s, const char *why) {
	if (s->fault->why == NULL) {
		*s->fault = (struct shell_fault){why, (size_t)(s->p - s->text)};
	}
	return false;
}

void shell_doubt(struct shell *s, const char *why) {
	struct shell_fault *doubt = &s->out->doubt;

	if (doubt->why == NULL) {
		*doubt = (struct shell_fault){why, (size_t)(s->p - s->text)};
	}
}

bool shell_no_memory(struct shell *s) {
	*s->fault = (struct shell_fault){NULL, 0};
	return false;
}

/* ---- blanks and newlines ---- */

const char *shell_after_joins(const char *p, const char *end) {
	while (end - p >= 2 && p[0] == '\\' && p[1] == '\n') {
		p += 2;
	}
	return p;
}

/* A shell removes a backslash and a newline before it looks for tokens; this parser only between
 * tokens and inside words. */
void shell_join(struct shell *s) {
	const char *next = shell_after_joins(s->p, s->end);
	char before = '\n', after = '\n';
	if (s->p > s->text) {
		before = s->p[-1];
	}
	if (next < s->end) {
		after = *next;
	}
	bool blank = strchr(" \t\n", before) != NULL || strchr(" \t\n", after) != NULL;
	bool separates = shell_is_meta(before) != shell_is_meta(after) && after != '(' &&
			 after != '<' && after != '>';

	if (!blank && !separates) {
		shell_doubt(s, "a backslash and a newline are inside a token");
	}
	s->p = next;
}

void shell_blanks(struct shell *s) {
	while (s->p < s->end) {
		if (*s->p == ' ' || *s->p == '\t') {
			s->p++;
		} else if (*s->p == '\\' && shell_at(s, 1) == '\n') {
			shell_join(s);
		} else if (*s->p == '#') {
			while (s->p < s->end && *s->p != '\n') {
				s->p++;
			}
		} else {
			return;
		}
	}
}

/* Consumes the newline, and the here-documents that begin after it. */
bool shell_newline(struct shell *s) {
	size_t n = s->npending;

	s->p++;
	s->npending = 0;
	for (size_t i = 0; i < n; i++) {
		struct heredoc h = s->pending[i];
		if (!shell_heredoc(s, &h)) {
			return false;
		}
	}
	return true;
}

bool shell_newlines(struct shell *s) {
	for (;;) {
		shell_blanks(s);
		if (s->p >= s->end || *s->p != '\n') {
			return true;
		}
		if (!shell_newline(s)) {
			return false;
		}
	}
}

/* ---- reserved words ---- */

bool shell_at_reserved(const struct shell *s, const char *word) {
	size_t n = strlen(word);

	return (size_t)(s->end - s->p) >= n && memcmp(s->p, word, n) == 0 &&
	       ((size_t)(s->end - s->p) == n || shell_is_meta(s->p[n]));
}

bool shell_take_reserved(struct shell *s, const char *word) {
	if (!shell_at_reserved(s, word)) {
		return false;
	}
	s->p += strlen(word);
	return true;
}

bool shell_need_reserved(struct shell *s, const char *word, const char *why) {
	return (shell_newlines(s) && shell_take_reserved(s, word)) || shell_fail(s, why);
}

static bool at_list_end(const struct shell *s) {
	static const char *const ends[] = {"then", "else", "elif", "fi", "do", "done", "esac", "}"};

	if (s->p >= s->end || *s->p == ')') {
		return true;
	}
	if (*s->p == ';' && (shell_at(s, 1) == ';' || shell_at(s, 1) == '&')) {
		return true;
	}
	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		if (shell_at_reserved(s, ends[i])) {
			return true;
		}
	}
	return false;
}

/* ---- simple commands ---- */

/* Length of NAME= or NAME+= or NAME[...]= at the current place; 0. */
static size_t assignment_length(const struct shell *s) {
	size_t n = 0;
	char c = shell_at(s, 0);

	if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_')) {
		return 0;
	}
	while (shell_is_name(c = shell_at(s, n))) {
		n++;
	}
	if (c == '[') {
		while ((c = shell_at(s, n)) != '\0' && c != ']' && !shell_is_meta(c)) {
			n++;
		}
		n += c == ']';
		c = shell_at(s, n);
	}
	n += c == '+' && shell_at(s, n + 1) == '=';
	return shell_at(s, n) == '=' ? n + 1 : 0;
}

/* NAME=( word ... ) of bash. */
static bool array(struct shell *s) {
	struct shell_word w;

	s->p++;
	for (;;) {
		if (!shell_newlines(s)) {
			return false;
		}
		if (s->p >= s->end) {
			return shell_fail(s, "an array is not closed");
		}
		if (*s->p == ')') {
			s->p++;
			return true;
		}
		const char *from = s->p;
		if (!shell_word(s, &w)) {
			return false;
		}
		if (s->p == from) {
			return shell_fail(s, "unexpected character in an array");
		}
	}
}

static bool add_word(struct shell *s, struct shell_word **list, size_t *n, size_t *cap,
		     const struct shell_word *w) {
	if (arena_grow(s->a, list, *n, cap, sizeof **list) != 0) {
		return shell_no_memory(s);
	}
	(*list)[(*n)++] = *w;
	return true;
}

static bool declares(const struct shell_command *c) {
	static const char *const names[] = {"declare", "export", "local", "readonly", "typeset"};

	for (size_t i = 0; c->nwords > 0 && i < ARRAY_LEN(names); i++) {
		if (streq(c->words[0].text, names[i])) {
			return true;
		}
	}
	return c->nwords == 0;
}

static bool simple_part(struct shell *s, struct shell_command *c) {
	struct shell_word w;
	size_t assigned = assignment_length(s);
	const char *from = s->p;

	if (assigned > 0 && shell_at(s, assigned) == '(' && declares(c)) {
		w = (struct shell_word){.text = arena_strndup(s->a, s->p, assigned),
					.dynamic = true};
		s->p += assigned;
		if (w.text == NULL || !array(s)) {
			return w.text == NULL ? shell_no_memory(s) : false;
		}
	} else if (!shell_word(s, &w)) {
		return false;
	} else if (s->p == from) {
		return shell_fail(s, "unexpected character");
	}
	if (assigned > 0) {
		bool subscript = memchr(from, '[', assigned) != NULL;
		s->counts->evaluates = s->counts->evaluates || subscript;
		s->counts->literal = s->counts->literal || s->p[-1] == '$' ||
				     (s->p[-1] == '\'' && s->p[-2] == '$');
	}
	if (assigned > 0 && c->nwords == 0) {
		return add_word(s, &c->assigned, &c->nassigned, &c->assigned_cap, &w);
	}
	return add_word(s, &c->words, &c->nwords, &c->words_cap, &w);
}

/* A builtin of bash that evaluates a subscript or arithmetic in the text of its arguments. */
static bool evaluates(const struct shell_command *c) {
	static const char *const names[] = {"let",    "declare", "typeset", "local", "readonly",
					    "export", "unset",   "read",    "wait",  "getopts"};
	bool names_variable = false, tests = false;

	for (size_t i = 0; i < c->nwords; i++) {
		const char *text = c->words[i].text;
		for (size_t k = 0; k < ARRAY_LEN(names); k++) {
			if (streq(text, names[k])) {
				return true;
			}
		}
		tests = tests || streq(text, "printf") || streq(text, "test") || streq(text, "[");
		names_variable = names_variable || str_starts(text, "-v") || streq(text, "-R");
	}
	return tests && names_variable;
}

static bool add_command(struct shell *s, const struct shell_command *c) {
	struct shell_script *out = s->out;

	s->counts->evaluates = s->counts->evaluates || evaluates(c);

	if (out->ncommands == SHELL_COMMANDS_MAX) {
		return shell_fail(s, "too many commands");
	}
	if (arena_grow(s->a, &out->commands, out->ncommands, &out->commands_cap,
		       sizeof *out->commands) != 0) {
		return shell_no_memory(s);
	}
	out->commands[out->ncommands++] = *c;
	return true;
}

static bool simple(struct shell *s) {
	struct shell_command c = {.source = s->p};
	bool any = false;

	for (;;) {
		const char *end = s->p;
		shell_blanks(s);
		bool redirects = s->p < s->end && shell_at_redirection(s);
		bool process = !redirects && (shell_at(s, 0) == '<' || shell_at(s, 0) == '>');
		if (s->p >= s->end || (!redirects && !process && shell_is_meta(*s->p))) {
			c.len = (size_t)(end - c.source);
			break;
		}
		if (redirects ? !shell_redirection(s) : !simple_part(s, &c)) {
			return false;
		}
		any = true;
	}
	if (!any) {
		return shell_fail(s, "a command is missing");
	}
	return add_command(s, &c);
}

/* ---- lists ---- */

static bool command(struct shell *s) {
	size_t name = 0;
	size_t head = shell_function_head(s, &name);
	bool found = false;

	if (shell_at_reserved(s, "!")) {
		return shell_fail(s, "! stands before a pipeline");
	}
	if (at_list_end(s)) {
		return shell_fail(s, "a command is missing");
	}
	if (head > 0) {
		const char *at = s->p;
		s->p += head;
		return shell_function_body(s, at, name);
	}
	if (!shell_compound(s, &found)) {
		return false;
	}
	return found || simple(s);
}

/* `time` of bash takes -p and --; with another option it is the program. */
static bool take_time(struct shell *s) {
	const char *from = s->p;

	if (!shell_take_reserved(s, "time")) {
		return false;
	}
	shell_blanks(s);
	(void)shell_take_reserved(s, "-p");
	shell_blanks(s);
	(void)shell_take_reserved(s, "--");
	shell_blanks(s);
	if (shell_at(s, 0) == '-') {
		s->p = from;
		return false;
	}
	return true;
}

static bool take_coproc(struct shell *s) {
	if (!shell_take_reserved(s, "coproc")) {
		return false;
	}
	shell_doubt(s, "shells differ about `coproc`");
	return true;
}

static bool pipeline(struct shell *s) {
	shell_blanks(s);
	while (shell_take_reserved(s, "!") || take_time(s) || take_coproc(s)) {
		shell_blanks(s);
	}
	for (;;) {
		if (!command(s)) {
			return false;
		}
		shell_blanks(s);
		if (shell_at(s, 0) != '|' || shell_at(s, 1) == '|') {
			return true;
		}
		s->p += shell_at(s, 1) == '&' ? 2 : 1;
		if (!shell_newlines(s)) {
			return false;
		}
	}
}

static bool and_or(struct shell *s) {
	for (;;) {
		if (!pipeline(s)) {
			return false;
		}
		shell_blanks(s);
		bool both = (shell_at(s, 0) == '&' && shell_at(s, 1) == '&') ||
			    (shell_at(s, 0) == '|' && shell_at(s, 1) == '|');
		if (!both) {
			return true;
		}
		s->p += 2;
		if (!shell_newlines(s)) {
			return false;
		}
	}
}

bool shell_list(struct shell *s) {
	for (;;) {
		if (!shell_newlines(s)) {
			return false;
		}
		if (at_list_end(s)) {
			return true;
		}
		if (!and_or(s)) {
			return false;
		}
		shell_blanks(s);
		char c = shell_at(s, 0);
		bool ends_item = c == ';' && (shell_at(s, 1) == ';' || shell_at(s, 1) == '&');
		if ((c == ';' || c == '&') && !ends_item) {
			s->p++;
		} else if (c != '\n') {
			return at_list_end(s) || shell_fail(s, "unexpected character");
		}
	}
}

bool shell_parse(struct arena *a, const char *text, struct shell_script *ret,
		 struct shell_fault *fault) {
	size_t len = strlen(text);
	struct shell_counts counts = {0};
	struct shell s = {.a = a,
			  .text = text,
			  .p = text,
			  .end = text + len,
			  .out = ret,
			  .fault = fault,
			  .counts = &counts};

	*ret = (struct shell_script){0};
	*fault = (struct shell_fault){0};
	if (len > SHELL_TEXT_MAX) {
		return shell_fail(&s, "the text is too long");
	}
	bool ok = shell_list(&s);
	if (counts.literal && counts.evaluates) {
		shell_doubt(&s, "bash may evaluate a quoted $( or ` in arithmetic or a subscript");
	}
	if (!ok) {
		return false;
	}
	if (s.npending > 0) {
		shell_doubt(&s, "a here-document is not closed");
	}
	return s.p >= s.end || shell_fail(&s, "unexpected ), } or reserved word");
}
